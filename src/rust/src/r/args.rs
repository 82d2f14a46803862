//! Arguments from R, as the R functions promise to pass them. A broken promise is
//! [`Error::Internal`], not a panic.

use std::ffi::c_void;
use std::marker::PhantomData;

use extendr_api::prelude::*;
use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;

extern "C" {
    /// R's: the values of a vector for reading. Unlike `REAL`, which extendr calls, it makes no
    /// copy of a vector that shares its memory with another, as one does whose attributes were
    /// changed.
    fn DATAPTR_RO(x: *mut c_void) -> *const c_void;
    fn REAL(x: *mut c_void) -> *mut f64;
    fn TYPEOF(x: *mut c_void) -> i32;
    fn XLENGTH(x: *mut c_void) -> isize;
    fn VECTOR_ELT(x: *mut c_void, i: isize) -> *mut c_void;
}

/// R's number for a double vector.
const REALSXP: i32 = 14;

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
    // SAFETY: R's memory of so many doubles, which the caller of the native routine keeps alive and
    // unchanged.
    Ok(unsafe { std::slice::from_raw_parts(DATAPTR_RO(x.get().cast()).cast(), x.len()) })
}

/// An integer vector.
pub fn integers(x: &Robj) -> Result<&[i32]> {
    if x.rtype() == Rtype::Integers && x.len() == 0 {
        return Ok(&[]);
    }
    if x.rtype() != Rtype::Integers {
        return Err(broken("an integer vector"));
    }
    // SAFETY: R's memory of so many integers, which the caller of the native routine keeps alive
    // and unchanged.
    Ok(unsafe { std::slice::from_raw_parts(DATAPTR_RO(x.get().cast()).cast(), x.len()) })
}

/// A vector of bytes.
pub fn bytes(x: &Robj) -> Result<&[u8]> {
    x.as_raw_slice().ok_or_else(|| broken("a raw vector"))
}

pub fn flag(x: &Robj) -> Result<bool> {
    x.as_bool().ok_or_else(|| broken("TRUE or FALSE"))
}

/// Whether a matrix is taken as its transpose.
pub fn trans(x: &Robj) -> Result<Trans> {
    Ok(if flag(x)? { Trans::Yes } else { Trans::No })
}

pub fn number(x: &Robj) -> Result<f64> {
    match doubles(x)? {
        [v] => Ok(*v),
        _ => Err(broken("a number")),
    }
}

fn dimension(v: f64) -> Result<usize> {
    if v >= 0.0 && v <= i64::MAX as f64 {
        Ok(v as usize)
    } else {
        Err(broken("a dimension"))
    }
}

pub fn size(x: &Robj) -> Result<usize> {
    match x.as_integer() {
        Some(v) => dimension(f64::from(v)),
        None => dimension(number(x)?),
    }
}

pub fn dims(x: &Robj) -> Result<(usize, usize)> {
    if let Some([m, n]) = x.as_integer_slice() {
        return Ok((dimension(f64::from(*m))?, dimension(f64::from(*n))?));
    }
    match doubles(x)? {
        [m, n] => Ok((dimension(*m)?, dimension(*n)?)),
        _ => Err(broken("two dimensions")),
    }
}

/// A matrix of two rows of dimensions, as doubles: a pair for each column.
pub fn pairs(x: &Robj) -> Result<Vec<(usize, usize)>> {
    let (pairs, rest) = pulp::as_arrays::<2, _>(doubles(x)?);
    if !rest.is_empty() {
        return Err(broken("pairs of dimensions"));
    }
    let pair = |p: &[f64; 2]| Ok((dimension(p[0])?, dimension(p[1])?));
    pairs.iter().map(pair).collect()
}

/// Whether `len` values fill an `m` by `n` matrix.
fn fills(len: usize, (m, n): (usize, usize)) -> bool {
    m.checked_mul(n) == Some(len)
}

/// A double vector that holds a matrix of these dimensions, by columns.
pub fn matrix(x: &Robj, dims: (usize, usize)) -> Result<&[f64]> {
    let v = doubles(x)?;
    if fills(v.len(), dims) {
        Ok(v)
    } else {
        Err(broken("a matrix of the stated dimensions"))
    }
}

/// The elements of a list of double vectors of `len` values each; `None` where `x` is no list.
/// Without an [`Robj`] for each, which costs more than a small matrix.
fn elements(x: &Robj, len: usize) -> Result<Option<Vec<*mut c_void>>> {
    if x.rtype() != Rtype::List {
        return Ok(None);
    }
    let mut all = Vec::with_capacity(x.len());
    for i in 0..x.len() {
        // SAFETY: `x` is a list with more than `i` elements, which it keeps alive.
        let e = unsafe { VECTOR_ELT(x.get().cast(), i as isize) };
        // SAFETY: any value of R has a type, and a double vector has a length.
        let fits = unsafe { TYPEOF(e) == REALSXP && XLENGTH(e) as usize == len };
        if !fits {
            return Err(broken("a list of matrices of the stated dimensions"));
        }
        all.push(e);
    }
    Ok(Some(all))
}

/// A list of double matrices of `n` rows and columns; `None` where `x` is no list.
pub fn matrices(x: &Robj, n: usize) -> Result<Option<Vec<&[f64]>>> {
    let len = n.saturating_mul(n);
    let slice = |e| match len {
        // Of nothing R tells an address that is none.
        0 => &[][..],
        // SAFETY: R's memory of so many doubles, which the list keeps alive and unchanged during
        // the call.
        _ => unsafe { std::slice::from_raw_parts(DATAPTR_RO(e).cast::<f64>(), len) },
    };
    Ok(elements(x, len)?.map(|all| all.into_iter().map(slice).collect()))
}

/// Memory of a fresh R matrix, to be filled.
///
/// The R function allocated it for this call and nobody else refers to it, which is what makes
/// writing to it sound.
pub struct Out<'a, T = f64> {
    data: *mut T,
    len: usize,
    owner: PhantomData<&'a Robj>,
}

impl<'a> Out<'a, i32> {
    /// A fresh integer vector.
    pub fn integers(x: &'a Robj, len: usize) -> Result<Self> {
        let mut x = x.clone();
        match x.as_integer_slice_mut() {
            Some(v) if v.len() == len => Ok(Out {
                data: v.as_mut_ptr(),
                len,
                owner: PhantomData,
            }),
            _ => Err(broken("an integer result of the stated length")),
        }
    }
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
            _ => Err(broken("a result of the stated dimensions")),
        }
    }
}

impl<T> Out<'_, T> {
    pub fn slice(&mut self) -> &mut [T] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: R's memory of `len` numbers, kept alive by `owner`, reached through this value
        // alone.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}

/// A list of fresh matrices to be filled, each of which stands in it once; `None` where `x` is no
/// list.
pub fn places(x: &Robj, n: usize) -> Result<Option<Vec<Out<'_>>>> {
    let len = n.saturating_mul(n);
    let place = |e| Out {
        // SAFETY: `e` is a double vector.
        data: unsafe { REAL(e) },
        len,
        owner: PhantomData,
    };
    Ok(elements(x, len)?.map(|all| all.into_iter().map(place).collect()))
}

pub fn view<T>(x: &[T], (m, n): (usize, usize)) -> MatRef<'_, T> {
    MatRef::from_column_major_slice(x, m, n)
}

pub fn view_mut<T>(x: &mut [T], (m, n): (usize, usize)) -> MatMut<'_, T> {
    MatMut::from_column_major_slice_mut(x, m, n)
}

/// A 1-based permutation of 1..n from R as a 0-based one.
pub fn permutation(x: &Robj, n: usize) -> Result<Vec<usize>> {
    let order = transpositions(x, n)?;
    let mut seen = vec![false; n];
    for i in &order {
        seen[*i] = true;
    }
    if seen.iter().all(|s| *s) {
        Ok(order)
    } else {
        Err(broken("an order of the columns"))
    }
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
