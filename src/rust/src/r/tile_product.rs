//! Products with a matrix in a file: `%*%`, `crossprod` and `tcrossprod`.

use std::sync::Arc;

use extendr_api::prelude::*;

use crate::algo::tiled::memory::Budget;
use crate::algo::tiled::product::{multiply, Stored};
use crate::algo::tiled::source::Passing;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::cost::plan::device::suits_file;
use crate::cost::work::Operands;
use crate::device::async_copy::AsyncCopy;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, open_known, path};
use crate::r::tile_task::{carry_out, wanted, Task, Wanted};
use crate::tiles::kind;

/// `out = op(x) y`
struct Product<'a, T> {
    x: &'a Stored<'a, T>,
    tile: usize,
    op: Trans,
    y: &'a [f64],
    ydim: (usize, usize),
    out: &'a mut [f64],
    odim: (usize, usize),
}

impl<T: Scalar> Task<T> for Product<'_, T> {
    fn operations(&self) -> f64 {
        2.0 * self.x.multiplications() * self.ydim.1 as f64
    }

    fn phase(&self) -> &'static str {
        "multiplying"
    }

    fn moved(&self) -> Arc<Moved> {
        self.x.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        self.x.tile_bytes()
    }

    fn is_large(&self) -> bool {
        let (rows, cols) = self.x.extents();
        suits_file(rows.min(cols), self.ydim.1)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let x = self.op.shape(self.x.extents());
        (Operands::Product(x, self.ydim), self.tile)
    }

    fn column(&self) -> u64 {
        ((self.ydim.0 + self.odim.0) * size_of::<T>()) as u64
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let y = T::borrow_host(self.y)?;
        let (x, op, ydim, odim) = (self.x, self.op, self.ydim, self.odim);
        T::fill_host(self.out, |out| {
            let (y, out) = (args::view(&y, ydim), args::view_mut(out, odim));
            multiply(dev, x, op, y, out, budget).map(|_| ())
        })
    }
}

fn multiply_file<T: Scalar>(
    file: &str,
    dim: (usize, usize),
    op: Trans,
    (y, ydim): (&Robj, (usize, usize)),
    out: &Robj,
    (wanted, how): (&Wanted, &How),
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let x = Stored::new(&file)?;
    let rows = match op {
        Trans::No => dim.0,
        Trans::Yes => dim.1,
    };
    let odim = (rows, ydim.1);
    let mut out = Out::new(out, odim)?;
    let mut task = Product {
        x: &x,
        tile: file.layout().tile(),
        op,
        y: args::matrix(y, ydim)?,
        ydim,
        out: out.slice(),
        odim,
    };
    carry_out(wanted, how, &mut task)
}

/// out = op(x) y, of the matrix or the factor in a file of these extents
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_tiles_product(
    file: Robj,
    dim: Robj,
    transposed: Robj,
    y: Robj,
    ydim: Robj,
    out: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, ydim) = (args::dims(&dim)?, args::dims(&ydim)?);
        let (file, wanted) = (path(&file)?, wanted(&memory)?);
        let op = if args::flag(&transposed)? {
            Trans::Yes
        } else {
            Trans::No
        };
        by_element!(kind(file)?.element, |T| multiply_file::<T>(
            file,
            dim,
            op,
            (&y, ydim),
            &out,
            (&wanted, &how)
        ))
    })
}

extendr_module! {
    mod tile_product;
    fn native_tiles_product;
}
