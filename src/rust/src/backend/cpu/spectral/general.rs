//! Eigenvalues and right eigenvectors of a matrix that is not symmetric.

use faer::dyn_stack::MemStack;
use faer::linalg::evd::{evd_real, evd_scratch, ComputeEigenvectors, EvdParams};
use faer::{Auto, MatMut, MatRef, Spec};

use super::{hqr, narrow_to, narrow_values, parallelism, probe, widened, workspace};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::{try_zeroed, widened as wide_values, Scalar};

/// As [`GeneralEigen::geev`](crate::device::spectral::GeneralEigen::geev).
pub(crate) fn geev<T: Scalar>(
    a: MatRef<'_, T>,
    re: &mut [T],
    im: &mut [T],
    mut v: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<()> {
    let n = re.len();
    interrupt::poll()?;
    let done = by_faer(a, re, im, v.as_mut().map(|v| v.as_mut()), threads)?;
    if let Some(v) = &mut v {
        normalize(re, im, v.as_mut());
    }
    if !(done && is_right(a, re, im, v.as_ref().map(|v| v.as_ref()))?) {
        let found = hqr::eigen(&mut widened(a)?, n, v.is_some())?;
        narrow_values(&found.re, re);
        narrow_values(&found.im, im);
        if let Some(v) = &mut v {
            narrow_to(&found.vectors, v.as_mut());
            normalize(re, im, v.as_mut());
        }
        if !is_right(a, re, im, v.as_ref().map(|v| v.as_ref()))? {
            return Err(Error::NotConverged { routine: "dgeev" });
        }
    }
    Ok(())
}

/// False if faer gives up. It does not report that its iteration has not converged.
fn by_faer<T: Scalar>(
    a: MatRef<'_, T>,
    re: &mut [T],
    im: &mut [T],
    v: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<bool> {
    let n = re.len();
    let vectors = match v {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let params = Spec::new(<EvdParams as Auto<T>>::auto());
    let par = parallelism(n, threads);
    let needed = evd_scratch::<T>(n, ComputeEigenvectors::No, vectors, par, params);
    let mut memory = workspace(needed)?;
    let stack = MemStack::new(&mut memory);
    let (re, im) = (
        faer::diag::DiagMut::from_slice_mut(re),
        faer::diag::DiagMut::from_slice_mut(im),
    );
    Ok(evd_real(a, re, im, None, v, par, stack, params).is_ok())
}

/// Gives each vector norm 1; a pair of columns is one complex vector.
fn normalize<T: Scalar>(re: &[T], im: &[T], mut v: MatMut<'_, T>) {
    let (n, zero) = (re.len(), T::from_f64(0.0));
    let mut j = 0;
    while j < n {
        let width = if im[j] > zero && j + 1 < n { 2 } else { 1 };
        let mut columns = v.as_mut().subcols_mut(j, width);
        let entries = |c: MatRef<'_, T>, f: &mut dyn FnMut(f64)| {
            (0..width).for_each(|k| (0..n).for_each(|i| f(c[(i, k)].to_f64())));
        };
        let (mut largest, mut sum) = (0.0_f64, 0.0);
        entries(columns.as_ref(), &mut |x| largest = largest.max(x.abs()));
        if largest > 0.0 && largest.is_finite() {
            entries(columns.as_ref(), &mut |x| sum += (x / largest).powi(2));
            let root = sum.sqrt();
            for k in 0..width {
                for i in 0..n {
                    let x = columns[(i, k)].to_f64() / largest / root;
                    columns[(i, k)] = T::from_f64(x);
                }
            }
        }
        j += width;
    }
}

/// Whether `A V = V D` with vectors of norm 1; in any case whether the sums of eigenvalues and of
/// their squares are those of `A`, and whether pairs are pairs.
fn is_right<T: Scalar>(
    a: MatRef<'_, T>,
    re: &[T],
    im: &[T],
    v: Option<MatRef<'_, T>>,
) -> Result<bool> {
    let (n, norm) = (re.len(), probe::frobenius(a));
    let root = (n as f64).sqrt();
    let crossed: f64 = (0..n)
        .map(|j| {
            (0..n)
                .map(|i| a[(i, j)].to_f64() * a[(j, i)].to_f64())
                .sum::<f64>()
        })
        .sum();
    let squares = probe::squares(re) - probe::squares(im);
    let sums = probe::is_near::<T>(probe::sum(re), probe::trace(a), norm * root, n)
        && probe::is_near::<T>(squares, crossed, norm * norm, n);
    if !(sums && are_pairs(re, im)) {
        return Ok(false);
    }
    let Some(v) = v else {
        return Ok(true);
    };
    let zero = T::from_f64(0.0);
    let unit = |j: usize| {
        let square = |j: usize| (0..n).map(|i| v[(i, j)].to_f64().powi(2)).sum::<f64>();
        match im[j] {
            y if y == zero => square(j),
            y if y > zero => square(j) + square(j + 1),
            _ => 1.0,
        }
    };
    if !(0..n).all(|j| (unit(j) - 1.0).abs() <= probe::tolerance::<T>(n)) {
        return Ok(false);
    }
    // A (x + iy) = (a + ib)(x + iy): A x = a x - b y and A y = b x + a y.
    let w = wide_values(&probe::signs::<T>(n)?)?;
    let mut turned = try_zeroed::<T>(n)?;
    let mut j = 0;
    while j < n {
        let (a, b) = (re[j].to_f64(), im[j].to_f64());
        if b > 0.0 {
            turned[j] = T::from_f64(a * w[j] + b * w[j + 1]);
            turned[j + 1] = T::from_f64(a * w[j + 1] - b * w[j]);
            j += 1;
        } else {
            turned[j] = T::from_f64(a * w[j]);
        }
        j += 1;
    }
    let left = probe::times(a, &probe::times(v, &probe::signs::<T>(n)?)?)?;
    let right = probe::times(v, &turned)?;
    Ok(probe::distance(&left, &right) <= probe::tolerance::<T>(n) * norm)
}

/// Whether each eigenvalue with a positive imaginary part is followed by its conjugate.
fn are_pairs<T: Scalar>(re: &[T], im: &[T]) -> bool {
    let zero = T::from_f64(0.0);
    let mut j = 0;
    while j < re.len() {
        if im[j] > zero {
            let follows = j + 1 < re.len() && re[j + 1] == re[j] && im[j + 1] == -im[j];
            if !follows {
                return false;
            }
            j += 1;
        } else if im[j] != zero {
            return false;
        }
        j += 1;
    }
    true
}
