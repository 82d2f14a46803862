//! `gpu_backsolve`, `gpu_forwardsolve`.

use extendr_api::prelude::*;

use crate::algo::dense::triangular;
use crate::base::error::{Error, Result};
use crate::base::matrix::Uplo;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::handle::resident;
use crate::r::on_resident::make_resident;
use crate::r::reply::reply;
use crate::r::target::{on_device, How};

fn uplo(upper: &Robj) -> Result<Uplo> {
    Ok(if args::flag(upper)? {
        Uplo::Upper
    } else {
        Uplo::Lower
    })
}

fn check_order(k: usize, r: (usize, usize), x: (usize, usize)) -> Result<()> {
    if k > r.0.min(r.1) || k > x.0 {
        return Err(Error::Dimension {
            what: "invalid 'k' argument".to_owned(),
        });
    }
    Ok(())
}

/// out = `op(r[1:k, 1:k])^-1 x[1:k, ]`
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_backsolve(
    r: Robj,
    rdim: Robj,
    k: Robj,
    x: Robj,
    xdim: Robj,
    upper: Robj,
    trans: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (rdim, xdim, k) = (args::dims(&rdim)?, args::dims(&xdim)?, args::size(&k)?);
        let (uplo, trans) = (uplo(&upper)?, args::trans(&trans)?);
        check_order(k, rdim, xdim)?;
        let (r, x) = (args::matrix(&r, rdim)?, args::matrix(&x, xdim)?);
        let odim = (k, xdim.1);
        let mut out = Out::new(&out, odim)?;
        on_device!(&how, Work::triangular(k, xdim.1, 1.0), |dev, T| {
            let (r, x) = (T::borrow_host(r)?, T::borrow_host(x)?);
            T::fill_host(out.slice(), |out| {
                let (r, x) = (args::view(&r, rdim), args::view(&x, xdim));
                triangular::solve(dev, uplo, trans, r, x, args::view_mut(out, odim))
            })
        })
    })
}

/// out = the handle of `op(r[1:k, 1:k])^-1 x[1:k, ]`
#[extendr]
fn native_resident_backsolve(
    r: Robj,
    k: Robj,
    x: Robj,
    upper: Robj,
    trans: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (uplo, trans, k) = (uplo(&upper)?, args::trans(&trans)?, args::size(&k)?);
        let (r, x) = (resident(&r)?, resident(&x)?);
        check_order(k, r.shape(), x.shape())?;
        let work = Work::triangular(k, x.shape().1, 1.0);
        make_resident!(&how, work, &out, r, x, |dev, T, r, x| {
            triangular::solve_resident::<T, _>(dev, uplo, trans, k, r, x)
        })
    })
}

extendr_module! {
    mod triangular;
    fn native_backsolve;
    fn native_resident_backsolve;
}
