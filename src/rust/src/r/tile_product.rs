//! Products with a matrix in a file: `%*%`, `crossprod` and `tcrossprod`.

use extendr_api::prelude::*;

use crate::algo::tiled::file_task::{carry_out, WantedMemory};
use crate::algo::tiled::known_file::open_known;
use crate::algo::tiled::product::Stored;
use crate::algo::tiled::tasks::Product;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, path};
use crate::r::tile_task::wanted;
use crate::tiles::kind;

fn multiply_file<T: Scalar>(
    file: &str,
    dim: (usize, usize),
    op: Trans,
    (y, ydim): (&Robj, (usize, usize)),
    out: &Robj,
    (wanted, how): (&WantedMemory, &How),
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
    carry_out(how, wanted, &mut task)
}

/// out = op(x) y, of the matrix or the factor in a file of these dimensions
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
