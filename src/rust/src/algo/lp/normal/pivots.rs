//! A Cholesky factorization that leaves out rows which depend on those before them, of the normal
//! equations of a linear program. Degenerate problems have such rows towards their end, where the
//! weights of columns differ by many orders of magnitude.
//!
//! A plain factorization comes first: of most matrices it is all that is needed. Where one of its
//! pivots is too small the matrix is factored by blocks, and a block that has such pivots on the
//! host. In place of the pivot comes a huge number, so that the row's unknown is zero and its
//! column of no account.

use crate::device::lapack::Lapack;
use crate::device::memory::Memory;
use faer::{MatMut, MatRef};

use crate::algo::lp::vectors::device::OnDevice;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;

/// Order of the blocks.
const BLOCK: usize = 128;

/// The root of what takes the place of a pivot.
fn huge<T: Scalar>() -> f64 {
    if T::EPS < 1e-10 {
        1e64
    } else {
        1e15
    }
}

/// The upper factor of m, of this diagonal, without pivots up to `least` times its entry; how many
/// these are, and whether it was factored by blocks, as it is at once if `careful`.
pub fn factor<T: Scalar, D: Elementwise<T>>(
    ops: &OnDevice<'_, T, D>,
    m: &D::Mat<'static>,
    diagonal: &[f64],
    least: f64,
    careful: bool,
) -> Result<(D::Mat<'static>, usize, bool)> {
    let dev = ops.dev;
    if diagonal.iter().any(|d| !d.is_finite()) {
        return Err(Error::NonFinite);
    }
    if diagonal.is_empty() {
        return Ok((dev.duplicate(m, Part::Upper)?, 0, careful));
    }
    if !careful {
        let mut whole = dev.duplicate(m, Part::Upper)?;
        if is_sound(dev, &mut whole, diagonal, least)? {
            return Ok((whole, 0, false));
        }
    }
    let (factor, left_out) = by_blocks(dev, m, diagonal, least)?;
    // Once it is needed no more, the plain one is tried again.
    Ok((factor, left_out, left_out > 0))
}

/// Factors a matrix, of whose whole these are diagonal entries; whether its pivots are large
/// enough.
fn is_sound<T: Scalar, D: Lapack<T>>(
    dev: &D,
    a: &mut D::Mat<'static>,
    diagonal: &[f64],
    least: f64,
) -> Result<bool> {
    match dev.potrf(Uplo::Upper, a) {
        Ok(()) => {}
        Err(Error::NotPositiveDefinite { .. }) => return Ok(false),
        Err(e) => return Err(e),
    }
    let roots = dev.diagonal(a)?;
    let large = |(root, d): (&T, &f64)| {
        let root: f64 = (*root).into();
        root * root > least * d
    };
    Ok(roots.iter().zip(diagonal).all(large))
}

fn by_blocks<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    m: &D::Mat<'static>,
    diagonal: &[f64],
    least: f64,
) -> Result<(D::Mat<'static>, usize)> {
    let n = diagonal.len();
    let mut factor = dev.zeros(n, n)?;
    let mut shrunk: Option<D::Mat<'static>> = None;
    let mut left_out = 0;
    for at in (0..n).step_by(BLOCK) {
        interrupt::poll()?;
        let size = BLOCK.min(n - at);
        let rest = shrunk.as_ref().unwrap_or(m);
        let of_block = &diagonal[at..at + size];
        let mut block = dev.blank(size, size)?;
        let leading = Block::leading(size, size);
        dev.copy_block(rest, leading, &mut block, (0, 0))?;
        let mut triangle = dev.duplicate(&block, Part::Upper)?;
        if !is_sound(dev, &mut triangle, of_block, least)? {
            left_out += on_host(dev, &block, of_block, least, &mut triangle)?;
        }
        dev.copy_block(&triangle, leading, &mut factor, (at, at))?;
        let behind = n - at - size;
        if behind == 0 {
            break;
        }
        let mut panel = dev.blank(size, behind)?;
        let beside = Block {
            row: 0,
            col: size,
            rows: size,
            cols: behind,
        };
        dev.copy_block(rest, beside, &mut panel, (0, 0))?;
        let (left, upper, non) = (Side::Left, Uplo::Upper, Diag::NonUnit);
        dev.trsm(left, upper, Trans::Yes, non, size, &triangle, &mut panel)?;
        let whole = Block::leading(size, behind);
        dev.copy_block(&panel, whole, &mut factor, (at, at + size))?;
        let mut next = dev.blank(behind, behind)?;
        let below = Block {
            row: size,
            col: size,
            rows: behind,
            cols: behind,
        };
        dev.copy_block(rest, below, &mut next, (0, 0))?;
        let (minus, one) = (T::from_f64(-1.0), T::from_f64(1.0));
        dev.gemm(minus, Trans::Yes, &panel, Trans::No, &panel, one, &mut next)?;
        shrunk = Some(next);
    }
    Ok((factor, left_out))
}

/// The factor of a block of the device in `out`, by way of the host; how many pivots it leaves out.
fn on_host<T: Scalar, D: Memory<T>>(
    dev: &D,
    block: &D::Mat<'static>,
    diagonal: &[f64],
    least: f64,
    out: &mut D::Mat<'static>,
) -> Result<usize> {
    let n = diagonal.len();
    let mut narrow = try_zeroed::<T>(n * n)?;
    dev.read(
        block,
        MatMut::from_column_major_slice_mut(&mut narrow, n, n),
    )?;
    let mut u: Vec<f64> = narrow.iter().map(|x| (*x).into()).collect();
    let left_out = factor_host(&mut u, n, diagonal, least, huge::<T>());
    for (to, from) in narrow.iter_mut().zip(&u) {
        *to = T::from_f64(*from);
    }
    let view = MatRef::from_column_major_slice(&narrow, n, n);
    dev.refill(view, Part::Upper, out)?;
    Ok(left_out)
}

/// `U'U` column by column, by inner products of columns.
fn factor_host(u: &mut [f64], n: usize, diagonal: &[f64], least: f64, huge: f64) -> usize {
    let mut left_out = 0;
    for j in 0..n {
        let (before, column) = u.split_at_mut(j * n);
        for i in 0..j {
            let other = &before[i * n..i * n + i];
            let inner: f64 = other.iter().zip(&column[..i]).map(|(a, b)| a * b).sum();
            column[i] = (column[i] - inner) / before[i * n + i];
        }
        let pivot = column[j] - column[..j].iter().map(|x| x * x).sum::<f64>();
        // A NaN is one that is left out, too.
        if pivot > least * diagonal[j] && pivot > 0.0 {
            column[j] = pivot.sqrt();
        } else {
            column[j] = huge * diagonal[j].max(f64::MIN_POSITIVE).sqrt().max(1.0);
            left_out += 1;
        }
    }
    left_out
}
