//! Dense to band: `A = Q1 B Q1'`, in panels as wide as the band.
//!
//! A panel below the band is factored, `P = (I - V T V') R`, and the rest of the matrix becomes
//! `A - V W' - W V'` with `Y = A V T` and `W = Y - V (T' V'Y) / 2`. Products with few columns are
//! slow, so changes of the rest wait until they have [`DETACHED`] columns. Until then the next
//! panel alone gets them, and `A V` is corrected by the changes that wait.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::gemm_syrk::{mirror, multiply};
use crate::backend::cuda::gemm::update::{Update, UpdatedPart};
use crate::backend::cuda::matrix::views::{copy, View};
use crate::backend::cuda::qr::cholesky_qr::Panels;
use crate::backend::cuda::qr::factor::factor;
use crate::backend::cuda::qr::householder::apply;
use crate::backend::cuda::qr::reflectors::{BlockReflector, Reflector};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};

/// Columns of V that wait.
const DETACHED: usize = 256;

/// Matrices by columns in workspace of the device.
struct Workspace {
    numbers: Buffer,
    rows: usize,
}

impl Workspace {
    fn new<T: Scalar>(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        Ok(Workspace {
            numbers: Buffer::of::<T>(ctx, rows.saturating_mul(cols))?,
            rows,
        })
    }

    /// Its first columns.
    fn view<T: Scalar>(&self, cols: usize) -> View<T> {
        View::new(self.numbers.ptr, self.rows, cols, self.rows)
    }
}

/// A running reduction. The matrix is `A - left right'`: these changes wait.
struct Reduction<T> {
    ctx: &'static Context,
    a: View<T>,
    b: usize,
    left: Workspace,
    right: Workspace,
    waiting: usize,
    /// V and T of a panel, `A V T`, and what is small.
    block: BlockReflector,
    product: Workspace,
    cross: Workspace,
    small: [Workspace; 2],
    panels: Panels,
    taus: Buffer,
}

impl<T: Scalar> Reduction<T> {
    fn new(ctx: &'static Context, a: View<T>, b: usize) -> Result<Self> {
        let (n, most) = (a.rows, 2 * DETACHED.max(b));
        let new = |rows, cols| Workspace::new::<T>(ctx, rows, cols);
        Ok(Reduction {
            ctx,
            a,
            b,
            left: new(n, most)?,
            right: new(n, most)?,
            waiting: 0,
            block: BlockReflector::new::<T>(ctx, b, n, b)?,
            product: new(n, b)?,
            cross: new(most, b)?,
            small: [new(b, b)?, new(b, b)?],
            panels: Panels::new::<T>(ctx)?,
            taus: Buffer::zeroed::<T>(ctx, n)?,
        })
    }

    /// Rows `row..` of the changes that wait, on either side.
    fn waiting(&self, row: usize, rows: usize) -> (View<T>, View<T>) {
        let of = |side: &Workspace| side.view(self.waiting).sub(row, 0, rows, self.waiting);
        (of(&self.left), of(&self.right))
    }

    /// An update that a refused panel cancels.
    fn unless_refused(&self, update: Update<T>) -> Update<T> {
        Update {
            stop: self.panels.stop(),
            ..update
        }
    }

    /// The panel of the columns from `first` on, without the rows of the band.
    fn panel(&self, first: usize) -> View<T> {
        let below = first + self.b;
        self.a.sub(below, first, self.a.rows - below, self.b)
    }

    /// Gives the columns from `first` on, a panel, what waits.
    fn bring_up(&self, first: usize) -> Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        let rows = self.a.rows - first;
        let columns = self.a.sub(first, first, rows, self.b);
        let (left, right) = self.waiting(first, rows);
        let right = right.sub(0, 0, self.b, self.waiting);
        let subtract = self.unless_refused(Update::subtract());
        multiply(self.ctx, subtract, left, right.t(), columns)
    }

    /// Where the factors of a panel's reflectors belong.
    fn taus_of(&self, first: usize) -> u64 {
        self.taus.ptr + (first * size_of::<T>()) as u64
    }

    /// Factors a panel by products, unless it is refused.
    fn by_products(&self, first: usize) -> Result<Reflector<T>> {
        let panel = self.panel(first);
        let to = self.block.room(0, panel.rows, self.b);
        self.panels
            .factor(first, panel, self.taus_of(first), to, true)?;
        Ok(to)
    }

    /// Factors any panel.
    fn by_columns(&self, first: usize) -> Result<Reflector<T>> {
        let panel = self.panel(first);
        let made = Buffer::from_slice(self.ctx, &factor(self.ctx, panel)?)?;
        let (k, tau) = (panel.rows.min(self.b), self.taus_of(first));
        let column = |ptr| View::<T>::new(ptr, k, 1, k);
        copy(self.ctx, column(made.ptr), column(tau))?;
        self.block.load(0, panel.sub(0, 0, panel.rows, k), tau)
    }

    /// Adds what the reflectors `h` of the panel from column `first` on change to what waits.
    fn join(&mut self, first: usize, h: Reflector<T>) -> Result<()> {
        let ctx = self.ctx;
        let (below, rows, k) = (first + self.b, h.v.rows, h.v.cols);
        let rest = self.a.sub(below, below, rows, rows);
        let assign = self.unless_refused(Update::assign());
        let subtract = self.unless_refused(Update::subtract());
        // A V T, where A has the changes that wait.
        let y = self.product.view::<T>(k).sub(0, 0, rows, k);
        multiply(ctx, assign, rest, h.v, y)?;
        if self.waiting > 0 {
            let (left, right) = self.waiting(below, rows);
            let g = View::new(self.cross.numbers.ptr, self.waiting, k, self.cross.rows);
            multiply(ctx, assign, right.t(), h.v, g)?;
            multiply(ctx, subtract, left, g, y)?;
        }
        let place = |of: &Workspace, col: usize| of.view(col + k).sub(below, col, rows, k);
        let at = self.waiting;
        let w = place(&self.right, at);
        multiply(ctx, assign, y, h.t, w)?;
        let [c, d] = [0, 1].map(|i| View::new(self.small[i].numbers.ptr, k, k, self.b));
        multiply(ctx, assign, h.v.t(), w, c)?;
        multiply(ctx, assign, h.t.t(), c, d)?;
        let half = Update {
            alpha: T::from_f64(-0.5),
            ..subtract
        };
        multiply(ctx, half, h.v, d, w)?;
        copy(ctx, h.v, place(&self.left, at))?;
        copy(ctx, w, place(&self.left, at + k))?;
        copy(ctx, h.v, place(&self.right, at + k))?;
        self.waiting += 2 * k;
        Ok(())
    }

    /// Queues the panels from `first` on until enough changes wait or too few rows are left.
    /// Returns where it stopped.
    fn queue(&mut self, mut first: usize) -> Result<usize> {
        let most = 2 * DETACHED.max(self.b);
        while self.has_rows(first) && self.waiting + 2 * self.b <= most {
            self.bring_up(first)?;
            let h = self.by_products(first)?;
            self.join(first, h)?;
            first += self.b;
        }
        Ok(first)
    }

    /// Whether a panel begins at column `first`.
    fn is_reduced_from(&self, first: usize) -> bool {
        first + self.b + 1 < self.a.rows
    }

    /// Whether it also has enough rows for products.
    fn has_rows(&self, first: usize) -> bool {
        self.is_reduced_from(first) && first + 2 * self.b <= self.a.rows
    }

    /// Changes the matrix from row and column `first` on by what waits.
    fn change(&mut self, first: usize) -> Result<()> {
        let rows = self.a.rows.saturating_sub(first);
        if rows > 0 && self.waiting > 0 {
            let rest = self.a.sub(first, first, rows, rows);
            let lower = Update {
                triangle: UpdatedPart::Lower,
                ..Update::subtract()
            };
            let (left, right) = self.waiting(first, rows);
            multiply(self.ctx, lower, left, right.t(), rest)?;
            if self.is_reduced_from(first) {
                mirror(self.ctx, rest)?;
            }
        }
        self.waiting = 0;
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let mut first = 0;
        while self.is_reduced_from(first) {
            let mut end = self.queue(first)?;
            // All panels before a refused one are done, and it has what waited for it.
            while let Some(refused) = self.panels.refused()? {
                self.waiting = 2 * (refused - first);
                let next = self.reduce_any(refused)?;
                end = self.queue(next)?;
            }
            if end == first {
                end = self.reduce_any(first)?;
            }
            self.change(end)?;
            self.ctx.fence()?;
            first = end;
        }
        Ok(())
    }

    /// Reduces the panel from column `first` on, which has what waits. Returns where the next one
    /// begins.
    fn reduce_any(&mut self, first: usize) -> Result<usize> {
        let h = self.by_columns(first)?;
        self.join(first, h)?;
        Ok(first + self.b)
    }
}

/// Reduces the symmetric `a`, both triangles of which are given, to bandwidth `b`.
///
/// The lower part of the band is then B. Below it are the reflectors of Q1, whose factors are
/// returned: column j of them begins in row `b + j`. The rest of `a` has no meaning.
pub(crate) fn reduce<T: Scalar>(ctx: &'static Context, a: View<T>, b: usize) -> Result<Vec<T>> {
    let count = a.rows.saturating_sub(b);
    if count < 2 {
        return Ok(Vec::new());
    }
    let mut reduction = Reduction::new(ctx, a, b)?;
    // After an error no work may be left in the stream, because its memory is freed.
    ctx.or_drain(reduction.run())?;
    let mut taus = try_zeroed(count)?;
    reduction.taus.to_slice(&mut taus)?;
    Ok(taus)
}

/// `Z <- Q1 Z` for what [`reduce`] left in `a`, and its factors.
pub(crate) fn back<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    b: usize,
    taus: &[T],
    z: View<T>,
) -> Result<()> {
    if taus.is_empty() {
        return Ok(());
    }
    let rows = a.rows - b;
    let reflectors = a.sub(b, 0, rows, taus.len());
    apply(ctx, Trans::No, reflectors, taus, z.sub(b, 0, rows, z.cols))
}
