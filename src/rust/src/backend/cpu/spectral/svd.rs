//! Singular values and vectors.

use faer::dyn_stack::MemStack;
use faer::linalg::svd::{svd, svd_scratch, ComputeSvdVectors, SvdParams};
use faer::{Auto, MatMut, MatRef, Spec};

use super::{basis, jacobi, narrow_to, narrow_values, parallelism, probe, widened, workspace};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;

/// As [`Spectral::gesvd`](crate::device::spectral::Spectral::gesvd).
pub(crate) fn gesvd<T: Scalar>(
    a: MatRef<'_, T>,
    d: &mut [T],
    mut u: Option<MatMut<'_, T>>,
    mut v: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<()> {
    let params = <SvdParams as Auto<T>>::auto();
    // The second attempt never divides.
    for threshold in [params.recursion_threshold, usize::MAX] {
        interrupt::poll()?;
        let params = SvdParams {
            recursion_threshold: threshold,
            ..params
        };
        let (to_u, to_v) = (reborrow(&mut u), reborrow(&mut v));
        if by_faer(a, d, to_u, to_v, threads, params)? && is_right(a, d, view(&u), view(&v))? {
            return Ok(());
        }
    }
    by_jacobi(a, d, reborrow(&mut u), reborrow(&mut v))?;
    match is_right(a, d, view(&u), view(&v))? {
        true => Ok(()),
        false => Err(Error::NotConverged { routine: "dgesdd" }),
    }
}

fn reborrow<'a, T>(x: &'a mut Option<MatMut<'_, T>>) -> Option<MatMut<'a, T>> {
    x.as_mut().map(|x| x.as_mut())
}

fn view<'a, T>(x: &'a Option<MatMut<'_, T>>) -> Option<MatRef<'a, T>> {
    x.as_ref().map(|x| x.as_ref())
}

/// False if faer gives up.
fn by_faer<T: Scalar>(
    a: MatRef<'_, T>,
    d: &mut [T],
    u: Option<MatMut<'_, T>>,
    v: Option<MatMut<'_, T>>,
    threads: usize,
    params: SvdParams,
) -> Result<bool> {
    let (m, n) = a.shape();
    let part = |vectors: &Option<MatMut<'_, T>>, order: usize| match vectors {
        None => ComputeSvdVectors::No,
        Some(x) if x.ncols() == order => ComputeSvdVectors::Full,
        Some(_) => ComputeSvdVectors::Thin,
    };
    let (par, params) = (parallelism(m.min(n), threads), Spec::new(params));
    let needed = svd_scratch::<T>(m, n, part(&u, m), part(&v, n), par, params);
    let mut memory = workspace(needed)?;
    let stack = MemStack::new(&mut memory);
    // faer 0.24 leaves a block of a full basis of a tall matrix as it finds it.
    let zero = T::from_f64(0.0);
    let (mut u, mut v) = (u, v);
    [&mut u, &mut v]
        .into_iter()
        .flatten()
        .for_each(|x| x.fill(zero));
    let values = faer::diag::DiagMut::from_slice_mut(d);
    Ok(svd(a, values, u, v, par, stack, params).is_ok())
}

/// One-sided Jacobi rotations of the columns, or of the rows if there are fewer.
fn by_jacobi<T: Scalar>(
    a: MatRef<'_, T>,
    d: &mut [T],
    u: Option<MatMut<'_, T>>,
    v: Option<MatMut<'_, T>>,
) -> Result<()> {
    let wide = a.nrows() < a.ncols();
    let (a, u, v) = match wide {
        true => (a.transpose(), v, u),
        false => (a, u, v),
    };
    let (m, n) = a.shape();
    let mut left = widened(a)?;
    let right = jacobi::singular(&mut left, (m, n), d.len())?;
    narrow_values(&right.values, d);
    if let Some(u) = u {
        let full = basis::completed(left, &right.values, (m, u.ncols()))?;
        narrow_to(&full, u);
    }
    if let Some(v) = v {
        narrow_to(&right.vectors, v);
    }
    Ok(())
}

/// Whether the values descend from the first to zero, `A V = U diag(d)` holds, and both bases are
/// orthonormal; without vectors, whether the sum of squares is that of the matrix.
fn is_right<T: Scalar>(
    a: MatRef<'_, T>,
    d: &[T],
    u: Option<MatRef<'_, T>>,
    v: Option<MatRef<'_, T>>,
) -> Result<bool> {
    let (m, n) = a.shape();
    let norm = probe::frobenius(a);
    let tolerance = probe::tolerance::<T>(m.max(n)) * norm;
    let ordered = d.windows(2).all(|p| p[0] >= p[1]) && d.iter().all(|d| *d >= T::from_f64(0.0));
    let energy = probe::is_near::<T>(probe::squares(d), norm * norm, norm * norm, m.max(n));
    if !(ordered && energy) {
        return Ok(false);
    }
    for q in [u, v].into_iter().flatten() {
        if !probe::is_orthonormal(q)? {
            return Ok(false);
        }
    }
    let residual = match (u, v) {
        (None, None) => 0.0,
        (Some(u), Some(v)) => {
            let x = probe::signs::<T>(v.ncols())?;
            let left = probe::times(a, &probe::times(v, &x)?)?;
            let right = probe::times(u, &probe::scaled(&x, d, u.ncols())?)?;
            probe::distance(&left, &right)
        }
        // With one basis Q: ||A'Q x|| for x with the signs is not known, but A A'Q = Q D^2 is.
        (Some(u), None) => squared_residual(a.transpose(), d, u)?,
        (None, Some(v)) => squared_residual(a, d, v)?,
    };
    Ok(residual <= tolerance)
}

/// `||A'A Q x - Q D^2 x|| / ||A||_2` for a vector of signs.
fn squared_residual<T: Scalar>(a: MatRef<'_, T>, d: &[T], q: MatRef<'_, T>) -> Result<f64> {
    let x = probe::signs::<T>(q.ncols())?;
    let left = probe::times(a.transpose(), &probe::times(a, &probe::times(q, &x)?)?)?;
    let once = probe::scaled(&x, d, q.ncols())?;
    let right = probe::times(q, &probe::scaled(&once, d, q.ncols())?)?;
    let largest = d[0].to_f64();
    Ok(match largest > 0.0 {
        true => probe::distance(&left, &right) / largest,
        false => 0.0,
    })
}
