//! Sparse matrices of R, compressed by columns: where each column begins, rows, values.

use extendr_api::prelude::*;

use crate::algo::lp_csc::Csc;
use crate::algo::pcg_sparse::Stored;
use crate::error::{Error, Result};
use crate::r::args;

fn places(x: &Robj) -> Result<Vec<usize>> {
    let all = args::integers(x)?.iter().map(|i| usize::try_from(*i));
    let all: std::result::Result<Vec<usize>, _> = all.collect();
    all.map_err(|_| Error::Dimension {
        what: "a sparse matrix has rows that are out of order or range".into(),
    })
}

/// The matrix of these extents.
pub fn csc(starts: &Robj, rows: &Robj, values: &Robj, dim: (usize, usize)) -> Result<Csc> {
    let values = args::doubles(values)?.to_vec();
    let a = Csc::new(dim.0, places(starts)?, places(rows)?, values)?;
    if a.columns() == dim.1 {
        return Ok(a);
    }
    Err(Error::Dimension {
        what: "a sparse matrix has parts that do not fit together".into(),
    })
}

/// `"U"` or `"L"` for one triangle, else all.
pub fn stored(x: &Robj) -> Stored {
    match x.as_str() {
        Some("U") => Stored::Upper,
        Some("L") => Stored::Lower,
        _ => Stored::All,
    }
}

/// Starts, rows and values for R.
pub fn parts(a: &Csc) -> Result<[Robj; 3]> {
    let whole = |v: &[usize]| -> Result<Vec<i32>> {
        let all: std::result::Result<_, _> = v.iter().map(|i| i32::try_from(*i)).collect();
        all.map_err(|_| Error::Dimension {
            what: "a sparse matrix has more entries than R can count".into(),
        })
    };
    Ok([
        whole(&a.starts)?.into(),
        whole(&a.index)?.into(),
        a.values.clone().into(),
    ])
}
