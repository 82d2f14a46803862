//! Arguments from R, as the R functions promise to pass them. A broken promise is
//! [`Error::Internal`], not a panic.

use std::ffi::c_void;
use std::marker::PhantomData;

use extendr_api::prelude::*;
use faer::{MatMut, MatRef};

use crate::error::{Error, Result};

extern "C" {
    /// R's: the values of a vector for reading. Unlike `REAL`, which extendr calls, it makes no copy of a vector that
    /// shares its memory with another, as one does whose attributes were changed.
    fn DATAPTR_RO(x: *mut c_void) -> *const c_void;
}

fn broken(what: &str) -> Error {
    Error::Internal {
        what: format!("a native routine was called without {what}"),
    }
}

/// A double vector, whatever its attributes.
pub fn doubles(x: &Robj) -> Result<&[f64]> {
    if x.rtype() != Rtype::Doubles {
        return Err(broken("a double vector"));
    }
    if x.len() == 0 {
        return Ok(&[]);
    }
    // SAFETY: R's memory of so many doubles, which the caller of the native routine keeps alive and unchanged.
    Ok(unsafe { std::slice::from_raw_parts(DATAPTR_RO(x.get().cast()).cast(), x.len()) })
}

/// An integer vector.
pub fn integers(x: &Robj) -> Result<&[i32]> {
    if x.rtype() == Rtype::Integers && x.len() == 0 {
        return Ok(&[]);
    }
    x.as_integer_slice()
        .ok_or_else(|| broken("an integer vector"))
}

pub fn flag(x: &Robj) -> Result<bool> {
    x.as_bool().ok_or_else(|| broken("TRUE or FALSE"))
}

pub fn number(x: &Robj) -> Result<f64> {
    match doubles(x)? {
        [v] => Ok(*v),
        _ => Err(broken("a number")),
    }
}

fn extent(v: f64) -> Result<usize> {
    if v >= 0.0 && v <= i64::MAX as f64 {
        Ok(v as usize)
    } else {
        Err(broken("an extent"))
    }
}

pub fn size(x: &Robj) -> Result<usize> {
    match x.as_integer() {
        Some(v) => extent(f64::from(v)),
        None => extent(number(x)?),
    }
}

pub fn dims(x: &Robj) -> Result<(usize, usize)> {
    if let Some([m, n]) = x.as_integer_slice() {
        return Ok((extent(f64::from(*m))?, extent(f64::from(*n))?));
    }
    match doubles(x)? {
        [m, n] => Ok((extent(*m)?, extent(*n)?)),
        _ => Err(broken("two extents")),
    }
}

/// Whether `len` values fill an `m` by `n` matrix.
fn fills(len: usize, (m, n): (usize, usize)) -> bool {
    m.checked_mul(n) == Some(len)
}

/// A double vector that holds a matrix of these extents, by columns.
pub fn matrix(x: &Robj, dims: (usize, usize)) -> Result<&[f64]> {
    let v = doubles(x)?;
    if fills(v.len(), dims) {
        Ok(v)
    } else {
        Err(broken("a matrix of the stated extents"))
    }
}

/// Memory of a fresh R matrix, to be filled.
///
/// The R function allocated it for this call and nobody else refers to it, which is what makes
/// writing to it sound.
pub struct Out<'a> {
    data: *mut f64,
    len: usize,
    owner: PhantomData<&'a Robj>,
}

impl<'a> Out<'a> {
    pub fn new(x: &'a Robj, dims: (usize, usize)) -> Result<Self> {
        let mut x = x.clone();
        match x.as_real_slice_mut() {
            Some(v) if fills(v.len(), dims) => Ok(Out {
                data: v.as_mut_ptr(),
                len: v.len(),
                owner: PhantomData,
            }),
            _ => Err(broken("a result of the stated extents")),
        }
    }

    pub fn slice(&mut self) -> &mut [f64] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: R's memory of `len` doubles, kept alive by `owner`, reached through this value alone.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}

pub fn view<T>(x: &[T], (m, n): (usize, usize)) -> MatRef<'_, T> {
    MatRef::from_column_major_slice(x, m, n)
}

pub fn view_mut<T>(x: &mut [T], (m, n): (usize, usize)) -> MatMut<'_, T> {
    MatMut::from_column_major_slice_mut(x, m, n)
}

/// 1-based transpositions from R as 0-based ones, checked so that they can index `n` rows.
pub fn transpositions(x: &Robj, n: usize) -> Result<Vec<usize>> {
    let v = integers(x)?;
    let all: Option<Vec<usize>> = v
        .iter()
        .map(|&p| {
            usize::try_from(p)
                .ok()
                .and_then(|p| p.checked_sub(1))
                .filter(|p| *p < n)
        })
        .collect();
    match all {
        Some(p) if p.len() == n => Ok(p),
        _ => Err(broken("row exchanges of the factor's order")),
    }
}
