//! QR of a `gpu_matrix`: a factor in LAPACK's form that stays on the device, and what is done with
//! it.

use crate::device::blas::Blas;
use extendr_api::prelude::*;

use crate::algo::dense::{qr, qr_apply};
use crate::base::error::{Error, Result};
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::cost::flops::{form_flops, reflect_flops};
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::handle::{resident, EmptyHandle};
use crate::r::on_resident::{make_resident, on_resident, watch};
use crate::r::reply::{positions, reply};
use crate::r::resident::{ResidentMatrix, ToResident};
use crate::r::target::How;

/// out = the handle of the factor
#[extendr]
fn native_resident_qr(x: Robj, tol: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (how, tol) = (How::parse(&how)?, args::number(&tol)?);
        let slot = EmptyHandle::new(&out)?;
        let x = resident(&x)?;
        let rows = x.shape().0;
        let _shown = watch(&how, x, Work::qr(x.shape()));
        let (made, parts) = on_resident!(&how, x, |dev, T, x| {
            let (f, info) = qr::factor_resident::<T, _>(dev, x, tol)?;
            let turned = qr::turned(rows, &dev.diagonal(&f)?, &info.tau);
            let parts = (widened(&info.tau)?, turned, info.rank, info.jpvt);
            Ok((ToResident::<T>::to_resident(dev, f), parts))
        })?;
        slot.fill(made);
        let (tau, turned, rank, jpvt) = parts;
        Ok(list!(
            tau = tau,
            turned = positions(&turned),
            rank = rank as i32,
            pivot = positions(&jpvt)
        ))
    })
}

/// out = LINPACK's form of the factor, as R's `qr` object holds it
#[extendr]
fn native_resident_qr_object(factor: Robj, tau: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (f, tau) = (resident(&factor)?, args::doubles(&tau)?);
        let dim = f.shape();
        let mut out = Out::new(&out, dim)?;
        let qraux = on_resident!(&how, f, |dev, T, a| {
            let tau = tau_of::<T>(tau, f)?;
            T::fill_host(out.slice(), |out| {
                qr::linpack_of_resident(dev, a, &tau, args::view_mut(out, dim))
            })
        })?;
        Ok(list!(qraux = qraux))
    })
}

/// The factors of the first reflectors that `factor` holds.
fn tau_of<T: Scalar>(tau: &[f64], factor: &ResidentMatrix) -> Result<Vec<T>> {
    let (rows, cols) = factor.shape();
    if tau.len() > rows.min(cols) {
        return Err(Error::Internal {
            what: "there are more reflectors than the matrix has columns".to_owned(),
        });
    }
    let mut of_type = try_zeroed(tau.len())?;
    narrow(tau, &mut of_type)?;
    Ok(of_type)
}

/// out = the handle of Q y or Q'y, by the first reflectors
#[extendr]
fn native_resident_qr_apply(
    factor: Robj,
    tau: Robj,
    transposed: Robj,
    y: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, tau) = (resident(&factor)?, args::doubles(&tau)?);
        let trans = args::trans(&transposed)?;
        let y = resident(&y)?;
        let work = reflect_flops((f.shape().0, tau.len()), y.shape().1);
        make_resident!(&how, work, &out, f, y, |dev, T, a, y| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::apply_resident(dev, trans, (a, &tau), y)
        })
    })
}

/// out = the handle of the part of y in the space of Q's columns first..first + count, counted from
/// 0; `columns` is c(first, count)
#[extendr]
fn native_resident_qr_project(
    factor: Robj,
    tau: Robj,
    columns: Robj,
    y: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, tau) = (resident(&factor)?, args::doubles(&tau)?);
        let columns = args::dims(&columns)?;
        let y = resident(&y)?;
        let work = 2.0 * reflect_flops((f.shape().0, tau.len()), y.shape().1);
        make_resident!(&how, work, &out, f, y, |dev, T, a, y| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::project_resident(dev, (a, &tau), columns, y)
        })
    })
}

/// out = the handle of Q's first columns
#[extendr]
fn native_resident_qr_form(factor: Robj, tau: Robj, columns: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (f, tau, columns) = (
            resident(&factor)?,
            args::doubles(&tau)?,
            args::size(&columns)?,
        );
        let work = form_flops((f.shape().0, tau.len()), columns);
        make_resident!(&how, work, &out, f, |dev, T, a| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::form_resident(dev, (a, &tau), columns)
        })
    })
}

/// out = the handle of R's first rows
#[extendr]
fn native_resident_qr_triangle(
    factor: Robj,
    rows: Robj,
    turned: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, rows) = (resident(&factor)?, args::size(&rows)?);
        let turned: Vec<usize> = args::integers(&turned)?
            .iter()
            .filter_map(|&j| usize::try_from(j).ok()?.checked_sub(1))
            .filter(|j| *j < rows)
            .collect();
        // A copy, but for a few signs.
        make_resident!(&how, 0.0, &out, f, |dev, T, a| {
            qr_apply::triangle_resident::<T, _>(dev, a, rows, &turned)
        })
    })
}

/// out = the handle of the coefficients for the right-hand sides y, `missing` where a column has
/// none
#[extendr]
fn native_resident_qr_coef(
    factor: Robj,
    tau: Robj,
    pivot: Robj,
    missing: Robj,
    y: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, tau) = (resident(&factor)?, args::doubles(&tau)?);
        let jpvt = args::permutation(&pivot, f.shape().1)?;
        let missing = args::number(&missing)?;
        let (y, k) = (resident(&y)?, tau.len());
        let columns = y.shape().1;
        let work = reflect_flops((f.shape().0, k), columns) + (k * k) as f64 * columns as f64;
        make_resident!(&how, work, &out, f, y, |dev, T, a, y| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::coefficients_resident(dev, (a, &tau), &jpvt, missing, y)
        })
    })
}

extendr_module! {
    mod qr_resident;
    fn native_resident_qr;
    fn native_resident_qr_object;
    fn native_resident_qr_apply;
    fn native_resident_qr_project;
    fn native_resident_qr_form;
    fn native_resident_qr_triangle;
    fn native_resident_qr_coef;
}
