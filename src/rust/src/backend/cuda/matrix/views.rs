//! Device memory as matrices: strided views, and matrices with a home on the host.

use std::marker::PhantomData;
use std::mem::size_of;

use faer::{MatMut, MatRef};

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::driver::staging::workers;
use crate::backend::cuda::transfer::host_copy::FirstTouch;
use crate::backend::cuda::transfer::matrix::{download, upload};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Part};
use crate::base::scalar::Scalar;

const TRIANGLE_KEEP: Kernel = Kernel::new(Family::Triangular, "triangle_keep_plain");
const IDENTITY: Kernel = Kernel::new(Family::Triangular, "identity_set_plain");
const COPY: Kernel = Kernel::new(Family::Norms, "matrix_copy_plain");

/// A part of device memory as a matrix: element (i, j) is `i * rs + j * cs` elements from `ptr`.
#[derive(Clone, Copy)]
pub(crate) struct View<T> {
    pub ptr: u64,
    pub rows: usize,
    pub cols: usize,
    pub rs: i64,
    pub cs: i64,
    element: PhantomData<T>,
}

impl<T: Scalar> View<T> {
    /// Column-major, `ld` elements from column to column.
    pub(crate) fn new(ptr: u64, rows: usize, cols: usize, ld: usize) -> Self {
        View {
            ptr,
            rows,
            cols,
            rs: 1,
            cs: ld as i64,
            element: PhantomData,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// The transpose.
    pub(crate) fn t(self) -> Self {
        View {
            rows: self.cols,
            cols: self.rows,
            rs: self.cs,
            cs: self.rs,
            ..self
        }
    }

    /// Rows `r..r + rows` and columns `c..c + cols`, which must exist.
    pub(crate) fn sub(self, r: usize, c: usize, rows: usize, cols: usize) -> Self {
        View {
            ptr: self.address(r, c),
            rows,
            cols,
            ..self
        }
    }

    /// The rows in reverse order.
    pub(crate) fn rows_reversed(self) -> Self {
        View {
            ptr: self.address(self.rows.saturating_sub(1), 0),
            rs: -self.rs,
            ..self
        }
    }

    /// Rows and columns in reverse order: an upper triangle becomes a lower one.
    pub(crate) fn reversed(self) -> Self {
        self.rows_reversed().t().rows_reversed().t()
    }

    pub(crate) fn address(&self, r: usize, c: usize) -> u64 {
        let offset = (r as i64 * self.rs + c as i64 * self.cs) * size_of::<T>() as i64;
        self.ptr.wrapping_add_signed(offset)
    }

    /// Elements from column to column of a column-major view.
    pub(crate) fn ld(&self) -> i64 {
        self.cs
    }
}

/// A matrix on the device, and where its contents end.
pub struct Matrix<'a, T> {
    buffer: Buffer,
    rows: usize,
    cols: usize,
    home: Option<MatMut<'a, T>>,
    /// Of the home's pages, while the device works.
    touch: Option<FirstTouch>,
    /// Whether it is known to be an upper factor, zero below the diagonal.
    pub(crate) factor: bool,
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// Undefined contents.
    pub(crate) fn new(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        Ok(Matrix {
            buffer: Buffer::of::<T>(ctx, rows.saturating_mul(cols))?,
            rows,
            cols,
            home: None,
            touch: None,
            factor: false,
        })
    }

    pub(crate) fn zeros(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        let a = Matrix::new(ctx, rows, cols)?;
        a.buffer.clear(rows * cols * size_of::<T>())?;
        Ok(a)
    }

    /// A copy of host data.
    pub(crate) fn from_host(ctx: &'static Context, a: MatRef<'_, T>, part: Part) -> Result<Self> {
        let to = Matrix::new(ctx, a.nrows(), a.ncols())?;
        to.refill(ctx, a, part)?;
        Ok(to)
    }

    /// Overwrites with `part` of host data of the same shape, zero elsewhere.
    pub(crate) fn refill(&self, ctx: &'static Context, a: MatRef<'_, T>, part: Part) -> Result<()> {
        if (a.nrows(), a.ncols()) != (self.rows, self.cols) {
            return Err(Error::Dimension {
                what: "a matrix is refilled from one of another shape".to_string(),
            });
        }
        ctx.bind()?;
        if part == Part::Upper {
            self.buffer.clear(self.rows * self.cols * size_of::<T>())?;
        }
        upload(ctx, a, part, self.buffer.ptr)?;
        if part == Part::All {
            return Ok(());
        }
        keep_triangle(ctx, self.view(), part == Part::Lower)
    }

    pub(crate) fn set_identity(&self, ctx: &'static Context) -> Result<()> {
        set_identity(ctx, self.view())
    }

    pub(crate) fn with_home(self, home: MatMut<'a, T>) -> Result<Self> {
        if (home.nrows(), home.ncols()) != (self.rows, self.cols) {
            return Err(Error::Dimension {
                what: "a matrix and the place of its result have different shapes".to_string(),
            });
        }
        let adjacent = home.row_stride() == 1 && home.col_stride() == self.rows as isize;
        let bytes = self.rows * self.cols * size_of::<T>();
        let touch = match adjacent {
            // SAFETY: the home is borrowed for as long as the matrix lives, and with it its
            // threads.
            true => unsafe { FirstTouch::begin(home.as_ptr_mut().cast(), bytes, workers()) },
            false => None,
        };
        Ok(Matrix {
            home: Some(home),
            touch,
            factor: false,
            ..self
        })
    }

    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows * self.cols * size_of::<T>()
    }

    pub(crate) fn view(&self) -> View<T> {
        View::new(self.buffer.ptr, self.rows, self.cols, self.rows)
    }

    /// Brings `part` of the contents home, zeros elsewhere, if there is one, and waits.
    pub(crate) fn store(self, ctx: &'static Context, part: Part) -> Result<()> {
        let Matrix {
            buffer,
            home,
            touch,
            ..
        } = self;
        let Some(home) = home else {
            return ctx.wait();
        };
        // Pages are given out until the device is done.
        ctx.wait()?;
        drop(touch);
        download(ctx, buffer.ptr, part, home)
    }

    pub(crate) fn read(&self, ctx: &'static Context, out: MatMut<'_, T>) -> Result<()> {
        if (out.nrows(), out.ncols()) != (self.rows, self.cols) {
            return Err(Error::Dimension {
                what: "a matrix is read into one of another shape".to_string(),
            });
        }
        download(ctx, self.buffer.ptr, Part::All, out)
    }
}

impl<T: Scalar> Matrix<'_, T> {
    /// A copy of `part`, zero elsewhere.
    pub(crate) fn duplicate(
        &self,
        ctx: &'static Context,
        part: Part,
    ) -> Result<Matrix<'static, T>> {
        let to = Matrix::new(ctx, self.rows, self.cols)?;
        copy(ctx, self.view(), to.view())?;
        if part != Part::All {
            keep_triangle(ctx, to.view(), part == Part::Lower)?;
        }
        Ok(to)
    }

    /// Copies a block of `from` to the place that begins with row and column `at`.
    pub(crate) fn copy_block(
        &self,
        ctx: &'static Context,
        from: &Matrix<'_, T>,
        block: Block,
        at: (usize, usize),
    ) -> Result<()> {
        let place = Block {
            row: at.0,
            col: at.1,
            ..block
        };
        if !(block.is_in(from.shape()) && place.is_in(self.shape())) {
            return Err(Error::Dimension {
                what: "a block is outside the matrix".to_string(),
            });
        }
        let part = |a: View<T>, b: Block| a.sub(b.row, b.col, b.rows, b.cols);
        copy(ctx, part(from.view(), block), part(self.view(), place))
    }
}

/// Blocks of 256 threads for `count` independent elements, each thread striding over the rest.
pub(crate) fn blocks_for(count: usize) -> usize {
    count.div_ceil(256).min(1 << 16)
}

/// Ones on the diagonal of a column-major view, zeros elsewhere.
pub(crate) fn set_identity<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<()> {
    ctx.launch::<T>(
        IDENTITY,
        blocks_for(a.rows * a.cols),
        1,
        256,
        &args![a.rows, a.cols, a.ptr, a.ld()],
    )
}

/// Zeros outside the lower or the upper triangle of a column-major view.
pub(crate) fn keep_triangle<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    lower: bool,
) -> Result<()> {
    ctx.launch::<T>(
        TRIANGLE_KEEP,
        blocks_for(a.rows * a.cols),
        1,
        256,
        &args![a.rows, a.cols, i32::from(lower), a.ptr, a.ld()],
    )
}

/// `to <- from`, column-major views of one shape.
pub(crate) fn copy<T: Scalar>(ctx: &'static Context, from: View<T>, to: View<T>) -> Result<()> {
    let count = from.rows * from.cols;
    ctx.launch::<T>(
        COPY,
        blocks_for(count),
        1,
        256,
        &args![from.rows, from.cols, from.ptr, from.ld(), to.ptr, to.ld()],
    )
}
