//! `gpu_matrix` objects: made, read, described and freed.

use extendr_api::prelude::*;

use crate::base::matrix::{Block, Part};
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::device::memory::Memory;
use crate::r::args::{self, Out};
use crate::r::handle::{resident, take, EmptyHandle};
use crate::r::on_resident::on_resident;
use crate::r::reply::{reply, reply_even_if_short};
use crate::r::resident::ToResident;
use crate::r::target::{on_device, How};

/// Brings a matrix of R's doubles to a device; `out` is the handle. "auto" is the first GPU, if
/// there is one
#[extendr]
fn native_resident_new(x: Robj, dim: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&dim)?;
        let x = args::matrix(&x, dim)?;
        let slot = EmptyHandle::new(&out)?;
        let a = on_device!(&how, Work::from(f64::INFINITY).of(dim), |dev, T| {
            let x = T::borrow_host(x)?;
            let a = dev.load_temporary(args::view(&x, dim), Part::All)?;
            Ok(ToResident::<T>::to_resident(dev, a))
        })?;
        let device = a.target().name();
        slot.fill(a);
        Ok(list!(device = device))
    })
}

/// out = the rows and columns from..from + count; `rows` and `cols` are c(from, count), counted
/// from 0
#[extendr]
fn native_resident_read(x: Robj, rows: Robj, cols: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (rows, cols) = (args::dims(&rows)?, args::dims(&cols)?);
        let block = Block {
            row: rows.0,
            col: cols.0,
            rows: rows.1,
            cols: cols.1,
        };
        let dim = (block.rows, block.cols);
        let mut out = Out::new(&out, dim)?;
        on_resident!(&how, resident(&x)?, |dev, T, a| {
            T::fill_host(out.slice(), |out| {
                dev.read_block(a, block, args::view_mut(out, dim))
            })
        })
    })
}

/// The device, dimensions, bytes and precision of a matrix
#[extendr]
fn native_resident_info(x: Robj) -> Robj {
    reply(|| {
        let a = resident(&x)?;
        let (rows, cols) = a.shape();
        Ok(list!(
            device = a.target().name(),
            rows = rows as f64,
            cols = cols as f64,
            bytes = a.bytes() as f64,
            single = a.single()
        ))
    })
}

/// Frees the matrix behind a handle, before R's finalizer would
#[extendr]
fn native_resident_free(x: Robj) -> Robj {
    reply_even_if_short(|| {
        let freed = take(&x).is_some();
        Ok(list!(freed = freed))
    })
}

extendr_module! {
    mod gpu_matrix;
    fn native_resident_free;
    fn native_resident_new;
    fn native_resident_read;
    fn native_resident_info;
}
