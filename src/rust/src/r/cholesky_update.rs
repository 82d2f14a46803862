//! `chol_update`, `chol_downdate`, `chol_drop`, `chol_insert`.

use extendr_api::prelude::*;

use crate::algo::update;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Change, Uplo};
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::handle::{changing, resident, EmptyHandle};
use crate::r::on_resident::{on_pair, on_pair_mut, on_resident, watch};
use crate::r::reply::reply;
use crate::r::resident::ToResident;
use crate::r::target::{on_device, How};

pub fn change(down: &Robj) -> Result<Change> {
    Ok(if args::flag(down)? {
        Change::Down
    } else {
        Change::Up
    })
}

fn uplo(lower: &Robj) -> Result<Uplo> {
    Ok(if args::flag(lower)? {
        Uplo::Lower
    } else {
        Uplo::Upper
    })
}

/// out = the factor of r'r + v v' (down: r'r - v v'); how much of the smallest eigenvalue is left
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_chol_update(
    r: Robj,
    n: Robj,
    v: Robj,
    k: Robj,
    down: Robj,
    lower: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, k) = (args::size(&n)?, args::size(&k)?);
        let (change, uplo) = (change(&down)?, uplo(&lower)?);
        let (r, v) = (args::matrix(&r, (n, n))?, args::matrix(&v, (n, k))?);
        let mut out = Out::new(&out, (n, n))?;
        let work = Work::cholesky_update(n, k, change);
        let margin = on_device!(&how, work, |dev, T| {
            let (r, v) = (T::borrow_host(r)?, T::borrow_host(v)?);
            T::fill_host(out.slice(), |out| {
                let (r, v) = (args::view(&r, (n, n)), args::view(&v, (n, k)));
                let out = args::view_mut(out, (n, n));
                let memory = how.gpu_memory;
                update::host::update(dev, (uplo, change), memory, r, v, out)
            })
        })?;
        Ok(list!(margin = margin))
    })
}

/// out = the handle of the same, or NULL, and then `r` is changed
#[extendr]
fn native_resident_chol_update(
    r: Robj,
    v: Robj,
    down: Robj,
    lower: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (change, uplo) = (change(&down)?, uplo(&lower)?);
        let (factor, update) = (resident(&r)?, resident(&v)?);
        let (n, k) = update.shape();
        let _shown = watch(&how, factor, Work::cholesky_update(n, k, change));
        if out.is_null() {
            if std::ptr::eq(factor, update) {
                return Err(Error::Internal {
                    what: "a native routine was called to change a matrix by itself".to_owned(),
                });
            }
            let margin = changing(&r, |r| {
                on_pair_mut!(&how, r, update, |dev, T, r, v| {
                    update::factor::update_in_place::<T, _>(dev, uplo, change, r, v)
                })
            })?;
            return Ok(list!(margin = margin));
        }
        let slot = EmptyHandle::new(&out)?;
        let (made, margin) = on_pair!(&how, factor, update, |dev, T, r, v| {
            let made = match uplo {
                Uplo::Upper => update::factor::update_resident::<T, _>(dev, change, r, v),
                Uplo::Lower => update::factor::update_lower_resident::<T, _>(dev, change, r, v),
            };
            made.map(|(made, margin)| (ToResident::<T>::to_resident(dev, made), margin))
        })?;
        slot.fill(made);
        Ok(list!(margin = margin))
    })
}

/// Rows that R counts from 1, in order.
fn rows(x: &Robj) -> Result<Vec<usize>> {
    let row = |i: &i32| usize::try_from(*i).ok().and_then(|i| i.checked_sub(1));
    let rows: Option<Vec<usize>> = args::integers(x)?.iter().map(row).collect();
    rows.ok_or_else(|| Error::Internal {
        what: "a native routine was called without rows".to_owned(),
    })
}

fn smaller(n: usize, dropped: &[usize]) -> Result<usize> {
    n.checked_sub(dropped.len()).ok_or_else(|| Error::Internal {
        what: "a native routine was called with more rows than there are".to_owned(),
    })
}

/// out = the factor without these rows and columns
#[extendr]
fn native_chol_drop(r: Robj, n: Robj, dropped: Robj, lower: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, uplo, dropped) = (args::size(&n)?, uplo(&lower)?, rows(&dropped)?);
        let size = smaller(n, &dropped)?;
        let r = args::matrix(&r, (n, n))?;
        let mut out = Out::new(&out, (size, size))?;
        let work = Work::cholesky_update(size, dropped.len(), Change::Up);
        on_device!(&how, work, |dev, T| {
            let r = T::borrow_host(r)?;
            T::fill_host(out.slice(), |out| {
                let (r, out) = (args::view(&r, (n, n)), args::view_mut(out, (size, size)));
                update::rows::without(dev, uplo, r, &dropped, out)
            })
        })
    })
}

/// out = the handle of the same
#[extendr]
fn native_resident_chol_drop(r: Robj, dropped: Robj, lower: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (uplo, dropped) = (uplo(&lower)?, rows(&dropped)?);
        let slot = EmptyHandle::new(&out)?;
        let r = resident(&r)?;
        let size = smaller(r.shape().0, &dropped)?;
        let work = Work::cholesky_update(size, dropped.len(), Change::Up);
        let _shown = watch(&how, r, work);
        let made = on_resident!(&how, r, |dev, T, r| {
            update::rows::without_resident::<T, _>(dev, uplo, r, &dropped)
                .map(|made| ToResident::<T>::to_resident(dev, made))
        })?;
        slot.fill(made);
        Ok(())
    })
}

/// out = the factor with m new rows and columns after the first `at`; how much of the smallest
/// eigenvalue is left
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_chol_insert(
    r: Robj,
    n: Robj,
    at: Robj,
    x: Robj,
    m: Robj,
    lower: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, m) = (args::size(&n)?, args::size(&m)?);
        let (at, uplo) = (args::size(&at)?, uplo(&lower)?);
        let size = n + m;
        let (r, x) = (args::matrix(&r, (n, n))?, args::matrix(&x, (size, m))?);
        let mut out = Out::new(&out, (size, size))?;
        let work = Work::cholesky_update(size, m, Change::Down);
        let margin = on_device!(&how, work, |dev, T| {
            let (r, x) = (T::borrow_host(r)?, T::borrow_host(x)?);
            T::fill_host(out.slice(), |out| {
                let (r, x) = (args::view(&r, (n, n)), args::view(&x, (size, m)));
                update::rows::with(dev, uplo, r, at, x, args::view_mut(out, (size, size)))
            })
        })?;
        Ok(list!(margin = margin))
    })
}

/// out = the handle of the same
#[extendr]
fn native_resident_chol_insert(
    r: Robj,
    at: Robj,
    x: Robj,
    lower: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (at, uplo) = (args::size(&at)?, uplo(&lower)?);
        let slot = EmptyHandle::new(&out)?;
        let (r, x) = (resident(&r)?, resident(&x)?);
        let (size, m) = x.shape();
        let _shown = watch(&how, r, Work::cholesky_update(size, m, Change::Down));
        let (made, margin) = on_pair!(&how, r, x, |dev, T, r, x| {
            update::rows::with_resident::<T, _>(dev, uplo, r, at, x)
                .map(|(made, margin)| (ToResident::<T>::to_resident(dev, made), margin))
        })?;
        slot.fill(made);
        Ok(list!(margin = margin))
    })
}

extendr_module! {
    mod cholesky_update;
    fn native_chol_update;
    fn native_resident_chol_update;
    fn native_chol_drop;
    fn native_resident_chol_drop;
    fn native_chol_insert;
    fn native_resident_chol_insert;
}
