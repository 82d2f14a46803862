//! QR of a `gpu_matrix`: a factor in LAPACK's form that stays on the device, and what is done with it.

use extendr_api::prelude::*;

use crate::algo::{qr, qr_apply};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::r::args;
use crate::r::reply::{positions, reply};
use crate::r::resident::{held, make_held, on_held, Held, Holds, Slot};
use crate::r::target::How;
use crate::scalar::{narrow, try_zeroed, widened, Scalar};

/// out = the handle of the factor
#[extendr]
fn native_held_qr(x: Robj, tol: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (how, tol) = (How::parse(&how)?, args::number(&tol)?);
        let slot = Slot::new(&out)?;
        let x = held(&x)?;
        let rows = x.shape().0;
        let (made, parts) = on_held!(&how, x, |dev, T, x| {
            let (f, info) = qr::factor_resident::<T, _>(dev, x, tol)?;
            let turned = qr::turned(rows, &dev.diagonal(&f)?, &info.tau);
            let parts = (widened(&info.tau)?, turned, info.rank, info.jpvt);
            Ok((Holds::<T>::hold(dev, f), parts))
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

/// The factors of the first reflectors that `factor` holds.
fn tau_of<T: Scalar>(tau: &[f64], factor: &Held) -> Result<Vec<T>> {
    let (rows, cols) = factor.shape();
    if tau.len() > rows.min(cols) {
        return Err(Error::Internal {
            what: "there are more reflectors than the matrix has columns".to_owned(),
        });
    }
    let mut of_type = try_zeroed(tau.len())?;
    narrow(tau, &mut of_type);
    Ok(of_type)
}

/// out = the handle of Q y or Q'y, by the first reflectors
#[extendr]
fn native_held_qr_apply(
    factor: Robj,
    tau: Robj,
    transposed: Robj,
    y: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, tau) = (held(&factor)?, args::doubles(&tau)?);
        let trans = args::trans(&transposed)?;
        make_held!(&how, &out, f, held(&y)?, |dev, T, a, y| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::apply_resident(dev, trans, (a, &tau), y)
        })
    })
}

/// out = the handle of the part of y in the space of Q's columns first..first + count, counted from 0; `columns` is c(first, count)
#[extendr]
fn native_held_qr_project(
    factor: Robj,
    tau: Robj,
    columns: Robj,
    y: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, tau) = (held(&factor)?, args::doubles(&tau)?);
        let columns = args::dims(&columns)?;
        make_held!(&how, &out, f, held(&y)?, |dev, T, a, y| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::project_resident(dev, (a, &tau), columns, y)
        })
    })
}

/// out = the handle of Q's first columns
#[extendr]
fn native_held_qr_form(factor: Robj, tau: Robj, columns: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (f, tau, columns) = (held(&factor)?, args::doubles(&tau)?, args::size(&columns)?);
        make_held!(&how, &out, f, |dev, T, a| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::form_resident(dev, (a, &tau), columns)
        })
    })
}

/// out = the handle of R's first rows
#[extendr]
fn native_held_qr_triangle(factor: Robj, rows: Robj, turned: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (f, rows) = (held(&factor)?, args::size(&rows)?);
        let turned: Vec<usize> = args::integers(&turned)?
            .iter()
            .filter_map(|&j| usize::try_from(j).ok()?.checked_sub(1))
            .filter(|j| *j < rows)
            .collect();
        make_held!(&how, &out, f, |dev, T, a| {
            qr_apply::triangle_resident::<T, _>(dev, a, rows, &turned)
        })
    })
}

/// out = the handle of the coefficients for the right-hand sides y, `missing` where a column has none
#[extendr]
fn native_held_qr_coef(
    factor: Robj,
    tau: Robj,
    pivot: Robj,
    missing: Robj,
    y: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (f, tau) = (held(&factor)?, args::doubles(&tau)?);
        let jpvt = args::permutation(&pivot, f.shape().1)?;
        let missing = args::number(&missing)?;
        make_held!(&how, &out, f, held(&y)?, |dev, T, a, y| {
            let tau = tau_of::<T>(tau, f)?;
            qr_apply::coefficients_resident(dev, (a, &tau), &jpvt, missing, y)
        })
    })
}

extendr_module! {
    mod qr_resident;
    fn native_held_qr;
    fn native_held_qr_apply;
    fn native_held_qr_project;
    fn native_held_qr_form;
    fn native_held_qr_triangle;
    fn native_held_qr_coef;
}
