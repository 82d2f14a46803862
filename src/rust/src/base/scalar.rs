//! [`Scalar`]: the two element types, `f64` and `f32`, and conversions from R's doubles.

use std::alloc::{alloc_zeroed, Layout};
use std::borrow::Cow;
use std::mem::size_of;

use super::accounting;
use crate::base::accounting::Search;
use crate::base::error::{Error, Result};
use crate::base::host_memory::want_huge_pages;
use crate::base::interrupt;
use crate::base::reserve::fallible;
use crate::base::threads::{join, share, wanted};

/// `f64`, or `f32` when the user asks for single precision.
pub trait Scalar:
    faer::traits::RealField
    + pulp::bytemuck::Pod
    + PartialOrd
    + Send
    + Sync
    + Into<f64>
    + std::fmt::Debug
{
    /// Suffix of the names of this type's kernels: `"f64"` or `"f32"`.
    const SUFFIX: &'static str;
    /// The unit roundoff times two: the gap above 1.
    const EPS: f64;

    /// R's NA stays NA: see [`NA_SINGLE`].
    fn from_f64(x: f64) -> Self;
    /// The exact value as `f64`.
    fn to_f64(self) -> f64;
    /// `self * x + y`, rounded once.
    fn fused(self, x: Self, y: Self) -> Self;

    /// R's memory without a copy for `f64`; a rounded copy for `f32`.
    fn borrow_host(x: &[f64]) -> Result<Cow<'_, [Self]>>;

    /// Runs `fill` on memory whose contents end in `out`: `out` itself for `f64`, a buffer that is
    /// widened afterwards for `f32`. On error the contents of `out` are undefined.
    fn fill_host<R>(out: &mut [f64], fill: impl FnOnce(&mut [Self]) -> Result<R>) -> Result<R>;
}

/// A zeroed vector. An error, not an abort, if memory is short even after a garbage collection. The
/// system hands out its pages at the first write; huge ones, if it has them, for large vectors.
pub fn try_zeroed<T: pulp::bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let failed = Error::HostMemory {
        needed: (len as u64).saturating_mul(size_of::<T>() as u64),
    };
    let Ok(layout) = Layout::array::<T>(len) else {
        return Err(failed);
    };
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout has a size, and is the one a vector of `len` entries frees. Zero bits are
    // a value of a type that is `Zeroable`.
    unsafe {
        let mut memory = fallible(|| alloc_zeroed(layout)).cast::<T>();
        if memory.is_null() {
            accounting::relieve(Search::Full);
            memory = fallible(|| alloc_zeroed(layout)).cast::<T>();
        }
        if memory.is_null() {
            return Err(failed);
        }
        want_huge_pages(memory.cast(), layout.size());
        Ok(Vec::from_raw_parts(memory, len, len))
    }
}

/// An empty vector with room for `len` entries, or an error if memory is short.
pub(crate) fn room<V>(len: usize) -> Result<Vec<V>> {
    let mut v = Vec::<V>::new();
    fallible(|| v.try_reserve_exact(len)).map_err(|_| Error::HostMemory {
        needed: (len as u64).saturating_mul(size_of::<V>() as u64),
    })?;
    // SAFETY: the vector has room for these bytes.
    unsafe { want_huge_pages(v.as_mut_ptr().cast(), len * size_of::<V>()) };
    Ok(v)
}

/// Reserves memory for `more` entries of a vector, and for some beyond, so that growing step by
/// step is cheap. An error if memory is short.
pub(crate) fn reserve<V>(v: &mut Vec<V>, more: usize) -> Result<()> {
    let entries = (v.len() as u64).saturating_add(more as u64);
    fallible(|| v.try_reserve(more)).map_err(|_| Error::HostMemory {
        needed: entries.saturating_mul(size_of::<V>() as u64),
    })
}

/// `len` copies of a value, or an error if memory is short.
pub(crate) fn filled<V: Clone>(len: usize, value: V) -> Result<Vec<V>> {
    let mut v = room(len)?;
    v.resize(len, value);
    Ok(v)
}

/// Converts every entry of `from` to one of `to`, of the same length, on several threads if there
/// are many. Can be interrupted.
fn convert<A: Copy + Sync, B: Send>(
    from: &[A],
    to: &mut [B],
    change: impl Fn(A) -> B + Copy + Sync,
) -> Result<()> {
    fn part<A: Copy + Sync, B: Send>(
        from: &[A],
        to: &mut [B],
        change: impl Fn(A) -> B + Copy + Sync,
        threads: usize,
    ) {
        if threads < 2 {
            for (to, from) in to.iter_mut().zip(from) {
                *to = change(*from);
            }
            return;
        }
        let half = from.len().min(to.len()) / 2;
        let (from1, from2) = from.split_at(half);
        let (to1, to2) = to.split_at_mut(half);
        join(
            threads,
            |t| part(from1, to1, change, t),
            |t| part(from2, to2, change, t),
        );
    }
    for (from, to) in from.chunks(AT_ONCE).zip(to.chunks_mut(AT_ONCE)) {
        interrupt::poll()?;
        let threads = share(wanted(), COPY * to.len() as f64);
        part(from, to, change, threads);
    }
    Ok(())
}

/// Entries between two checks for interrupts.
const AT_ONCE: usize = 1 << 25;

/// A converted entry costs about as much as this many multiplications, mostly for the first write
/// of fresh memory.
const COPY: f64 = 8.0;

/// Converts R's doubles to `T`, entry by entry.
pub fn narrow<T: Scalar>(from: &[f64], to: &mut [T]) -> Result<()> {
    convert(from, to, T::from_f64)
}

/// Converts to R's doubles, entry by entry.
pub fn widen<T: Scalar>(from: &[T], to: &mut [f64]) -> Result<()> {
    convert(from, to, T::to_f64)
}

/// Converts to doubles in a new vector.
pub fn widened<T: Scalar>(from: &[T]) -> Result<Vec<f64>> {
    let mut to = try_zeroed(from.len())?;
    widen(from, &mut to)?;
    Ok(to)
}

/// R distinguishes NA from other NaN by the low 32 bits, 1954, which rounding to single precision
/// drops. In single precision the low bits of the fraction hold that number.
const NA_PAYLOAD: u32 = 1954;
const NA_SINGLE: f32 = f32::from_bits(0x7fc0_0000 | NA_PAYLOAD);
const NA_DOUBLE: f64 = f64::from_bits(0x7ff0_0000_0000_0000 | NA_PAYLOAD as u64);
/// The fraction of an `f32` without the bit that an operation on a NaN sets.
const FRACTION: u32 = 0x003f_ffff;

impl Scalar for f64 {
    const SUFFIX: &'static str = "f64";
    const EPS: f64 = f64::EPSILON;

    fn from_f64(x: f64) -> Self {
        x
    }

    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn fused(self, x: Self, y: Self) -> Self {
        self.mul_add(x, y)
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

    // Selections instead of branches, so that compilers make vector instructions of them.
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        let is_na = x.is_nan() & (x.to_bits() as u32 == NA_PAYLOAD);
        if is_na {
            NA_SINGLE
        } else {
            x as f32
        }
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        let is_na = self.is_nan() & (self.to_bits() & FRACTION == NA_PAYLOAD);
        if is_na {
            NA_DOUBLE
        } else {
            f64::from(self)
        }
    }

    #[inline(always)]
    fn fused(self, x: Self, y: Self) -> Self {
        self.mul_add(x, y)
    }

    fn borrow_host(x: &[f64]) -> Result<Cow<'_, [Self]>> {
        let mut v = try_zeroed::<f32>(x.len())?;
        narrow(x, &mut v)?;
        Ok(Cow::Owned(v))
    }

    fn fill_host<R>(out: &mut [f64], fill: impl FnOnce(&mut [Self]) -> Result<R>) -> Result<R> {
        let mut v = try_zeroed::<f32>(out.len())?;
        let r = fill(&mut v)?;
        widen(&v, out)?;
        Ok(r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_nobody_has_is_an_error() {
        assert_eq!(try_zeroed::<f64>(5), Ok(vec![0.0; 5]));
        assert_eq!(try_zeroed::<f32>(0), Ok(vec![]));
        for len in [usize::MAX, usize::MAX / 16] {
            let zeroed = try_zeroed::<f64>(len);
            assert!(matches!(zeroed, Err(Error::HostMemory { .. })));
        }
    }

    #[test]
    fn na_stays_na_and_nan_stays_nan() {
        let low = |x: f64| x.to_bits() as u32;
        // NA from R, after an operation, and with a sign.
        for high in [0x7ff0_0000_u64, 0x7ff8_0000, 0xfff8_0000] {
            let na = f64::from_bits(high << 32 | 1954);
            let back = f32::from_f64(na).to_f64();
            assert!(back.is_nan() && low(back) == 1954);
            let after = (f32::from_f64(na) + 1.0).to_f64();
            assert!(after.is_nan() && low(after) == 1954);
        }
        let near = f64::from_bits(1954);
        for x in [f64::NAN, -f64::NAN, near, f64::INFINITY, 1954.0] {
            let back = f32::from_f64(x).to_f64();
            assert_eq!(back.is_nan(), x.is_nan());
            assert!(low(back) != 1954);
        }
        assert_eq!(
            f32::from_bits(1954).to_f64(),
            f64::from(f32::from_bits(1954))
        );
    }

    #[test]
    fn long_vectors_change_precision_whole() {
        for len in [0, 1, 7, 1_300_001] {
            let from: Vec<f64> = (0..len).map(|i| i as f64 + 0.25).collect();
            let mut single = try_zeroed::<f32>(len).unwrap();
            narrow(&from, &mut single).unwrap();
            assert!(single.iter().zip(&from).all(|(s, d)| *s == *d as f32));
            let back = widened(&single).unwrap();
            assert!(back.iter().zip(&single).all(|(d, s)| *d == f64::from(*s)));
        }
    }
}
