//! `gpu_qr`, and what is done with its object.

use extendr_api::prelude::*;

use crate::algo::dense::qr::{self, QrObject};
use crate::algo::dense::qr_apply::{self, ReflectorForm, Reflectors};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::reply::{positions, reply};
use crate::r::target::{on_device, How};

pub fn answer(o: QrObject) -> List {
    list!(
        rank = o.rank as i32,
        qraux = o.qraux,
        pivot = positions(&o.jpvt)
    )
}

/// out = LINPACK's form of the QR factorization
#[extendr]
fn native_qr(x: Robj, xdim: Robj, tol: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, tol) = (args::dims(&xdim)?, args::number(&tol)?);
        let x = args::matrix(&x, dim)?;
        let mut out = Out::new(&out, dim)?;
        factor(&how, x, dim, tol, out.slice()).map(answer)
    })
}

/// `out` = LINPACK's form of the QR factorization.
pub fn factor(
    how: &How,
    x: &[f64],
    dim: (usize, usize),
    tol: f64,
    out: &mut [f64],
) -> Result<QrObject> {
    on_device!(how, Work::qr(dim), |dev, T| {
        let x = T::borrow_host(x)?;
        T::fill_host(out, |out| {
            qr::linpack(dev, args::view(&x, dim), tol, args::view_mut(out, dim))
        })
    })
}

/// out = LAPACK's form of the QR factorization with column pivoting
#[extendr]
fn native_qr_lapack(x: Robj, xdim: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&xdim)?;
        let x = args::matrix(&x, dim)?;
        let mut out = Out::new(&out, dim)?;
        on_device!(&how, Work::qr_pivoted(dim), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                qr::lapack(dev, args::view(&x, dim), args::view_mut(out, dim))
            })
        })
        .map(answer)
    })
}

fn form_of(lapack: &Robj) -> Result<ReflectorForm> {
    Ok(if args::flag(lapack)? {
        ReflectorForm::Lapack
    } else {
        ReflectorForm::Linpack
    })
}

/// out = Q y or Q'y, by the reflectors of a qr object
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_qr_apply(
    qr: Robj,
    dim: Robj,
    qraux: Robj,
    lapack: Robj,
    transposed: Robj,
    y: Robj,
    ydim: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, ydim, form) = (args::dims(&dim)?, args::dims(&ydim)?, form_of(&lapack)?);
        let trans = args::trans(&transposed)?;
        let (qr, qraux) = (args::matrix(&qr, dim)?, args::doubles(&qraux)?);
        let y = args::matrix(&y, ydim)?;
        let mut out = Out::new(&out, ydim)?;
        let work = Work::reflectors((dim.0, qraux.len()), ydim.1, true);
        on_device!(&how, work, |dev, T| {
            let (qr, y) = (T::borrow_host(qr)?, T::borrow_host(y)?);
            let matrix = args::view(&qr, dim);
            let reflectors = Reflectors {
                form,
                matrix,
                qraux,
            };
            T::fill_host(out.slice(), |out| {
                let (y, out) = (args::view(&y, ydim), args::view_mut(out, ydim));
                qr_apply::apply(dev, trans, reflectors, y, out)
            })
        })
    })
}

/// out = the first columns of Q, by the reflectors of a qr object
#[extendr]
fn native_qr_form(
    qr: Robj,
    dim: Robj,
    qraux: Robj,
    lapack: Robj,
    out: Robj,
    odim: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, odim, form) = (args::dims(&dim)?, args::dims(&odim)?, form_of(&lapack)?);
        let (qr, qraux) = (args::matrix(&qr, dim)?, args::doubles(&qraux)?);
        let mut out = Out::new(&out, odim)?;
        let work = Work::reflectors((dim.0, qraux.len()), odim.1, false);
        on_device!(&how, work, |dev, T| {
            let qr = T::borrow_host(qr)?;
            let matrix = args::view(&qr, dim);
            let reflectors = Reflectors {
                form,
                matrix,
                qraux,
            };
            T::fill_host(out.slice(), |out| {
                qr_apply::form(dev, reflectors, args::view_mut(out, odim))
            })
        })
    })
}

extendr_module! {
    mod qr;
    fn native_qr;
    fn native_qr_lapack;
    fn native_qr_apply;
    fn native_qr_form;
}
