//! Dense to band: `A = Q1 B Q1'`, in panels as wide as the band.
//!
//! A panel below the band is factored, `P = (I - V T V') R`, and the rest of the matrix becomes
//! `A - V W' - W V'` with `Y = A V T` and `W = Y - V (T' V'Y) / 2`. Products with few columns are
//! slow, so changes of the rest wait until they have [`DETACHED`] columns. Until then the next
//! panel alone gets them, and `A V` is corrected by the changes that wait.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::gemm_syrk::{mirror, multiply};
use crate::backend::cuda::gemm::update::{Update, UpdatedPart};
use crate::backend::cuda::matrix::views::{copy, View};
use crate::backend::cuda::qr::factor::factor;
use crate::backend::cuda::qr::householder::apply;
use crate::backend::cuda::qr::reflectors::BlockReflector;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;

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

/// The changes that wait: the matrix is `A - left right'`.
struct Waiting {
    left: Workspace,
    right: Workspace,
    cols: usize,
}

impl Waiting {
    fn left<T: Scalar>(&self, row: usize, rows: usize) -> View<T> {
        self.left.view(self.cols).sub(row, 0, rows, self.cols)
    }

    fn right<T: Scalar>(&self, row: usize, rows: usize) -> View<T> {
        self.right.view(self.cols).sub(row, 0, rows, self.cols)
    }
}

/// Reduces the symmetric `a`, both triangles of which are given, to bandwidth `b`.
///
/// The lower part of the band is then B. Below it are the reflectors of Q1, whose factors are
/// returned: column j of them begins in row `b + j`. The rest of `a` has no meaning.
pub(crate) fn reduce<T: Scalar>(ctx: &'static Context, a: View<T>, b: usize) -> Result<Vec<T>> {
    let n = a.rows;
    let mut taus = Vec::new();
    if n <= b + 1 {
        return Ok(taus);
    }
    let most = 2 * DETACHED.max(b);
    let mut waiting = Waiting {
        left: Workspace::new::<T>(ctx, n, most)?,
        right: Workspace::new::<T>(ctx, n, most)?,
        cols: 0,
    };
    let block = BlockReflector::new::<T>(ctx, b, n, b)?;
    let (product, cross) = (
        Workspace::new::<T>(ctx, n, b)?,
        Workspace::new::<T>(ctx, most, b)?,
    );
    let small = [
        Workspace::new::<T>(ctx, b, b)?,
        Workspace::new::<T>(ctx, b, b)?,
    ];
    let (assign, subtract) = (Update::assign(), Update::subtract());
    let half = Update {
        alpha: T::from_f64(-0.5),
        ..subtract
    };
    for first in (0..).step_by(b).take_while(|first| first + b + 1 < n) {
        let below = first + b;
        let rows = n - below;
        let rest = a.sub(below, below, rows, rows);
        if waiting.cols > 0 {
            let columns = a.sub(first, first, n - first, b);
            let (left, right) = (waiting.left(first, n - first), waiting.right(first, b));
            multiply(ctx, subtract, left, right.t(), columns)?;
        }
        let panel = a.sub(below, first, rows, b);
        let tau = factor(ctx, panel)?;
        let (made, k) = (Buffer::from_slice(ctx, &tau)?, tau.len());
        let h = block.load(0, panel.sub(0, 0, rows, k), made.ptr)?;
        // A V T, where A has the changes that wait.
        let y = product.view::<T>(k).sub(0, 0, rows, k);
        multiply(ctx, assign, rest, h.v, y)?;
        if waiting.cols > 0 {
            let g = View::new(cross.numbers.ptr, waiting.cols, k, most);
            multiply(ctx, assign, waiting.right(below, rows).t(), h.v, g)?;
            multiply(ctx, subtract, waiting.left(below, rows), g, y)?;
        }
        let at = waiting.cols;
        waiting.cols += 2 * k;
        let place = |of: &Workspace, col: usize| of.view(most).sub(below, col, rows, k);
        let w = place(&waiting.right, at);
        multiply(ctx, assign, y, h.t, w)?;
        let [c, d] = [0, 1].map(|i| View::new(small[i].numbers.ptr, k, k, b));
        multiply(ctx, assign, h.v.t(), w, c)?;
        multiply(ctx, assign, h.t.t(), c, d)?;
        multiply(ctx, half, h.v, d, w)?;
        copy(ctx, h.v, place(&waiting.left, at))?;
        copy(ctx, w, place(&waiting.left, at + k))?;
        copy(ctx, h.v, place(&waiting.right, at + k))?;
        taus.extend(tau);
        let last = below + b + 1 >= n;
        if waiting.cols + 2 * b > most || last {
            let lower = Update {
                triangle: UpdatedPart::Lower,
                ..subtract
            };
            let (left, right) = (waiting.left(below, rows), waiting.right(below, rows));
            multiply(ctx, lower, left, right.t(), rest)?;
            if !last {
                mirror(ctx, rest)?;
            }
            waiting.cols = 0;
        }
        ctx.fence()?;
    }
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
