//! Dense to band: `A = Q1 B Q1'`, in panels as wide as the band.
//!
//! A panel below the band is factored, `P = (I - V T V') R`, and the rest of the matrix becomes
//! `A - V W' - W V'` with `Y = A V T` and `W = Y - V (T' V'Y) / 2`. Products with few columns are
//! slow, so changes of the rest wait until they have [`DETACHED`] columns. Until then the next
//! panel alone gets them, and `A V` is corrected by the changes that wait.
//!
//! Panels in double precision are two launches besides these products: see
//! [`band_panel`](super::band_panel). Others are some twenty.

use std::mem::size_of;

use super::band_panel::{Plan, Sides, Together};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::gemm_syrk::{mirror, multiply};
use crate::backend::cuda::gemm::update::{Update, UpdatedPart};
use crate::backend::cuda::matrix::views::{copy, View};
use crate::backend::cuda::qr::cholesky_qr::Panels;
use crate::backend::cuda::qr::factor::factor;
use crate::backend::cuda::qr::householder::apply;
use crate::backend::cuda::qr::reflectors::{BlockReflector, Reflector, SIDE};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};

/// Columns of V that wait.
const DETACHED: usize = 256;

/// Matrices by columns in workspace of the device.
struct Workspace {
    numbers: Buffer,
    rows: usize,
    /// From column to column, such that columns begin aligned.
    ld: usize,
}

impl Workspace {
    fn new<T: Scalar>(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        let ld = rows.next_multiple_of(SIDE);
        Ok(Workspace {
            numbers: Buffer::of::<T>(ctx, ld.saturating_mul(cols))?,
            rows,
            ld,
        })
    }

    /// Its first columns.
    fn view<T: Scalar>(&self, cols: usize) -> View<T> {
        View::new(self.numbers.ptr, self.rows, cols, self.ld)
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
    together: Option<Together>,
    taus: Buffer,
    /// Panels that were refused.
    refused: usize,
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
            together: Together::new::<T>(ctx, b)?,
            taus: Buffer::zeroed::<T>(ctx, n)?,
            refused: 0,
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
            ..update.by_norms()
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

    /// Where V and W of a panel of `k` columns with rows `below..` belong.
    fn places(&self, below: usize, k: usize) -> Sides<T> {
        let of = |side: &Workspace| {
            let whole = side.view(self.waiting + 2 * k);
            whole.sub(below, self.waiting, self.a.rows - below, 2 * k)
        };
        Sides {
            left: of(&self.left),
            right: of(&self.right),
        }
    }

    /// The two launches for a panel of this shape, if there are some.
    fn together(&self, rows: usize, columns: usize) -> Option<(&Together, Plan)> {
        let together = self.together.as_ref().filter(|_| columns == self.b)?;
        Some((together, together.plan(rows)?))
    }

    /// Factors a panel by products, unless it is refused.
    fn by_products(&self, first: usize) -> Result<Reflector<T>> {
        let (panel, tau) = (self.panel(first), self.taus_of(first));
        let room = self.block.room(0, panel.rows, self.b);
        let Some((together, plan)) = self.together(panel.rows, self.b) else {
            self.panels.factor(first, panel, tau, room, true)?;
            return Ok(room);
        };
        let to = Reflector {
            v: self
                .places(first + self.b, self.b)
                .left
                .sub(0, 0, panel.rows, self.b),
            ..room
        };
        together.reflect(plan, first, panel, tau, to, self.panels.stop())?;
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
            let g = View::new(self.cross.numbers.ptr, self.waiting, k, self.cross.ld);
            multiply(ctx, assign, right.t(), h.v, g)?;
            multiply(ctx, subtract, left, g, y)?;
        }
        let to = self.places(below, k);
        match self.together(rows, k) {
            Some((together, plan)) => together.join(plan, h, y, to, self.panels.stop())?,
            None => self.join_by_products(h, y, to)?,
        }
        self.waiting += 2 * k;
        Ok(())
    }

    /// As [`Together::join`].
    fn join_by_products(&self, h: Reflector<T>, y: View<T>, to: Sides<T>) -> Result<()> {
        let (ctx, rows, k) = (self.ctx, h.v.rows, h.v.cols);
        let assign = self.unless_refused(Update::assign());
        let [first, last] = [0, k].map(|col| move |of: View<T>| of.sub(0, col, rows, k));
        let w = first(to.right);
        multiply(ctx, assign, y, h.t, w)?;
        let [c, d] = [0, 1].map(|i| View::new(self.small[i].numbers.ptr, k, k, self.b));
        multiply(ctx, assign, h.v.t(), w, c)?;
        multiply(ctx, assign, h.t.t(), c, d)?;
        let half = Update {
            alpha: T::from_f64(-0.5),
            ..self.unless_refused(Update::subtract())
        };
        multiply(ctx, half, h.v, d, w)?;
        copy(ctx, h.v, first(to.left))?;
        copy(ctx, w, last(to.left))?;
        copy(ctx, h.v, last(to.right))
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
                ..Update::subtract().by_norms()
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
                self.refused += 1;
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

    /// Runs, and returns the factors of `count` reflectors.
    fn finish(&mut self, count: usize) -> Result<Vec<T>> {
        // After an error no work may be left in the stream, because its memory is freed.
        self.ctx.or_drain(self.run())?;
        let mut taus = try_zeroed(count)?;
        self.taus.to_slice(&mut taus)?;
        Ok(taus)
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
    reduction.finish(count)
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

#[cfg(test)]
#[path = "band_tests.rs"]
mod tests;
