//! The two element types, and how R's doubles become them.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::held::{self, Search};

/// `f64`, or `f32` when the user asks for single precision.
pub trait Scalar:
    faer::traits::RealField + Copy + PartialOrd + Send + Sync + Into<f64> + std::fmt::Debug + 'static
{
    /// Ends the names of this type's kernels: `"f64"` or `"f32"`.
    const SUFFIX: &'static str;
    /// The unit roundoff times two: the gap above 1.
    const EPS: f64;

    fn from_f64(x: f64) -> Self;

    /// R's memory as it is for `f64`; a rounded copy for `f32`.
    fn borrow_host(x: &[f64]) -> Result<Cow<'_, [Self]>>;

    /// Runs `fill` on memory whose contents end in `out`: `out` itself for `f64`,
    /// a buffer that is widened afterwards for `f32`. On error `out` holds nothing of use.
    fn fill_host<R>(out: &mut [f64], fill: impl FnOnce(&mut [Self]) -> Result<R>) -> Result<R>;
}

/// A zeroed vector, or an error instead of an abort when memory is short and garbage was not what filled it.
pub fn try_zeroed<T: Scalar>(len: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    if v.try_reserve_exact(len).is_err() {
        held::relieve(Search::Full);
        v.try_reserve_exact(len).map_err(|_| Error::HostMemory {
            needed: (len as u64).saturating_mul(std::mem::size_of::<T>() as u64),
        })?;
    }
    v.resize(len, T::from_f64(0.0));
    Ok(v)
}

/// R's doubles in the other precision, entry by entry.
pub fn narrow<T: Scalar>(from: &[f64], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::from_f64(*from);
    }
}

/// The way back.
pub fn widen<T: Scalar>(from: &[T], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = (*from).into();
    }
}

impl Scalar for f64 {
    const SUFFIX: &'static str = "f64";
    const EPS: f64 = f64::EPSILON;

    fn from_f64(x: f64) -> Self {
        x
    }

    fn borrow_host(x: &[f64]) -> Result<Cow<'_, [Self]>> {
        Ok(Cow::Borrowed(x))
    }

    fn fill_host<R>(out: &mut [f64], fill: impl FnOnce(&mut [Self]) -> Result<R>) -> Result<R> {
        fill(out)
    }
}

impl Scalar for f32 {
    const SUFFIX: &'static str = "f32";
    const EPS: f64 = f32::EPSILON as f64;

    fn from_f64(x: f64) -> Self {
        x as f32
    }

    fn borrow_host(x: &[f64]) -> Result<Cow<'_, [Self]>> {
        let mut v = try_zeroed::<f32>(x.len())?;
        narrow(x, &mut v);
        Ok(Cow::Owned(v))
    }

    fn fill_host<R>(out: &mut [f64], fill: impl FnOnce(&mut [Self]) -> Result<R>) -> Result<R> {
        let mut v = try_zeroed::<f32>(out.len())?;
        let r = fill(&mut v)?;
        widen(&v, out);
        Ok(r)
    }
}
