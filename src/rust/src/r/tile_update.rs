//! `chol_update` and `chol_downdate` of a Cholesky factor in a file.

use extendr_api::prelude::*;

use crate::algo::tiled::file_task::{carry_out, WantedMemory};
use crate::algo::tiled::known_file::open_known;
use crate::algo::update::file::least_memory;
use crate::algo::update::file_task::Update;
use crate::base::error::Result;
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;
use crate::r::args;
use crate::r::cholesky_update::change;
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, path};
use crate::r::tile_task::wanted;
use crate::tiles::kind;

fn update_file<T: Scalar>(
    from: &str,
    dim: (usize, usize),
    to: &str,
    change: Change,
    (v, k): (&Robj, usize),
    (wanted, how): (&WantedMemory, &How),
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
    carry_out(how, wanted, &mut task)?;
    Ok(task.margin)
}

/// Makes a file of the factor of r'r + v v' (down: r'r - v v') from the factor in a file of these
/// dimensions; how much of the smallest eigenvalue is left
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
