//! Arithmetic and reductions of `gpu_matrix`.

use crate::device::blas::Blas;
use crate::device::memory::Memory;
use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::functions::{Fold, Lines, Map, Zip};
use crate::r::args;
use crate::r::handle::{resident, EmptyHandle};
use crate::r::on_resident::on_resident;
use crate::r::operand::{bring, unknown, DeviceOperand, Value};
use crate::r::reply::reply;
use crate::r::resident::{ResidentMatrix, ToResident};
use crate::r::target::How;

fn text(x: &Robj) -> Result<&str> {
    x.as_str().ok_or_else(|| unknown("name"))
}

fn zip_operands<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    f: Zip,
    x: &Value,
    y: &Value,
) -> Result<ResidentMatrix>
where
    D::Mat<'static>: 'static,
{
    let (x, y) = (bring::<T, D>(dev, x)?, bring::<T, D>(dev, y)?);
    let ((DeviceOperand::Matrix(a), _) | (_, DeviceOperand::Matrix(a))) = (&x, &y) else {
        return Err(unknown("operand"));
    };
    let shape = dev.shape(a);
    let mut out = dev.blank(shape.0, shape.1)?;
    let fits = |a: &D::Mat<'static>| dev.shape(a) == shape;
    dev.zip(f, x.operand(fits), y.operand(fits), &mut out)?;
    Ok(dev.to_resident(out))
}

/// out = the handle of f(x); whether a number became NaN
#[extendr]
fn native_resident_map(f: Robj, x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let f = Map::named(text(&f)?).ok_or_else(|| unknown("function"))?;
        let slot = EmptyHandle::new(&out)?;
        let (out, nan) = on_resident!(&how, resident(&x)?, |dev, T, a| {
            let (m, n) = Memory::<T>::shape(dev, a);
            let mut out = Elementwise::<T>::blank(dev, m, n)?;
            let nan = dev.map(f, a, &mut out)?;
            Ok::<_, Error>((ToResident::<T>::to_resident(dev, out), nan))
        })?;
        slot.fill(out);
        Ok(list!(nan = nan))
    })
}

/// out = the handle of f(x, y), of which at least one is a handle
#[extendr]
fn native_resident_zip(f: Robj, x: Robj, y: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let f = Zip::named(text(&f)?).ok_or_else(|| unknown("function"))?;
        let slot = EmptyHandle::new(&out)?;
        let (x, y) = (Value::new(&x)?, Value::new(&y)?);
        let first = x
            .resident()
            .or(y.resident())
            .ok_or_else(|| unknown("pair of operands"))?;
        let out = on_resident!(&how, first, |dev, T, _a| zip_operands::<T, _>(
            dev, f, &x, &y
        ))?;
        slot.fill(out);
        Ok(())
    })
}

/// The reductions of all entries, of rows or of columns
#[extendr]
fn native_resident_fold(f: Robj, lines: Robj, skip: Robj, x: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let f = Fold::named(text(&f)?).ok_or_else(|| unknown("reduction"))?;
        let lines = match text(&lines)? {
            "all" => Lines::All,
            "rows" => Lines::Rows,
            "columns" => Lines::Columns,
            _ => return Err(unknown("kind of line")),
        };
        let skip = args::flag(&skip)?;
        let values = on_resident!(&how, resident(&x)?, |dev, T, a| {
            Elementwise::<T>::fold(dev, f, lines, skip, a)
        })?;
        Ok(list!(values = values))
    })
}

/// The Euclidean norms of the columns
#[extendr]
fn native_resident_column_norms(x: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let values = on_resident!(&how, resident(&x)?, |dev, T, a| {
            Blas::<T>::column_norms(dev, a)
        })?;
        Ok(list!(values = values))
    })
}

/// Bytes that this process has sent to GPUs, and fetched from them
#[extendr]
fn native_transfer_bytes() -> Robj {
    reply(|| {
        let (up, down) = crate::backend::cuda::bytes_moved();
        Ok(list!(up = up as f64, down = down as f64))
    })
}

extendr_module! {
    mod elementwise;
    fn native_resident_map;
    fn native_resident_zip;
    fn native_resident_fold;
    fn native_resident_column_norms;
    fn native_transfer_bytes;
}
