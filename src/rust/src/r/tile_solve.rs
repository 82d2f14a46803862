//! What streams through a Cholesky factor in a file: `chol_solve`, `backsolve`, `chol2inv_diag`,
//! `determinant`.

use extendr_api::prelude::*;

use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::file_task::{carry_out, WantedMemory};
use crate::algo::tiled::known_file::open_known;
use crate::algo::tiled::solve::System;
use crate::algo::tiled::tasks::{InverseDiagonal, Solve};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, path};
use crate::r::tile_task::wanted;
use crate::tiles::kind;

fn system(x: &Robj) -> Result<System> {
    match x.as_str() {
        Some("backward") => Ok(System::Backward),
        Some("forward") => Ok(System::Forward),
        Some("both") => Ok(System::Both),
        _ => Err(Error::Internal {
            what: "a native routine was called without a kind of system".to_owned(),
        }),
    }
}

#[allow(clippy::too_many_arguments)]
fn solve_file<T: Scalar>(
    file: &str,
    dim: (usize, usize),
    k: usize,
    system: System,
    b: &Robj,
    bdim: (usize, usize),
    out: &Robj,
    (wanted, how): (&WantedMemory, &How),
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let factor = Factor::new(&file, k)?;
    if k > bdim.0 {
        return Err(Error::Dimension {
            what: "invalid 'k' argument".to_owned(),
        });
    }
    let mut out = Out::new(out, (k, bdim.1))?;
    let mut task = Solve {
        factor: &factor,
        system,
        b: args::matrix(b, bdim)?,
        dim: bdim,
        out: out.slice(),
    };
    carry_out(how, wanted, &mut task)
}

/// out = the solution with the leading `k` rows and columns of the factor in a file of these
/// dimensions; `which` is "backward", "forward" or "both"
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_tiles_solve(
    file: Robj,
    dim: Robj,
    k: Robj,
    which: Robj,
    b: Robj,
    bdim: Robj,
    out: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, bdim, k) = (args::dims(&dim)?, args::dims(&bdim)?, args::size(&k)?);
        let (file, which) = (path(&file)?, system(&which)?);
        let wanted = wanted(&memory)?;
        by_element!(kind(file)?.element, |T| solve_file::<T>(
            file,
            dim,
            k,
            which,
            &b,
            bdim,
            &out,
            (&wanted, &how)
        ))
    })
}

fn inverse_of_file<T: Scalar>(
    file: &str,
    dim: (usize, usize),
    out: &mut [f64],
    (wanted, how): (&WantedMemory, &How),
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let factor = Factor::new(&file, dim.0)?;
    let mut task = InverseDiagonal {
        factor: &factor,
        out,
    };
    carry_out(how, wanted, &mut task)
}

/// out = the diagonal of the inverse of the matrix whose factor is in a file of these dimensions
#[extendr]
fn native_tiles_inverse_diagonal(
    file: Robj,
    dim: Robj,
    out: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, wanted, file) = (args::dims(&dim)?, wanted(&memory)?, path(&file)?);
        let mut out = Out::new(&out, (dim.0, 1))?;
        by_element!(kind(file)?.element, |T| inverse_of_file::<T>(
            file,
            dim,
            out.slice(),
            (&wanted, &how)
        ))
    })
}

fn diagonal_of_file<T: Scalar>(file: &str, dim: (usize, usize), out: &mut [f64]) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let diagonal = Factor::new(&file, dim.0)?.diagonal()?;
    for (to, from) in out.iter_mut().zip(diagonal) {
        *to = from.into();
    }
    Ok(())
}

/// out = the diagonal of the factor in a file of these dimensions
#[extendr]
fn native_tiles_factor_diagonal(file: Robj, dim: Robj, out: Robj) -> Robj {
    reply(|| {
        let (dim, file) = (args::dims(&dim)?, path(&file)?);
        let mut out = Out::new(&out, (dim.0, 1))?;
        by_element!(kind(file)?.element, |T| diagonal_of_file::<T>(
            file,
            dim,
            out.slice()
        ))
    })
}

extendr_module! {
    mod tile_solve;
    fn native_tiles_solve;
    fn native_tiles_inverse_diagonal;
    fn native_tiles_factor_diagonal;
}
