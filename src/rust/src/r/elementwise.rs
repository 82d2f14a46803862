//! Arithmetic, reductions and parts of `gpu_matrix`. Operands are handles, or double vectors that repeat.

use extendr_api::prelude::*;

use crate::backend::cpu::{CpuDevice, CpuMat};
#[cfg(feature = "cuda")]
use crate::backend::cuda::{CudaDevice, Matrix};
use crate::device::Device;
use crate::elementwise::{Elementwise, Fold, Index, Lines, Map, Operand, Zip};
use crate::error::{Error, Result};
use crate::matrix::Part;
use crate::r::args;
use crate::r::reply::reply;
use crate::r::resident::{apart, held, on_held, Held, Holds, Slot};
use crate::r::target::How;
use crate::scalar::{try_zeroed, widen, Scalar};

/// What finds a matrix of its own again.
trait Finds<T: Scalar>: Elementwise<T> + Holds<T> {
    /// Nothing where the matrix is on another device, or of another precision.
    fn find<'h>(&self, held: &'h Held) -> Option<&'h Self::Mat<'static>>;
}

impl Finds<f64> for CpuDevice {
    fn find<'h>(&self, held: &'h Held) -> Option<&'h CpuMat<'static, f64>> {
        match held {
            Held::Cpu64(a) => Some(a),
            _ => None,
        }
    }
}

impl Finds<f32> for CpuDevice {
    fn find<'h>(&self, held: &'h Held) -> Option<&'h CpuMat<'static, f32>> {
        match held {
            Held::Cpu32(a) => Some(a),
            _ => None,
        }
    }
}

#[cfg(feature = "cuda")]
impl Finds<f64> for CudaDevice {
    fn find<'h>(&self, held: &'h Held) -> Option<&'h Matrix<'static, f64>> {
        match held {
            Held::Cuda64(dev, a) if dev.ordinal() == self.ordinal() => Some(a),
            _ => None,
        }
    }
}

#[cfg(feature = "cuda")]
impl Finds<f32> for CudaDevice {
    fn find<'h>(&self, held: &'h Held) -> Option<&'h Matrix<'static, f32>> {
        match held {
            Held::Cuda32(dev, a) if dev.ordinal() == self.ordinal() => Some(a),
            _ => None,
        }
    }
}

fn unknown(what: &str) -> Error {
    Error::Internal {
        what: format!("a native routine was called with an unknown {what}"),
    }
}

fn text(x: &Robj) -> Result<&str> {
    x.as_str().ok_or_else(|| unknown("name"))
}

/// An argument that a matrix stands beside.
enum Value<'v> {
    Held(&'v Held),
    Number(f64),
    Values(&'v [f64]),
}

impl<'v> Value<'v> {
    fn new(x: &'v Robj) -> Result<Self> {
        if x.rtype() != Rtype::Doubles {
            return Ok(Value::Held(held(x)?));
        }
        Ok(match args::doubles(x)? {
            [x] => Value::Number(*x),
            values => Value::Values(values),
        })
    }

    fn held(&self) -> Option<&'v Held> {
        match self {
            Value::Held(a) => Some(a),
            _ => None,
        }
    }
}

/// The same where it can be computed with.
enum There<'v, M> {
    Matrix(&'v M),
    Number(f64),
    Loaded(M),
}

fn bring<'v, T: Scalar, D: Finds<T>>(dev: &D, x: &Value<'v>) -> Result<There<'v, D::Mat<'static>>> {
    Ok(match x {
        Value::Held(a) => There::Matrix(dev.find(a).ok_or_else(apart)?),
        Value::Number(x) => There::Number(*x),
        Value::Values(values) => {
            let values = T::borrow_host(values)?;
            let column = args::view(&values, (values.len(), 1));
            There::Loaded(dev.load_temporary(column, Part::All)?)
        }
    })
}

impl<M> There<'_, M> {
    /// A matrix of the result's shape is taken as it is; all others repeat.
    fn operand(&self, fits: impl Fn(&M) -> bool) -> Operand<'_, M> {
        match self {
            There::Matrix(a) if fits(a) => Operand::Matrix(a),
            There::Matrix(a) => Operand::Recycled(a),
            There::Number(x) => Operand::Number(*x),
            There::Loaded(a) => Operand::Recycled(a),
        }
    }
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
            let (m, n) = Device::<T>::shape(dev, a);
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
            Device::<T>::column_norms(dev, a)
        })?;
        Ok(list!(values = values))
    })
}

/// out = the handle of the transpose
#[extendr]
fn native_held_transpose(x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = Slot::new(&out)?;
        let out = on_held!(&how, held(&x)?, |dev, T, a| {
            let (m, n) = Device::<T>::shape(dev, a);
            let mut out = Elementwise::<T>::blank(dev, n, m)?;
            dev.transpose(a, &mut out)?;
            Ok::<_, Error>(Holds::<T>::hold(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

/// The diagonal
#[extendr]
fn native_held_diagonal(x: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let values = on_held!(&how, held(&x)?, |dev, T, a| {
            let values = Device::<T>::diagonal(dev, a)?;
            let mut wide = try_zeroed::<f64>(values.len())?;
            widen(&values, &mut wide);
            Ok::<_, Error>(wide)
        })?;
        Ok(list!(values = values))
    })
}

/// out = the handle of x with another diagonal
#[extendr]
fn native_held_set_diagonal(x: Robj, values: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = Slot::new(&out)?;
        let values = args::doubles(&values)?;
        let out = on_held!(&how, held(&x)?, |dev, T, a| {
            let mut out = Device::<T>::duplicate(dev, a, Part::All)?;
            dev.set_diagonal(&T::borrow_host(values)?, &mut out)?;
            Ok::<_, Error>(Holds::<T>::hold(dev, out))
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

    fn count(&self, extent: usize) -> usize {
        self.0.as_ref().map_or(extent, Vec::len)
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
fn native_held_gather(
    x: Robj,
    rows: Robj,
    cols: Robj,
    missing: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = Slot::new(&out)?;
        let (rows, cols) = (Places::new(&rows)?, Places::new(&cols)?);
        let missing = args::number(&missing)?;
        let out = on_held!(&how, held(&x)?, |dev, T, a| {
            let (m, n) = Device::<T>::shape(dev, a);
            let mut out = Elementwise::<T>::blank(dev, rows.count(m), cols.count(n))?;
            dev.gather(
                rows.index(),
                cols.index(),
                T::from_f64(missing),
                a,
                &mut out,
            )?;
            Ok::<_, Error>(Holds::<T>::hold(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

fn scatter_there<T: Scalar, D: Finds<T>>(
    dev: &D,
    (rows, cols): (Index, Index),
    shape: (usize, usize),
    value: &Value,
    out: &mut D::Mat<'static>,
) -> Result<()> {
    let value = bring::<T, D>(dev, value)?;
    let fits = |a: &D::Mat<'static>| dev.shape(a) == shape;
    dev.scatter(rows, cols, shape, value.operand(fits), out)
}

/// out = the handle of x with other values in the rows and columns named, each at most once
#[extendr]
fn native_held_scatter(x: Robj, rows: Robj, cols: Robj, value: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = Slot::new(&out)?;
        let (rows, cols) = (Places::new(&rows)?, Places::new(&cols)?);
        let value = Value::new(&value)?;
        let out = on_held!(&how, held(&x)?, |dev, T, a| {
            let (m, n) = Device::<T>::shape(dev, a);
            let shape = (rows.count(m), cols.count(n));
            let mut out = Device::<T>::duplicate(dev, a, Part::All)?;
            let index = (rows.index(), cols.index());
            scatter_there::<T, _>(dev, index, shape, &value, &mut out)?;
            Ok::<_, Error>(Holds::<T>::hold(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

/// out = the handle of a matrix of extents `dim` that is made of parts: values[k] fills `extents[, k]` rows and columns after
/// `starts[, k]`. One of the values at least is a handle
#[extendr]
fn native_held_bind(
    values: Robj,
    starts: Robj,
    extents: Robj,
    dim: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let slot = Slot::new(&out)?;
        let (m, n) = args::dims(&dim)?;
        let pairs = |x: &Robj| -> Result<Vec<(usize, usize)>> {
            let v = args::doubles(x)?.chunks_exact(2);
            Ok(v.map(|p| (p[0] as usize, p[1] as usize)).collect())
        };
        let (starts, extents) = (pairs(&starts)?, pairs(&extents)?);
        let list = values.as_list().ok_or_else(|| unknown("list of parts"))?;
        let values: Vec<Robj> = list.values().collect();
        let parts = values.iter().map(Value::new).collect::<Result<Vec<_>>>()?;
        let first = parts
            .iter()
            .find_map(Value::held)
            .ok_or_else(|| unknown("list of parts"))?;
        let out = on_held!(&how, first, |dev, T, _a| {
            let mut out = Elementwise::<T>::blank(dev, m, n)?;
            for (part, (at, shape)) in parts.iter().zip(starts.iter().zip(&extents)) {
                let index = (Index::From(at.0), Index::From(at.1));
                scatter_there::<T, _>(dev, index, *shape, part, &mut out)?;
            }
            Ok::<_, Error>(Holds::<T>::hold(dev, out))
        })?;
        slot.fill(out);
        Ok(())
    })
}

/// Bytes that this process has sent to GPUs, and fetched from them
#[extendr]
fn native_transfer_bytes() -> Robj {
    reply(|| {
        #[cfg(feature = "cuda")]
        let (up, down) = crate::backend::cuda::bytes_moved();
        #[cfg(not(feature = "cuda"))]
        let (up, down) = (0u64, 0u64);
        Ok(list!(up = up as f64, down = down as f64))
    })
}

extendr_module! {
    mod elementwise;
    fn native_held_map;
    fn native_held_zip;
    fn native_held_fold;
    fn native_held_column_norms;
    fn native_held_transpose;
    fn native_held_diagonal;
    fn native_held_set_diagonal;
    fn native_held_gather;
    fn native_held_scatter;
    fn native_held_bind;
    fn native_transfer_bytes;
}
