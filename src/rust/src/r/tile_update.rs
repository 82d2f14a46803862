//! `chol_update` and `chol_downdate` of a Cholesky factor in a file.

use std::sync::Arc;

use extendr_api::prelude::*;

use crate::algo::tiled::memory::Budget;
use crate::algo::update::file::{least_memory, update};
use crate::base::error::Result;
use crate::base::matrix::Change;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::cost::plan::device::suits_file;
use crate::cost::work::{Operands, Work};
use crate::device::async_copy::AsyncCopy;
use crate::r::args;
use crate::r::cholesky_update::change;
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, open_known, path};
use crate::r::tile_task::{carry_out, wanted, Task, Wanted};
use crate::tiles::{kind, TileFile};

/// A factor in a file, and the name of another for the changed one.
struct Update<'a, T> {
    from: &'a TileFile<T>,
    to: &'a str,
    change: Change,
    v: &'a [f64],
    k: usize,
    least: u64,
    margin: f64,
}

impl<T: Scalar> Task<T> for Update<'_, T> {
    fn operations(&self) -> f64 {
        Work::cholesky_update(self.from.layout().rows(), self.k, self.change).flops
    }

    fn phase(&self) -> &'static str {
        "updating"
    }

    fn moved(&self) -> Arc<Moved> {
        self.from.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        Ok(self.from.buffer()?.bytes().len() as u64)
    }

    fn is_large(&self) -> bool {
        suits_file(self.from.layout().rows(), self.k)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let layout = self.from.layout();
        (
            Operands::Matrix(layout.rows(), layout.cols()),
            layout.tile(),
        )
    }

    /// What panels take that are on their way.
    fn column(&self) -> u64 {
        self.least
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let v = T::borrow_host(self.v)?;
        let v = args::view(&v, (self.from.layout().rows(), self.k));
        let make = || TileFile::create(self.to, *self.from.layout());
        self.margin = update(dev, self.change, self.from, make, v, budget)?;
        Ok(())
    }
}

fn update_file<T: Scalar>(
    from: &str,
    dim: (usize, usize),
    to: &str,
    change: Change,
    (v, k): (&Robj, usize),
    (wanted, how): (&Wanted, &How),
) -> Result<f64> {
    let from = open_known::<T>(from, dim)?;
    let mut task = Update {
        from: &from,
        to,
        change,
        v: args::matrix(v, (dim.0, k))?,
        k,
        least: least_memory(&from)?,
        margin: 1.0,
    };
    carry_out(wanted, how, &mut task)?;
    Ok(task.margin)
}

/// Makes a file of the factor of r'r + v v' (down: r'r - v v') from the factor in a file of these
/// extents; how much of the smallest eigenvalue is left
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_tiles_chol_update(
    from: Robj,
    dim: Robj,
    to: Robj,
    v: Robj,
    k: Robj,
    down: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (from, to, dim) = (path(&from)?, path(&to)?, args::dims(&dim)?);
        let (change, k, wanted) = (change(&down)?, args::size(&k)?, wanted(&memory)?);
        let margin = by_element!(kind(from)?.element, |T| update_file::<T>(
            from,
            dim,
            to,
            change,
            (&v, k),
            (&wanted, &how)
        ))?;
        Ok(list!(margin = margin))
    })
}

extendr_module! {
    mod tile_update;
    fn native_tiles_chol_update;
}
