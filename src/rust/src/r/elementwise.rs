//! Arithmetic and reductions of `gpu_matrix`.

use crate::device::blas::Blas;
use crate::device::memory::Memory;
use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::functions::{Fold, Lines, Map, Zip};
use crate::r::args;
use crate::r::operand::{bring, unknown, Finds, There, Value};
use crate::r::reply::reply;
use crate::r::resident::{held, on_held, Held, Holds, Slot};
use crate::r::target::How;

fn text(x: &Robj) -> Result<&str> {
    x.as_str().ok_or_else(|| unknown("name"))
}

fn zip_there<T: Scalar, D: Finds<T>>(dev: &D, f: Zip, x: &Value, y: &Value) -> Result<Held> {
    let (x, y) = (bring::<T, D>(dev, x)?, bring::<T, D>(dev, y)?);
    let ((There::Matrix(a), _) | (_, There::Matrix(a))) = (&x, &y) else {
        return Err(unknown("operand"));
    };
    let shape = dev.shape(a);
    let mut out = dev.blank(shape.0, shape.1)?;
    let fits = |a: &D::Mat<'static>| dev.shape(a) == shape;
    dev.zip(f, x.operand(fits), y.operand(fits), &mut out)?;
    Ok(dev.hold(out))
}

/// out = the handle of f(x); whether a number became NaN
#[extendr]
fn native_held_map(f: Robj, x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let f = Map::named(text(&f)?).ok_or_else(|| unknown("function"))?;
        let slot = Slot::new(&out)?;
        let (out, nan) = on_held!(&how, held(&x)?, |dev, T, a| {
            let (m, n) = Memory::<T>::shape(dev, a);
            let mut out = Elementwise::<T>::blank(dev, m, n)?;
            let nan = dev.map(f, a, &mut out)?;
            Ok::<_, Error>((Holds::<T>::hold(dev, out), nan))
        })?;
        slot.fill(out);
        Ok(list!(nan = nan))
    })
}

/// out = the handle of f(x, y), of which at least one is a handle
#[extendr]
fn native_held_zip(f: Robj, x: Robj, y: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let f = Zip::named(text(&f)?).ok_or_else(|| unknown("function"))?;
        let slot = Slot::new(&out)?;
        let (x, y) = (Value::new(&x)?, Value::new(&y)?);
        let first = x
            .held()
            .or(y.held())
            .ok_or_else(|| unknown("pair of operands"))?;
        let out = on_held!(&how, first, |dev, T, _a| zip_there::<T, _>(dev, f, &x, &y))?;
        slot.fill(out);
        Ok(())
    })
}

/// The reductions of all entries, of rows or of columns
#[extendr]
fn native_held_fold(f: Robj, lines: Robj, skip: Robj, x: Robj, how: Robj) -> Robj {
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
        let values = on_held!(&how, held(&x)?, |dev, T, a| {
            Elementwise::<T>::fold(dev, f, lines, skip, a)
        })?;
        Ok(list!(values = values))
    })
}

/// The Euclidean norms of the columns
#[extendr]
fn native_held_column_norms(x: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let values = on_held!(&how, held(&x)?, |dev, T, a| {
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
    fn native_held_map;
    fn native_held_zip;
    fn native_held_fold;
    fn native_held_column_norms;
    fn native_transfer_bytes;
}
