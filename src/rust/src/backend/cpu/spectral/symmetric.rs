//! Symmetric eigenvalues and eigenvectors.

use faer::dyn_stack::MemStack;
use faer::linalg::evd::{
    self_adjoint_evd, self_adjoint_evd_scratch, ComputeEigenvectors, SelfAdjointEvdParams,
};
use faer::{Auto, MatMut, MatRef, Spec};

use super::{
    divide, jacobi, narrow_to, narrow_values, parallelism, probe, threads_for, tridiagonal,
    tridiagonal_values, widened, workspace,
};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::{widened as wide_values, Scalar};
use crate::cost::flops::eigen_flops;

/// Up to this order rotations leave smaller residuals than a reduction.
const FEW: usize = 4;

/// One way to the values and vectors. False if it gives up.
type Attempt<'a, T> = dyn Fn(&mut [T], Option<MatMut<'_, T>>) -> Result<bool> + 'a;

/// As [`SymmetricEigen::syev`](crate::device::spectral::SymmetricEigen::syev); the result is
/// checked.
pub(crate) fn syev<T: Scalar>(
    a: MatRef<'_, T>,
    w: &mut [T],
    z: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<()> {
    let params = <SelfAdjointEvdParams as Auto<T>>::auto();
    let by_faer = |threshold: usize| {
        move |w: &mut [T], z: Option<MatMut<'_, T>>| {
            let params = SelfAdjointEvdParams {
                recursion_threshold: threshold,
                ..params
            };
            by_faer(a, w, z, threads, params)
        }
    };
    // Of order 2, the small values of the others have errors relative to the large one. faer's
    // second attempt here never divides.
    first_right(
        &[
            &|w, z| Ok(by_rotation(a, w, z)),
            &|w, z| Ok(z.is_some() && w.len() <= FEW && by_jacobi(a, w, z)?),
            &|w, z| by_reduction(a, w, z, threads),
            &by_faer(params.recursion_threshold),
            &by_faer(usize::MAX),
            &|w, z| by_jacobi(a, w, z),
        ],
        a,
        w,
        z,
    )
}

/// The first answer that passes the check.
fn first_right<T: Scalar>(
    attempts: &[&Attempt<'_, T>],
    a: MatRef<'_, T>,
    w: &mut [T],
    mut z: Option<MatMut<'_, T>>,
) -> Result<()> {
    for attempt in attempts {
        interrupt::poll()?;
        if attempt(w, z.as_mut().map(|z| z.as_mut()))?
            && is_right(a, w, z.as_ref().map(|z| z.as_ref()))?
        {
            return Ok(());
        }
    }
    Err(Error::NotConverged { routine: "dsyevr" })
}

/// By a tridiagonal matrix. False if its iteration does not converge.
fn by_reduction<T: Scalar>(
    a: MatRef<'_, T>,
    w: &mut [T],
    z: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<bool> {
    let n = w.len();
    let [few, all] = [false, true].map(|vectors| eigen_flops(n, vectors));
    let part = progress::part(if z.is_some() { all } else { few });
    let reduced = tridiagonal::reduce(a, threads, z.is_some())?;
    let mut d = wide_values(&reduced.diagonal)?;
    let mut e = wide_values(&reduced.off)?;
    let converged = match z {
        None => tridiagonal_values::values(&mut d, &mut e)?,
        Some(mut z) => {
            part.left(all - few);
            let threads = threads_for(n, threads);
            let converged = divide::vectors(&mut d, &mut e, z.as_mut(), threads)?;
            part.left(all - 2.0 * few);
            if converged {
                reduced.turn_back(z, threads)?;
            }
            converged
        }
    };
    narrow_values(&d, w);
    Ok(converged)
}

/// Values and vectors of a matrix of order 2. False for other orders.
fn by_rotation<T: Scalar>(a: MatRef<'_, T>, w: &mut [T], z: Option<MatMut<'_, T>>) -> bool {
    if w.len() != 2 {
        return false;
    }
    let [x, xy, y] = [(0, 0), (1, 0), (1, 1)].map(|at| a[at].to_f64());
    let found = jacobi::eigen_of_two(x, xy, y);
    narrow_values(&found.values, w);
    if let Some(z) = z {
        narrow_to(&found.vectors, z);
    }
    true
}

fn by_jacobi<T: Scalar>(a: MatRef<'_, T>, w: &mut [T], z: Option<MatMut<'_, T>>) -> Result<bool> {
    let mut wide = widened(a)?;
    let found = jacobi::eigen(&mut wide, w.len(), z.is_some())?;
    narrow_values(&found.values, w);
    if let Some(z) = z {
        narrow_to(&found.vectors, z);
    }
    Ok(true)
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

#[cfg(test)]
mod tests {
    use super::super::tridiagonal_tests::random;
    use super::*;

    const A: [f64; 4] = [1.0, 0.5, 0.5, 1.0];

    fn answer(values: [f64; 2]) -> impl Fn(&mut [f64], Option<MatMut<'_, f64>>) -> Result<bool> {
        move |w, _| {
            w.copy_from_slice(&values);
            Ok(true)
        }
    }

    #[test]
    fn wrong_answers_are_computed_again() {
        let a = MatRef::from_column_major_slice(&A, 2, 2);
        let wrong = answer([0.5, 1.5 + 1e-12]);
        let same_sum = answer([0.4, 1.6]);
        let nan = answer([f64::NAN, 1.5]);
        let gives_up = |_: &mut [f64], _: Option<MatMut<'_, f64>>| Ok(false);
        let right = answer([0.5, 1.5]);
        let never = |_: &mut [f64], _: Option<MatMut<'_, f64>>| unreachable!();
        let mut w = [0.0; 2];
        let all: [&Attempt<'_, f64>; 6] = [&wrong, &same_sum, &nan, &gives_up, &right, &never];
        assert_eq!(first_right(&all, a, &mut w, None), Ok(()));
        assert_eq!(w, [0.5, 1.5]);
        let none = first_right(&all[..4], a, &mut w, None);
        assert_eq!(none, Err(Error::NotConverged { routine: "dsyevr" }));
    }

    #[test]
    fn reductions_do_not_need_the_fallback() {
        for n in [1, 2, 3, 40, 150] {
            let a = random(n * n, 3);
            let a = MatRef::from_column_major_slice(&a, n, n);
            let (mut w, mut z) = (vec![0.0; n], vec![f64::NAN; n * n]);
            let own = |w: &mut [f64], z: Option<MatMut<'_, f64>>| by_reduction(a, w, z, 1);
            assert_eq!(first_right(&[&own], a, &mut w, None), Ok(()), "{n}");
            let z = MatMut::from_column_major_slice_mut(&mut z, n, n);
            assert_eq!(first_right(&[&own], a, &mut w, Some(z)), Ok(()), "{n}");
        }
    }
}
