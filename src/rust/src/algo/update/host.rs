//! Updates of a Cholesky factor in host memory, on a device that may have too little memory for all
//! of it.

use std::ops::Range;

use faer::{MatMut, MatRef};

use super::factor;
use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::host_budget;
use crate::algo::tiled::memory::Budget;
use crate::algo::tiled::tile_source::TileSource;
use crate::algo::update::checks::{check_column, check_columns, check_shapes};
use crate::algo::update::panels as by_panels;
use crate::algo::update::panels::{check_finite, Means};
use crate::algo::update::window::{Cut, Pieces, Window};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Change, Uplo};
use crate::base::scalar::Scalar;
use crate::base::threads::wanted;
use crate::cost::plan::size::{update_bytes, usable, PANELS, PANELS_ABREAST, PANEL_BYTES};
use crate::device::async_copy::AsyncCopy;
use crate::device::elementwise::Elementwise;
use crate::device::update::PANEL;

/// Bytes that a thread copies at once, and columns of a lower factor, whose rows are what lies
/// together.
const PIECE: usize = 4 << 20;
const TOGETHER: usize = 64;
/// Threads that load at most, and as many that store.
const COPIERS: usize = 8;
/// Panels in host memory: one comes, some are on the device's side, one goes.
const SLOTS: usize = 5;

/// A factor in host memory, and where the changed one goes.
struct Matrices<'a, T> {
    uplo: Uplo,
    from: MatRef<'a, T>,
    to: *mut T,
    /// Numbers from a column to the next, where it goes.
    stride: usize,
    /// Columns of the upper factor in a piece.
    each: usize,
}

// SAFETY: pieces lie apart, and no two threads have the same one.
unsafe impl<T: Sync> Sync for Matrices<'_, T> {}

impl<'a, T: Scalar> Matrices<'a, T> {
    fn new(uplo: Uplo, from: MatRef<'a, T>, to: MatMut<'a, T>) -> Option<Self> {
        let n = from.nrows();
        let strides = [from.row_stride(), to.row_stride()];
        let stride = usize::try_from(to.col_stride()).ok()?;
        if from.shape() != to.shape() || strides != [1, 1] {
            return None;
        }
        let columns = PIECE / (n * size_of::<T>()).max(1);
        let least = if uplo == Uplo::Lower { TOGETHER } else { 1 };
        Some(Matrices {
            uplo,
            from,
            to: to.as_ptr_mut(),
            stride,
            each: columns.clamp(least, PANEL),
        })
    }

    /// Pieces of a panel.
    fn per_panel(&self) -> usize {
        PANEL.div_ceil(self.each)
    }

    /// Where a column of what is made begins.
    fn column(&self, j: usize) -> *mut T {
        // SAFETY: there is such a column, since pieces have no others.
        unsafe { self.to.add(j * self.stride) }
    }

    /// So many numbers of a column of what there is.
    fn given(&self, rows: Range<usize>, column: usize) -> &[T] {
        let part = self.from.col(column).get(rows);
        // SAFETY: contiguous, see `new`.
        unsafe { std::slice::from_raw_parts(part.as_ptr(), part.nrows()) }
    }
}

impl<T: Scalar> Pieces<T> for Matrices<'_, T> {
    type Scratch = ();

    fn order(&self) -> usize {
        self.from.nrows()
    }

    fn count(&self) -> usize {
        let n = self.order();
        let whole = n / PANEL;
        whole * self.per_panel() + (n - whole * PANEL).div_ceil(self.each)
    }

    fn columns(&self, piece: usize) -> Range<usize> {
        let panel = piece / self.per_panel() * PANEL;
        let first = panel + piece % self.per_panel() * self.each;
        let end = (panel + PANEL).min(self.order());
        first..(first + self.each).min(end)
    }

    fn scratch(&self) -> Result<()> {
        Ok(())
    }

    fn load(&self, piece: usize, (): &mut (), to: &Window<'_, T>) -> Result<()> {
        let columns = self.columns(piece);
        match self.uplo {
            Uplo::Upper => {
                for j in columns {
                    let from = self.given(0..j + 1, j);
                    check_finite(from)?;
                    // SAFETY: the panel has as many rows, and this is the only piece with the
                    // column.
                    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.column(j), j + 1) };
                }
            }
            Uplo::Lower => {
                for i in 0..columns.end {
                    let first = columns.start.max(i);
                    let from = self.given(first..columns.end, i);
                    check_finite(from)?;
                    for (j, x) in (first..).zip(from) {
                        // SAFETY: as above.
                        unsafe { *to.column(j).add(i) = *x };
                    }
                }
            }
        }
        Ok(())
    }

    fn store(&self, piece: usize, (): &mut (), from: &Window<'_, T>) -> Result<()> {
        let (n, columns) = (self.order(), self.columns(piece));
        let zero = T::from_f64(0.0);
        for j in columns.clone() {
            // SAFETY: a column of the triangle, and the zeros beside it, are of one piece; the
            // panel is computed.
            unsafe {
                let (entries, zeros) = match self.uplo {
                    Uplo::Upper => (j + 1, j + 1..n),
                    Uplo::Lower => (0, 0..j),
                };
                std::ptr::copy_nonoverlapping(from.column(j), self.column(j), entries);
                let zeros = (self.column(j).add(zeros.start), zeros.len());
                std::slice::from_raw_parts_mut(zeros.0, zeros.1).fill(zero);
            }
        }
        if self.uplo == Uplo::Lower {
            for i in 0..columns.end {
                for j in columns.start.max(i)..columns.end {
                    // SAFETY: as above.
                    unsafe { *self.column(i).add(j) = *from.column(j).add(i) };
                }
            }
        }
        Ok(())
    }
}

/// As [`factor::update`], or [`factor::update_lower`], with so many bytes of the device's memory at
/// most, infinite for what is free. Where the factor has no room there its panels pass by.
pub fn update<T: Scalar, D: AsyncCopy<T> + Elementwise<T>>(
    dev: &D,
    (uplo, change): (Uplo, Change),
    memory: f64,
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<f64> {
    let (n, k) = v.shape();
    let mut lacking = None;
    let passes = dev.has_own_memory() && dev.has_update();
    if !passes || update_bytes(uplo, (n, k), size_of::<T>(), !dev.update_pays(n, k)) <= memory {
        let out = out.as_mut();
        let done = match uplo {
            Uplo::Upper => factor::update(dev, change, r, v, out),
            Uplo::Lower => factor::update_lower(dev, change, r, v, out),
        };
        match done {
            Err(e @ Error::DeviceMemory { .. }) if passes => lacking = Some(e),
            done => return done,
        }
    }
    match (
        update_by_panels(dev, (uplo, change), (memory, None), r, v, out),
        lacking,
    ) {
        (Err(Error::Argument { .. }), Some(lacking)) => Err(lacking),
        (done, _) => done,
    }
}

/// Panels as wide as is good, in so many bytes of a device's memory, or as wide as is said.
fn means<T: Scalar>(
    n: usize,
    k: usize,
    memory: Option<u64>,
    abreast: Option<usize>,
) -> Result<Means> {
    let cut = |abreast: usize| Cut {
        n,
        width: abreast * PANEL,
    };
    let argument = "cudafactor.gpu_memory";
    let good = |abreast: &&usize| {
        let cut = cut(**abreast);
        let on_device = |bytes| by_panels::on_device::<T>(cut, k, bytes, argument);
        cut.panels() >= PANELS
            && cut.bytes::<T>() <= PANEL_BYTES
            && memory.is_none_or(|bytes| on_device(bytes) == Ok(by_panels::ON_DEVICE))
    };
    let abreast = abreast.or_else(|| PANELS_ABREAST.iter().find(good).copied());
    let cut = cut(abreast.unwrap_or(1));
    Ok(Means {
        cut,
        slots: SLOTS,
        threads: (wanted() / 2).clamp(1, COPIERS),
        on_device: memory
            .map(|bytes| by_panels::on_device::<T>(cut, k, bytes, argument))
            .transpose()?,
    })
}

/// The same where panels pass by in any case, with so many times [`PANEL`] columns where that is
/// said.
pub fn update_by_panels<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    (uplo, change): (Uplo, Change),
    (memory, abreast): (f64, Option<usize>),
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<f64> {
    check_shapes(r.shape(), v.shape())?;
    let (n, k) = v.shape();
    if let Some(i) = (0..n).find(|i| r[(*i, *i)] == T::from_f64(0.0)) {
        return Err(Error::Singular { index: i + 1 });
    }
    check_columns(v, "v")?;
    let free = match dev.has_own_memory() {
        true => Some(usable(dev.free()?, memory) as u64),
        false => None,
    };
    let means = means::<T>(n, k, free, abreast)?;
    let margin = match change {
        Change::Up => 1.0,
        Change::Down => {
            let upper = match uplo {
                Uplo::Upper => r,
                Uplo::Lower => r.transpose(),
            };
            let (layout, device) =
                host_budget::tiles::<T, D>(std::slice::from_ref(dev), memory, n)?;
            let factor = Factor::of_host(upper, layout)?;
            let budget = Budget {
                host: 16 * factor.tile_bytes()?,
                device,
            };
            by_panels::margin(dev, &factor, v, budget, || match uplo {
                Uplo::Upper => (0..n).try_for_each(|j| check_column(r.col(j).get(..j + 1), "r")),
                Uplo::Lower => (0..n).try_for_each(|j| check_column(r.col(j).get(j..), "r")),
            })?
        }
    };
    let matrices = Matrices::new(uplo, r, out).ok_or_else(|| Error::Dimension {
        what: "square matrices with contiguous columns are needed".into(),
    })?;
    by_panels::change(dev, change, &matrices, v, &means)?;
    Ok(margin)
}
