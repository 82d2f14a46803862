//! `gpu_lu`, `gpu_solve`, `gpu_determinant`.

use crate::device::blas::Blas;
use extendr_api::prelude::*;

use crate::algo::dense::lu::{self, Rhs};
use crate::algo::dense::solve;
use crate::algo::tiled::solve_definite;
use crate::base::error::Result;
use crate::base::scalar::{widened, Scalar};
use crate::cost::work::Work;
use crate::device::lapack::LuInfo;
use crate::r::args::{self, Out};
use crate::r::handle::{resident, EmptyHandle};
use crate::r::on_resident::{make_resident, on_resident, watch};
use crate::r::reply::{positions, reply};
use crate::r::resident::ToResident;
use crate::r::target::{on_device, How};

/// A right-hand side of `n` rows: `NULL` stands for the identity.
fn rhs(b: &Robj, n: usize, nrhs: usize) -> Result<Option<&[f64]>> {
    if b.is_null() {
        Ok(None)
    } else {
        args::matrix(b, (n, nrhs)).map(Some)
    }
}

/// out = L and U in one matrix
#[extendr]
fn native_lu(x: Robj, xdim: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&xdim)?;
        let x = args::matrix(&x, dim)?;
        let mut out = Out::new(&out, dim)?;
        let (info, norm1) = factor(&how, x, dim, out.slice())?;
        Ok(list!(
            ipiv = positions(&info.ipiv),
            perm = positions(&lu::permutation(&info.ipiv, dim.0)),
            norm1 = norm1,
            zero = first_zero(&info)
        ))
    })
}

/// `out` = L and U in one matrix; also the 1-norm of `x`.
pub fn factor(how: &How, x: &[f64], dim: (usize, usize), out: &mut [f64]) -> Result<(LuInfo, f64)> {
    on_device!(how, Work::lu(dim), |dev, T| {
        let x = T::borrow_host(x)?;
        T::fill_host(out, |out| {
            lu::factor_and_norm(dev, args::view(&x, dim), args::view_mut(out, dim))
        })
    })
}

/// The number of the first column with a zero pivot, counted from 1; 0 if there is none.
pub fn first_zero(info: &LuInfo) -> i32 {
    info.zero.map_or(0, |i| i as i32 + 1)
}

/// out = a^-1 b, refused when a is singular to the tolerance
#[extendr]
fn native_solve(a: Robj, n: Robj, b: Robj, nrhs: Robj, out: Robj, tol: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, nrhs, tol) = (args::size(&n)?, args::size(&nrhs)?, args::number(&tol)?);
        let a = args::matrix(&a, (n, n))?;
        let b = rhs(&b, n, nrhs)?;
        let mut out = Out::new(&out, (n, nrhs))?;
        solve_system(&how, a, b, (n, nrhs), tol, out.slice())
    })
}

/// `out = a^-1 b` with `n` rows and `nrhs` columns, or `a^-1`.
pub fn solve_system(
    how: &How,
    a: &[f64],
    b: Option<&[f64]>,
    (n, nrhs): (usize, usize),
    tol: f64,
    out: &mut [f64],
) -> Result<()> {
    let means = how.means();
    on_device!(how, Work::solve(n, nrhs, b.is_some()), |dev, T| {
        let a = T::borrow_host(a)?;
        let b = b.map(T::borrow_host).transpose()?;
        T::fill_host(out, |out| {
            let b = match &b {
                Some(b) => Rhs::Given(args::view(b, (n, nrhs))),
                None => Rhs::Identity,
            };
            let out = args::view_mut(out, (n, nrhs));
            solve_definite::solve(dev, &means, args::view(&a, (n, n)), b, tol, out)
        })
    })
}

/// out = A^-1 b from the factors of A
#[extendr]
fn native_lu_solve(
    lu_factor: Robj,
    n: Robj,
    ipiv: Robj,
    b: Robj,
    nrhs: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, nrhs) = (args::size(&n)?, args::size(&nrhs)?);
        let f = args::matrix(&lu_factor, (n, n))?;
        let ipiv = args::transpositions(&ipiv, n)?;
        let b = rhs(&b, n, nrhs)?;
        let mut out = Out::new(&out, (n, nrhs))?;
        on_device!(&how, Work::triangular(n, nrhs, 2.0), |dev, T| {
            let f = T::borrow_host(f)?;
            let b = b.map(T::borrow_host).transpose()?;
            T::fill_host(out.slice(), |out| {
                let b = match &b {
                    Some(b) => Rhs::Given(args::view(b, (n, nrhs))),
                    None => Rhs::Identity,
                };
                let out = args::view_mut(out, (n, nrhs));
                lu::solve(dev, args::view(&f, (n, n)), &ipiv, b, out)
            })
        })
    })
}

/// The reciprocal condition number from the factors of A and A's 1-norm
#[extendr]
fn native_lu_rcond(lu_factor: Robj, n: Robj, anorm: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, anorm) = (args::size(&n)?, args::number(&anorm)?);
        let f = args::matrix(&lu_factor, (n, n))?;
        let rcond = on_device!(&how, Work::triangular(n, 1, 10.0), |dev, T| {
            let f = T::borrow_host(f)?;
            lu::rcond_of_host(dev, args::view(&f, (n, n)), anorm)
        })?;
        Ok(list!(rcond = rcond))
    })
}

/// log|det(x)| and the sign of det(x)
#[extendr]
fn native_determinant(x: Robj, n: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let n = args::size(&n)?;
        let x = args::matrix(&x, (n, n))?;
        let (modulus, sign) = on_device!(&how, Work::determinant(n), |dev, T| {
            let x = T::borrow_host(x)?;
            lu::log_determinant(dev, args::view(&x, (n, n)))
        })?;
        Ok(list!(modulus = modulus, sign = sign))
    })
}

/// out = the handle of L and U in one matrix
#[extendr]
fn native_resident_lu(x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = EmptyHandle::new(&out)?;
        let x = resident(&x)?;
        let _shown = watch(&how, x, Work::lu(x.shape()));
        let (made, info, diagonal, norm1) = on_resident!(&how, x, |dev, T, x| {
            let (f, info) = lu::factor_resident::<T, _>(dev, x)?;
            let diagonal = widened(&dev.diagonal(&f)?)?;
            let norm1 = Blas::<T>::norm1(dev, x)?;
            Ok((ToResident::<T>::to_resident(dev, f), info, diagonal, norm1))
        })?;
        let rows = made.shape().0;
        slot.fill(made);
        Ok(list!(
            ipiv = positions(&info.ipiv),
            perm = positions(&lu::permutation(&info.ipiv, rows)),
            zero = info.zero.map_or(0, |i| i as i32 + 1),
            diagonal = diagonal,
            norm1 = norm1
        ))
    })
}

/// out = the handle of a^-1 b, refused when a is singular to the tolerance; b may be NULL
#[extendr]
fn native_resident_solve(a: Robj, b: Robj, tol: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (a, tol) = (resident(&a)?, args::number(&tol)?);
        let n = a.shape().0;
        if b.is_null() {
            return make_resident!(&how, Work::solve(n, n, false), &out, a, |dev, T, a| {
                solve::solve_resident::<T, _>(dev, a, None, tol)
            });
        }
        let b = resident(&b)?;
        let work = Work::solve(n, b.shape().1, true);
        make_resident!(&how, work, &out, a, b, |dev, T, a, b| {
            solve::solve_resident::<T, _>(dev, a, Some(b), tol)
        })
    })
}

/// out = the handle of A^-1 b from the factors of A; b may be NULL
#[extendr]
fn native_resident_lu_solve(lu_factor: Robj, ipiv: Robj, b: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let f = resident(&lu_factor)?;
        let n = f.shape().1;
        let ipiv = args::transpositions(&ipiv, n)?;
        if b.is_null() {
            let work = Work::triangular(n, n, 2.0);
            return make_resident!(&how, work, &out, f, |dev, T, f| {
                lu::solve_resident::<T, _>(dev, f, &ipiv, None)
            });
        }
        let b = resident(&b)?;
        let work = Work::triangular(n, b.shape().1, 2.0);
        make_resident!(&how, work, &out, f, b, |dev, T, f, b| {
            lu::solve_resident::<T, _>(dev, f, &ipiv, Some(b))
        })
    })
}

/// The reciprocal condition number from the factors of A and A's 1-norm
#[extendr]
fn native_resident_lu_rcond(lu_factor: Robj, anorm: Robj, how: Robj) -> Robj {
    reply(|| {
        let (how, anorm) = (How::parse(&how)?, args::number(&anorm)?);
        let f = resident(&lu_factor)?;
        let rcond = on_resident!(&how, f, |dev, T, a| {
            lu::rcond::<T, _>(dev, a, f.shape().1, anorm)
        })?;
        Ok(list!(rcond = rcond))
    })
}

extendr_module! {
    mod lu;
    fn native_resident_lu;
    fn native_resident_solve;
    fn native_resident_lu_solve;
    fn native_resident_lu_rcond;
    fn native_lu;
    fn native_solve;
    fn native_lu_solve;
    fn native_lu_rcond;
    fn native_determinant;
}
