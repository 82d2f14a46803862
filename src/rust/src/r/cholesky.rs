//! `gpu_chol`, `gpu_chol2inv`.

use extendr_api::prelude::*;

use crate::algo::cholesky;
use crate::r::args::{self, Out};
use crate::r::reply::{positions, reply};
use crate::r::target::{on_device, How};
use crate::scalar::Scalar;

/// out = R with R'R = x, zero below the diagonal
#[extendr]
fn native_chol(x: Robj, n: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let n = args::size(&n)?;
        let x = args::matrix(&x, (n, n))?;
        let mut out = Out::new(&out, (n, n))?;
        on_device!(&how, (n as f64).powi(3) / 3.0, |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                cholesky::factor(dev, args::view(&x, (n, n)), args::view_mut(out, (n, n)))
            })
        })
    })
}

/// out = R with R'R = x[pivot, pivot]
#[extendr]
fn native_chol_pivot(x: Robj, n: Robj, tol: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, tol) = (args::size(&n)?, args::number(&tol)?);
        let x = args::matrix(&x, (n, n))?;
        let mut out = Out::new(&out, (n, n))?;
        let info = on_device!(&how, (n as f64).powi(3) / 3.0, |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                let (x, out) = (args::view(&x, (n, n)), args::view_mut(out, (n, n)));
                cholesky::factor_pivoted(dev, x, tol, out)
            })
        })?;
        Ok(list!(
            pivot = positions(&info.jpvt),
            rank = info.rank as i32
        ))
    })
}

/// out = (R'R)^-1 from the leading `size` rows and columns of x
#[extendr]
fn native_chol2inv(x: Robj, xdim: Robj, size: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (xdim, n) = (args::dims(&xdim)?, args::size(&size)?);
        if n > xdim.0.min(xdim.1) {
            return Err(crate::error::Error::Dimension {
                what: "'size' exceeds the extents of 'x'".to_owned(),
            });
        }
        let x = args::matrix(&x, xdim)?;
        let mut out = Out::new(&out, (n, n))?;
        on_device!(&how, 2.0 * (n as f64).powi(3) / 3.0, |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                cholesky::inverse(dev, args::view(&x, xdim), args::view_mut(out, (n, n)))
            })
        })
    })
}

extendr_module! {
    mod cholesky;
    fn native_chol;
    fn native_chol_pivot;
    fn native_chol2inv;
}
