//! Singular value decomposition of square matrices by products and eigenvectors.
//!
//! The host decomposes small ones for a GPU. [`leading`](super::leading) splits large singular
//! values off others. [`by_gram`](super::by_gram) takes those with few small singular values. The
//! device's routine takes the rest, or [`by_polar`] where there is none.

use faer::{MatMut, MatRef};

use super::by_gram::level;
use super::checks::passes;
use super::leading::split;
use super::{by_polar, svd, Parts, Small, DIRECTLY};
use crate::algo::dense::scaling::columns_to_one;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::device::elementwise::Elementwise;
use crate::device::memory::Memory;
use crate::device::spectral::SingularValues;

/// Up to this order the host decomposes a matrix while a device would wait for itself: other ways
/// are some hundred launches.
pub(super) const SMALL: usize = 128;

/// So many singular values are split off in a row, at most.
const LEADING: usize = 8;

/// What decomposes matrices that are small, or that levels do not suit.
pub(super) struct Others<'h, H> {
    /// Decomposes small matrices for a device without a routine, and `X'X` of few columns for all.
    pub host: Option<&'h H>,
    /// The device's routine decomposes small matrices, and takes the place of polar decompositions.
    pub routine: bool,
}

impl<H> Clone for Others<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for Others<'_, H> {}

/// Singular values of a square matrix, and the left and right vectors if they are wanted.
pub(super) fn decompose<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    others: Others<'_, H>,
    x: D::Mat<'static>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    decompose_after(dev, others, LEADING, x, vectors)
}

/// As [`decompose`], after no more than so many large singular values are `split` off.
fn decompose_after<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    others: Others<'_, H>,
    leading: usize,
    x: D::Mat<'static>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    let (_, n) = dev.shape(&x);
    if let Some(host) = others.host.filter(|_| !others.routine && n <= SMALL) {
        return on_host(dev, host, &x, vectors);
    }
    // Products of the largest entries neither overflow nor vanish.
    let (scaled, exponent) = columns_to_one(dev, &x)?;
    drop(x);
    let directly = others.routine && n <= DIRECTLY;
    let largest = match leading {
        _ if directly => None,
        0 => None,
        _ => split(dev, &scaled)?,
    };
    let (mut d, vectors) = match largest {
        Some((largest, rest)) => {
            // The first of these calls checks the answer of all.
            let kept = (leading == LEADING).then_some(scaled);
            let found = decompose_after(dev, others, leading - 1, rest, vectors)?;
            let parts = largest.join(dev, found)?;
            match kept {
                Some(x) if !passes(dev, &x, &parts)? => whole(dev, others, &x, vectors)?,
                _ => parts,
            }
        }
        None if directly => by_routine(dev, &scaled, vectors)?,
        None => whole(dev, others, &scaled, vectors)?,
    };
    let unit = T::from_f64(f64::from(exponent).exp2());
    d.iter_mut().for_each(|d| *d *= unit);
    Ok((d, vectors))
}

/// The decomposition by levels, or else by others.
fn whole<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    others: Others<'_, H>,
    x: &D::Mat<'static>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    match in_levels(dev, others, x, vectors)? {
        Some(parts) => Ok(parts),
        None if others.routine => by_routine(dev, x, vectors),
        None => by_polar::of_square(dev, x, vectors),
    }
}

/// The decomposition by levels, unless another way is quicker or the answer fails its check.
fn in_levels<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    others: Others<'_, H>,
    x: &D::Mat<'static>,
    vectors: bool,
) -> Result<Option<Parts<D::Mat<'static>, T>>> {
    let Some(mut level) = level(dev, x, others.routine, vectors)? else {
        return Ok(None);
    };
    if let Some(rest) = level.rest.take() {
        let found = decompose(dev, others, rest, vectors)?;
        level.join(dev, found)?;
    }
    let parts = level.parts();
    Ok(passes(dev, x, &parts)?.then_some(parts))
}

/// The decomposition by the device's routine.
fn by_routine<T: Scalar, D: Elementwise<T> + SingularValues<T>>(
    dev: &D,
    x: &D::Mat<'static>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    let (_, n) = dev.shape(x);
    let mut d = try_zeroed(n)?;
    if !vectors {
        return dev.gesvd(x, &mut d, None, None).map(|()| (d, None));
    }
    let (mut u, mut v) = (dev.blank(n, n)?, dev.blank(n, n)?);
    dev.gesvd(x, &mut d, Some(&mut u), Some(&mut v))?;
    Ok((d, Some((u, v))))
}

/// Decomposes a small matrix on the host, in double precision.
fn on_host<T: Scalar, D: Memory<T>, H: Small>(
    dev: &D,
    host: &H,
    square: &D::Mat<'_>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    let (_, n) = dev.shape(square);
    let entries = read(dev, square)?;
    let x = MatRef::from_column_major_slice(&entries, n, n);
    let size = if vectors { n * n } else { 0 };
    let (mut u, mut v) = (try_zeroed::<f64>(size)?, try_zeroed::<f64>(size)?);
    let [left, right] =
        [&mut u, &mut v].map(|to| vectors.then(|| MatMut::from_column_major_slice_mut(to, n, n)));
    let d = svd(host, None::<&H>, x, left, right)?;
    let vectors = match vectors {
        true => Some((bring(dev, &u, n)?, bring(dev, &v, n)?)),
        false => None,
    };
    Ok((d.into_iter().map(T::from_f64).collect(), vectors))
}

/// The entries of a matrix of order n, by columns.
pub(super) fn read<T: Scalar, D: Memory<T>>(dev: &D, square: &D::Mat<'_>) -> Result<Vec<f64>> {
    let (_, n) = dev.shape(square);
    let mut entries = try_zeroed::<T>(n * n)?;
    dev.read(
        square,
        MatMut::from_column_major_slice_mut(&mut entries, n, n),
    )?;
    widened(&entries)
}

/// A matrix of order n with these entries, by columns.
pub(super) fn bring<T: Scalar, D: Memory<T>>(
    dev: &D,
    entries: &[f64],
    n: usize,
) -> Result<D::Mat<'static>> {
    let mut narrowed = try_zeroed::<T>(n * n)?;
    narrow(entries, &mut narrowed)?;
    dev.load_temporary(MatRef::from_column_major_slice(&narrowed, n, n), Part::All)
}
