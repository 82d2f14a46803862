//! `gpu_lu`, `gpu_solve`, `gpu_determinant`.

use extendr_api::prelude::*;

use crate::algo::lu::{self, Rhs};
use crate::algo::{determinant, solve};
use crate::error::Result;
use crate::r::args::{self, Out};
use crate::r::reply::{positions, reply};
use crate::r::target::{on_device, How};
use crate::scalar::Scalar;
use crate::work::Work;

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
        let info = on_device!(&how, Work::lu(dim), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                lu::factor(dev, args::view(&x, dim), args::view_mut(out, dim))
            })
        })?;
        Ok(list!(
            ipiv = positions(&info.ipiv),
            zero = info.zero.map_or(0, |i| i as i32 + 1)
        ))
    })
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
        on_device!(&how, Work::solve(n, nrhs, b.is_some()), |dev, T| {
            let a = T::borrow_host(a)?;
            let b = b.map(T::borrow_host).transpose()?;
            T::fill_host(out.slice(), |out| {
                let b = match &b {
                    Some(b) => Rhs::Given(args::view(b, (n, nrhs))),
                    None => Rhs::Identity,
                };
                let out = args::view_mut(out, (n, nrhs));
                solve::solve(dev, args::view(&a, (n, n)), b, tol, out)
            })
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
            determinant::log_determinant(dev, args::view(&x, (n, n)))
        })?;
        Ok(list!(modulus = modulus, sign = sign))
    })
}

extendr_module! {
    mod lu;
    fn native_lu;
    fn native_solve;
    fn native_lu_solve;
    fn native_lu_rcond;
    fn native_determinant;
}
