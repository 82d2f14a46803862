//! Parts of `gpu_matrix`: transposed, taken, replaced, put together.

use crate::device::blas::Blas;
use crate::device::memory::Memory;
use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::{widened, Scalar};
use crate::device::elementwise::{Elementwise, Index};
use crate::r::args;
use crate::r::handle::{resident, EmptyHandle};
use crate::r::on_resident::on_resident;
use crate::r::operand::{bring, unknown, Value};
use crate::r::reply::reply;
use crate::r::resident::ToResident;
use crate::r::target::How;

/// out = the handle of the transpose
#[extendr]
fn native_resident_transpose(x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = EmptyHandle::new(&out)?;
        let out = on_resident!(&how, resident(&x)?, |dev, T, a| {
            let (m, n) = Memory::<T>::shape(dev, a);
            let mut out = Elementwise::<T>::blank(dev, n, m)?;
            dev.transpose(a, &mut out)?;
            Ok::<_, Error>(ToResident::<T>::to_resident(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

/// The diagonal
#[extendr]
fn native_resident_diagonal(x: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let values = on_resident!(&how, resident(&x)?, |dev, T, a| {
            widened(&Blas::<T>::diagonal(dev, a)?)
        })?;
        Ok(list!(values = values))
    })
}

/// out = the handle of x with another diagonal
#[extendr]
fn native_resident_set_diagonal(x: Robj, values: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = EmptyHandle::new(&out)?;
        let values = args::doubles(&values)?;
        let out = on_resident!(&how, resident(&x)?, |dev, T, a| {
            let mut out = Memory::<T>::duplicate(dev, a, Part::All)?;
            dev.set_diagonal(&T::borrow_host(values)?, &mut out)?;
            Ok::<_, Error>(ToResident::<T>::to_resident(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

/// R's places, counted from 1, as places from 0; NA and 0 are none. `NULL` is all of them.
struct Places(Option<Vec<i32>>);

impl Places {
    fn new(x: &Robj) -> Result<Self> {
        if x.is_null() {
            return Ok(Places(None));
        }
        let places = args::integers(x)?.iter().map(|&i| i.max(0) - 1);
        Ok(Places(Some(places.collect())))
    }

    fn count(&self, length: usize) -> usize {
        self.0.as_ref().map_or(length, Vec::len)
    }

    fn index(&self) -> Index<'_> {
        let Some(all) = &self.0 else {
            return Index::From(0);
        };
        let first = all.first().copied().unwrap_or(0);
        let adjacent = |(k, &i): (usize, &i32)| i as i64 == i64::from(first) + k as i64;
        match usize::try_from(first) {
            Ok(first) if all.iter().enumerate().all(adjacent) => Index::From(first),
            _ => Index::List(all),
        }
    }
}

/// out = the handle of the rows and columns named, NA where there is none
#[extendr]
fn native_resident_gather(
    x: Robj,
    rows: Robj,
    cols: Robj,
    missing: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = EmptyHandle::new(&out)?;
        let (rows, cols) = (Places::new(&rows)?, Places::new(&cols)?);
        let missing = args::number(&missing)?;
        let out = on_resident!(&how, resident(&x)?, |dev, T, a| {
            let (m, n) = Memory::<T>::shape(dev, a);
            let mut out = Elementwise::<T>::blank(dev, rows.count(m), cols.count(n))?;
            dev.gather(
                rows.index(),
                cols.index(),
                T::from_f64(missing),
                a,
                &mut out,
            )?;
            Ok::<_, Error>(ToResident::<T>::to_resident(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

fn scatter_operand<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    (rows, cols): (Index, Index),
    shape: (usize, usize),
    value: &Value,
    out: &mut D::Mat<'static>,
) -> Result<()>
where
    D::Mat<'static>: 'static,
{
    let value = bring::<T, D>(dev, value)?;
    let fits = |a: &D::Mat<'static>| dev.shape(a) == shape;
    dev.scatter(rows, cols, shape, value.operand(fits), out)
}

/// out = the handle of x with other values in the rows and columns named, each at most once
#[extendr]
fn native_resident_scatter(
    x: Robj,
    rows: Robj,
    cols: Robj,
    value: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = EmptyHandle::new(&out)?;
        let (rows, cols) = (Places::new(&rows)?, Places::new(&cols)?);
        let value = Value::new(&value)?;
        let out = on_resident!(&how, resident(&x)?, |dev, T, a| {
            let (m, n) = Memory::<T>::shape(dev, a);
            let shape = (rows.count(m), cols.count(n));
            let mut out = Memory::<T>::duplicate(dev, a, Part::All)?;
            let index = (rows.index(), cols.index());
            scatter_operand::<T, _>(dev, index, shape, &value, &mut out)?;
            Ok::<_, Error>(ToResident::<T>::to_resident(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

/// out = the handle of a matrix of dimensions `dim` made of parts: `values[k]` fills
/// `shapes[, k]` rows and columns after `starts[, k]`. One of the values at least is a handle
#[extendr]
fn native_resident_bind(
    values: Robj,
    starts: Robj,
    shapes: Robj,
    dim: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = EmptyHandle::new(&out)?;
        let (m, n) = args::dims(&dim)?;
        let list = values.as_list().ok_or_else(|| unknown("list of parts"))?;
        let values: Vec<Robj> = list.values().collect();
        let parts = values.iter().map(Value::new).collect::<Result<Vec<_>>>()?;
        let (starts, shapes) = (args::pairs(&starts)?, args::pairs(&shapes)?);
        if starts.len() != parts.len() || shapes.len() != parts.len() {
            return Err(unknown("number of parts"));
        }
        let first = parts
            .iter()
            .find_map(Value::resident)
            .ok_or_else(|| unknown("list of parts"))?;
        let out = on_resident!(&how, first, |dev, T, _a| {
            let mut out = Elementwise::<T>::blank(dev, m, n)?;
            for (part, (at, shape)) in parts.iter().zip(starts.iter().zip(&shapes)) {
                let index = (Index::From(at.0), Index::From(at.1));
                scatter_operand::<T, _>(dev, index, *shape, part, &mut out)?;
            }
            Ok::<_, Error>(ToResident::<T>::to_resident(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

extendr_module! {
    mod movement;
    fn native_resident_transpose;
    fn native_resident_diagonal;
    fn native_resident_set_diagonal;
    fn native_resident_gather;
    fn native_resident_scatter;
    fn native_resident_bind;
}
