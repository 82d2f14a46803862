//! Sparse matrices of R, compressed by columns: where each column begins, rows, values.

use std::ffi::c_void;

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Stored;
use crate::device::sparse::Columns;
use crate::r::args::{self, Out};
use crate::r::reply::interrupt_pending;
use crate::r::session::in_r;

extern "C" {
    /// In `entrypoint.c`. Preserved, or null; jumps nowhere.
    fn cudafactor_vector(doubles: i32, length: usize) -> *mut c_void;
    fn R_ReleaseObject(x: *mut c_void);
}

/// A matrix with these columns in R's memory, of which only their number is checked.
pub fn columns<'r>(
    starts: &'r Robj,
    rows: &'r Robj,
    values: &'r Robj,
    columns: usize,
    stored: Stored,
) -> Result<Columns<'r>> {
    let starts = args::integers(starts)?;
    if starts.len() != columns + 1 {
        return Err(Error::Dimension {
            what: "a sparse matrix has parts that do not fit together".into(),
        });
    }
    Ok(Columns {
        starts,
        index: args::integers(rows)?,
        values: args::doubles(values)?,
        stored,
    })
}

/// A copy of the matrix of these dimensions, whose parts are checked.
pub fn csc(starts: &Robj, rows: &Robj, values: &Robj, dim: (usize, usize)) -> Result<Csc> {
    columns(starts, rows, values, dim.1, Stored::All)?.copied(dim.0)
}

/// `"U"` or `"L"` for one triangle, else all.
pub fn stored(x: &Robj) -> Stored {
    match x.as_str() {
        Some("U") => Stored::Upper,
        Some("L") => Stored::Lower,
        _ => Stored::All,
    }
}

/// A fresh vector of R's, to be filled by the caller, to whom alone it is known.
fn fresh(doubles: bool, length: usize) -> Result<Robj> {
    // SAFETY: called on R's thread, which runs the native routine.
    let made = in_r(|| unsafe { cudafactor_vector(i32::from(doubles), length) });
    if made.is_null() {
        let size = if doubles { 8 } else { 4 };
        return Err(match interrupt_pending() {
            true => Error::Interrupted,
            false => Error::HostMemory {
                needed: (length as u64).saturating_mul(size),
            },
        });
    }
    // SAFETY: a vector of R's, preserved until it is released here; `Robj` protects it from then
    // on.
    unsafe {
        let x = Robj::from_sexp(made.cast());
        R_ReleaseObject(made);
        Ok(x)
    }
}

fn whole(v: &[usize]) -> Result<Robj> {
    if v.iter().any(|i| i32::try_from(*i).is_err()) {
        return Err(Error::Dimension {
            what: "a sparse matrix has more entries than R can count".into(),
        });
    }
    let x = fresh(false, v.len())?;
    let mut out = Out::integers(&x, v.len())?;
    let entries = out.slice().iter_mut().zip(v);
    entries.for_each(|(to, from)| *to = *from as i32);
    Ok(x)
}

/// Numbers in a vector of R's, whose memory may be short.
pub fn numbers(v: &[f64]) -> Result<Robj> {
    let x = fresh(true, v.len())?;
    Out::new(&x, (v.len(), 1))?.slice().copy_from_slice(v);
    Ok(x)
}

/// Starts, rows and values for R.
pub fn parts(a: &Csc) -> Result<[Robj; 3]> {
    let (starts, index) = (whole(&a.starts)?, whole(&a.index)?);
    Ok([starts, index, numbers(&a.values)?])
}
