//! Symmetric eigenvalues and eigenvectors.

use faer::dyn_stack::MemStack;
use faer::linalg::evd::{
    self_adjoint_evd, self_adjoint_evd_scratch, ComputeEigenvectors, SelfAdjointEvdParams,
};
use faer::{Auto, MatMut, MatRef, Spec};

use super::{jacobi, narrow_to, narrow_values, parallelism, probe, widened, workspace};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;

/// As [`SymmetricEigen::syev`](crate::device::spectral::SymmetricEigen::syev); the result is
/// checked.
pub(crate) fn syev<T: Scalar>(
    a: MatRef<'_, T>,
    w: &mut [T],
    mut z: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<()> {
    let params = <SelfAdjointEvdParams as Auto<T>>::auto();
    // The second attempt never divides.
    for threshold in [params.recursion_threshold, usize::MAX] {
        interrupt::poll()?;
        let params = SelfAdjointEvdParams {
            recursion_threshold: threshold,
            ..params
        };
        let answered = by_faer(a, w, z.as_mut().map(|z| z.as_mut()), threads, params)?;
        if answered && is_right(a, w, z.as_ref().map(|z| z.as_ref()))? {
            return Ok(());
        }
    }
    let mut wide = widened(a)?;
    let vectors = jacobi::eigen(&mut wide, w.len(), z.is_some())?;
    narrow_values(&vectors.values, w);
    if let Some(z) = &mut z {
        narrow_to(&vectors.vectors, z.as_mut());
    }
    match is_right(a, w, z.as_ref().map(|z| z.as_ref()))? {
        true => Ok(()),
        false => Err(Error::NotConverged { routine: "dsyevr" }),
    }
}

/// False if faer gives up.
fn by_faer<T: Scalar>(
    a: MatRef<'_, T>,
    w: &mut [T],
    z: Option<MatMut<'_, T>>,
    threads: usize,
    params: SelfAdjointEvdParams,
) -> Result<bool> {
    let n = w.len();
    let vectors = match z {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let (par, params) = (parallelism(n, threads), Spec::new(params));
    let needed = self_adjoint_evd_scratch::<T>(n, vectors, par, params);
    let mut memory = workspace(needed)?;
    let stack = MemStack::new(&mut memory);
    let values = faer::diag::DiagMut::from_slice_mut(w);
    Ok(self_adjoint_evd(a, values, z, par, stack, params).is_ok())
}

/// Whether `A Z = Z diag(w)` and `Z'Z = I`; without vectors, whether the sums of values and of
/// their squares are those of the matrix.
fn is_right<T: Scalar>(a: MatRef<'_, T>, w: &[T], z: Option<MatRef<'_, T>>) -> Result<bool> {
    let (n, norm) = (w.len(), probe::symmetric_frobenius(a));
    if w.iter().any(|w| !w.to_f64().is_finite()) {
        return Ok(false);
    }
    let Some(z) = z else {
        return Ok(probe::is_near::<T>(
            probe::sum(w),
            probe::trace(a),
            norm * (n as f64).sqrt(),
            n,
        ) && probe::is_near::<T>(probe::squares(w), norm * norm, norm * norm, n));
    };
    let x = probe::signs::<T>(n)?;
    let left = probe::symmetric_times(a, &probe::times(z, &x)?)?;
    let right = probe::times(z, &probe::scaled(&x, w, n)?)?;
    let residual = probe::distance(&left, &right);
    Ok(residual <= probe::tolerance::<T>(n) * norm && probe::is_orthonormal(z)?)
}
