//! `gpu_qr`.

use extendr_api::prelude::*;

use crate::algo::qr::{self, QrObject};
use crate::r::args::{self, Out};
use crate::r::reply::{positions, reply};
use crate::r::target::{on_device, How};
use crate::scalar::Scalar;

/// Operations of an m by n QR factorization.
pub fn qr_flops((m, n): (usize, usize)) -> f64 {
    let (m, n, k) = (m as f64, n as f64, m.min(n) as f64);
    2.0 * k * (m * n - (m + n) * k / 2.0 + k * k / 3.0)
}

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
        on_device!(&how, qr_flops(dim), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                qr::linpack(dev, args::view(&x, dim), tol, args::view_mut(out, dim))
            })
        })
        .map(answer)
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
        on_device!(&how, qr_flops(dim), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                qr::lapack(dev, args::view(&x, dim), args::view_mut(out, dim))
            })
        })
        .map(answer)
    })
}

extendr_module! {
    mod qr;
    fn native_qr;
    fn native_qr_lapack;
}
