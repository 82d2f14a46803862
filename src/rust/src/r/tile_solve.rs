//! What streams through a Cholesky factor in a file: `chol_solve`, `backsolve`, `chol2inv_diag`,
//! `determinant`.

use std::sync::Arc;

use extendr_api::prelude::*;

use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::inverse::inverse_diagonal;
use crate::algo::tiled::memory::Budget;
use crate::algo::tiled::solve::{solve, System};
use crate::algo::tiled::source::Passing;
use crate::base::error::{Error, Result};
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::cost::plan::device::suits_file;
use crate::cost::work::{cholesky_flops, Operands};
use crate::device::async_copy::AsyncCopy;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, open_known, path};
use crate::r::tile_task::{carry_out, wanted, Task, Wanted};
use crate::tiles::kind;

/// `out = op(R)^-1 b`
struct Solve<'a, T> {
    factor: &'a Factor<'a, T>,
    system: System,
    b: &'a [f64],
    dim: (usize, usize),
    out: &'a mut [f64],
}

impl<T: Scalar> Task<T> for Solve<'_, T> {
    fn operations(&self) -> f64 {
        let n = self.factor.order() as f64;
        self.system.sweeps() * n * n * self.dim.1 as f64
    }

    fn phase(&self) -> &'static str {
        "solving"
    }

    fn moved(&self) -> Arc<Moved> {
        self.factor.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        self.factor.tile_bytes()
    }

    fn is_large(&self) -> bool {
        suits_file(self.factor.order(), self.dim.1)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let operands = Operands::System(self.factor.order(), self.dim.1);
        (operands, self.factor.tile())
    }

    fn column(&self) -> u64 {
        (self.factor.order() * size_of::<T>()) as u64
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let b = T::borrow_host(self.b)?;
        let odim = (self.factor.order(), self.dim.1);
        let (factor, system, dim) = (self.factor, self.system, self.dim);
        T::fill_host(self.out, |out| {
            let (b, out) = (args::view(&b, dim), args::view_mut(out, odim));
            solve(dev, factor, system, b, out, budget).map(|_| ())
        })
    }
}

/// `out = diag((R'R)^-1)`
struct InverseDiagonal<'a, T> {
    factor: &'a Factor<'a, T>,
    out: &'a mut [f64],
}

impl<T: Scalar> Task<T> for InverseDiagonal<'_, T> {
    fn operations(&self) -> f64 {
        cholesky_flops(self.factor.order())
    }

    fn phase(&self) -> &'static str {
        "inverting"
    }

    fn moved(&self) -> Arc<Moved> {
        self.factor.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        self.factor.tile_bytes()
    }

    fn is_large(&self) -> bool {
        suits_file(self.factor.order(), usize::MAX)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let n = self.factor.order();
        (Operands::Matrix(n, n), self.factor.tile())
    }

    fn column(&self) -> u64 {
        // Of one column alone every tile is read for too little arithmetic.
        (self.factor.order() * self.factor.tile() * size_of::<T>()) as u64
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        inverse_diagonal(dev, self.factor, self.out, budget).map(|_| ())
    }
}

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
    (wanted, how): (&Wanted, &How),
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
    carry_out(wanted, how, &mut task)
}

/// out = the solution with the leading `k` rows and columns of the factor in a file of these
/// extents; `which` is "backward", "forward" or "both"
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
    (wanted, how): (&Wanted, &How),
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let factor = Factor::new(&file, dim.0)?;
    let mut task = InverseDiagonal {
        factor: &factor,
        out,
    };
    carry_out(wanted, how, &mut task)
}

/// out = the diagonal of the inverse of the matrix whose factor is in a file of these extents
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

/// out = the diagonal of the factor in a file of these extents
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
