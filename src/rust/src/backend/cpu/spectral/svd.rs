//! Singular values and vectors.

use faer::dyn_stack::MemStack;
use faer::linalg::svd::{svd, svd_scratch, ComputeSvdVectors, SvdParams};
use faer::{Auto, MatMut, MatRef, Spec};

use super::{
    basis, bidiagonal, bidiagonal_values, jacobi, narrow_to, narrow_values, parallelism, probe,
    widened, workspace,
};
use crate::backend::cpu::matrix::views::columns_mut;
use crate::backend::cpu::qr::factor::geqrf;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::{try_zeroed, widened as wide_values, Scalar};

/// One way to the values and vectors. False if it gives up.
type Attempt<'a, T> =
    dyn Fn(&mut [T], Option<MatMut<'_, T>>, Option<MatMut<'_, T>>) -> Result<bool> + 'a;

/// As [`SingularValues::gesvd`](crate::device::spectral::SingularValues::gesvd).
pub(crate) fn gesvd<T: Scalar>(
    a: MatRef<'_, T>,
    d: &mut [T],
    u: Option<MatMut<'_, T>>,
    v: Option<MatMut<'_, T>>,
    threads: usize,
) -> Result<()> {
    let params = <SvdParams as Auto<T>>::auto();
    let by_faer = |threshold: usize| {
        move |d: &mut [T], u: Option<MatMut<'_, T>>, v: Option<MatMut<'_, T>>| {
            let params = SvdParams {
                recursion_threshold: threshold,
                ..params
            };
            by_faer(a, d, u, v, threads, params)
        }
    };
    // The last but one never divides.
    first_right(
        &[
            &|d, u, v| Ok(u.is_none() && v.is_none() && by_reduction(a, d, threads)?),
            &by_faer(params.recursion_threshold),
            &by_faer(usize::MAX),
            &|d, u, v| by_jacobi(a, d, u, v),
        ],
        a,
        d,
        u,
        v,
    )
}

/// The first answer that passes the check.
fn first_right<T: Scalar>(
    attempts: &[&Attempt<'_, T>],
    a: MatRef<'_, T>,
    d: &mut [T],
    mut u: Option<MatMut<'_, T>>,
    mut v: Option<MatMut<'_, T>>,
) -> Result<()> {
    for attempt in attempts {
        interrupt::poll()?;
        if attempt(d, reborrow(&mut u), reborrow(&mut v))? && is_right(a, d, view(&u), view(&v))? {
            return Ok(());
        }
    }
    Err(Error::NotConverged { routine: "dgesdd" })
}

/// From this ratio of rows to columns on, a QR decomposition first costs less than reflections of
/// all rows.
const TALL: f64 = 1.6;

/// Values alone, by a bidiagonal matrix. False if its iteration does not converge.
pub(super) fn by_reduction<T: Scalar>(
    a: MatRef<'_, T>,
    d: &mut [T],
    threads: usize,
) -> Result<bool> {
    let a = match a.nrows() < a.ncols() {
        true => a.transpose(),
        false => a,
    };
    let (m, n) = a.shape();
    let (diagonal, off) = if m as f64 >= TALL * n as f64 {
        let r = triangle(a, threads)?;
        bidiagonal::reduce(MatRef::from_column_major_slice(&r, n, n), threads)?
    } else {
        bidiagonal::reduce(a, threads)?
    };
    let (mut wide, mut off) = (wide_values(&diagonal)?, wide_values(&off)?);
    let converged = bidiagonal_values::values(&mut wide, &mut off)?;
    narrow_values(&wide, d);
    Ok(converged)
}

/// The triangular factor of the QR decomposition of a tall matrix, with zeros below.
fn triangle<T: Scalar>(a: MatRef<'_, T>, threads: usize) -> Result<Vec<T>> {
    let (m, n) = a.shape();
    let mut memory = try_zeroed(m * n)?;
    let mut qr = MatMut::from_column_major_slice_mut(&mut memory, m, n);
    qr.copy_from(a);
    // faer's loses digits of small rows where others are 1e14 times larger.
    geqrf(columns_mut(qr.as_mut())?, threads)?;
    let mut r = try_zeroed(n * n)?;
    for (j, column) in r.chunks_exact_mut(n).enumerate() {
        column[..=j].copy_from_slice(&memory[j * m..=j * m + j]);
    }
    Ok(r)
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
) -> Result<bool> {
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
    Ok(true)
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

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 4] = [2.0, 0.0, 0.0, -1.0];

    type Vectors<'a> = Option<MatMut<'a, f64>>;

    fn answer(values: [f64; 2]) -> impl Fn(&mut [f64], Vectors<'_>, Vectors<'_>) -> Result<bool> {
        move |d, _, _| {
            d.copy_from_slice(&values);
            Ok(true)
        }
    }

    #[test]
    fn wrong_answers_are_computed_again() {
        let a = MatRef::from_column_major_slice(&A, 2, 2);
        let wrong = answer([2.0, 1.0 + 1e-12]);
        let negative = answer([2.0, -1.0]);
        let ascending = answer([1.0, 2.0]);
        let nan = answer([2.0, f64::NAN]);
        let gives_up = |_: &mut [f64], _: Vectors<'_>, _: Vectors<'_>| Ok(false);
        let right = answer([2.0, 1.0]);
        let never = |_: &mut [f64], _: Vectors<'_>, _: Vectors<'_>| unreachable!();
        let all: [&Attempt<'_, f64>; 7] = [
            &wrong, &negative, &ascending, &nan, &gives_up, &right, &never,
        ];
        let mut d = [0.0; 2];
        assert_eq!(first_right(&all, a, &mut d, None, None), Ok(()));
        assert_eq!(d, [2.0, 1.0]);
        let none = first_right(&all[..5], a, &mut d, None, None);
        assert_eq!(none, Err(Error::NotConverged { routine: "dgesdd" }));
    }

    #[test]
    fn values_alone_do_not_need_the_fallback() {
        let tall = [1.0, 2.0, 3.0, 4.0, 0.5, 0.25];
        for (m, n) in [(6, 1), (3, 2), (2, 3), (1, 6)] {
            let a = MatRef::from_column_major_slice(&tall, m, n);
            let own = |d: &mut [f64], _: Vectors<'_>, _: Vectors<'_>| by_reduction(a, d, 1);
            let mut d = vec![0.0; m.min(n)];
            assert_eq!(first_right(&[&own], a, &mut d, None, None), Ok(()));
        }
    }
}
