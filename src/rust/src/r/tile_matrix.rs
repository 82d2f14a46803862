//! `open_tile_matrix`, and parts of such matrices. A file is open for the time of a call.

use extendr_api::prelude::*;

use crate::algo::tiled::known_file::{open_known, require_dimensions};
use crate::backend::cpu;
use crate::base::error::{Error, Result};
use crate::base::identity;
use crate::base::scalar::Scalar;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::tile_parts::{gather, Places};
use crate::tiles::{kind, names, Access, Element, Shape, State, TileFile};

/// Runs `$body` with `$t` the type of a file's numbers.
macro_rules! by_element {
    ($element:expr, |$t:ident| $body:expr) => {
        match $element {
            $crate::tiles::Element::F64 => {
                type $t = f64;
                $body
            }
            $crate::tiles::Element::F32 => {
                type $t = f32;
                $body
            }
        }
    };
}
pub(crate) use by_element;

pub fn path(x: &Robj) -> Result<&str> {
    x.as_str().ok_or_else(|| Error::Internal {
        what: "a native routine was called without a path".to_owned(),
    })
}

/// State of a file, how many of its tiles were never written, and its identity.
fn state<T: Scalar>(file: &str) -> Result<(State, usize, String)> {
    let file = TileFile::<T>::open(file, Access::Read)?;
    let absent = (0..file.layout().tiles()).filter(|tile| !file.has(*tile));
    Ok((file.state(), absent.count(), file.identity()))
}

/// What a file holds. With `deep = FALSE` only what is written once, whoever has it open
#[extendr]
fn native_tiles_info(file: Robj, deep: Robj) -> Robj {
    reply(|| {
        let file = path(&file)?;
        let header = kind(file)?;
        let layout = header.layout;
        let (mut holds, mut order, mut absent) = ("unknown", f64::NAN, f64::NAN);
        let mut own = identity::text(&identity::fresh());
        if args::flag(&deep)? {
            let (state, missing, identity) = by_element!(header.element, |T| state::<T>(file))?;
            own = identity;
            absent = missing as f64;
            holds = match state {
                State::Matrix => "matrix",
                State::Factoring => "factoring",
                State::Factor => "factor",
                State::NotPositiveDefinite { .. } => "not_positive_definite",
            };
            if let State::NotPositiveDefinite { order: k } = state {
                order = k as f64;
            }
        }
        Ok(list!(
            dim = vec![layout.rows() as f64, layout.cols() as f64],
            tile = layout.tile() as f64,
            triangle = layout.shape() == Shape::Triangle,
            single = header.element == Element::F32,
            bytes = header.bytes as f64,
            factor_bytes = header.of_factor().map_or(f64::NAN, |h| h.bytes as f64),
            holds = holds,
            order = order,
            absent = absent,
            identity = own
        ))
    })
}

/// The packed names of rows and columns in a file with a matrix of these dimensions
#[extendr]
fn native_tiles_names(file: Robj, dim: Robj) -> Robj {
    reply(|| {
        let file = path(&file)?;
        let dim = args::dims(&dim)?;
        let (header, names) = names(file)?;
        require_dimensions(file, &header.layout, dim)?;
        Ok(list!(names = Raw::from_bytes(&names)))
    })
}

/// Bytes for which the system is not asked what is free.
const FEW: u64 = 1 << 20;

fn read<T: Scalar>(
    file: &str,
    (rows, cols): (Option<&[f64]>, Option<&[f64]>),
    dim: (usize, usize),
    out: &Robj,
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let layout = *file.layout();
    let rows = Places::new(rows, layout.rows(), layout.tile())?;
    let cols = Places::new(cols, layout.cols(), layout.tile())?;
    let mut out = Out::new(out, (rows.count(), cols.count()))?;
    // R has the addresses, and the system gives the pages when they are written: where it has too
    // few it would end the process.
    let needed = size_of_val(out.slice()) as u64;
    if needed > FEW && cpu::memory().is_some_and(|(free, _)| free < needed) {
        return Err(Error::HostMemory { needed });
    }
    gather(&file, &rows, &cols, out.slice())
}

/// out = x[rows, cols], of a file with a matrix of these dimensions; NULL stands for all
#[extendr]
fn native_tiles_read(file: Robj, dim: Robj, rows: Robj, cols: Robj, out: Robj) -> Robj {
    reply(|| {
        let file = path(&file)?;
        let which = |x: &Robj| x.is_null();
        let rows = (!which(&rows)).then(|| args::doubles(&rows)).transpose()?;
        let cols = (!which(&cols)).then(|| args::doubles(&cols)).transpose()?;
        let dim = args::dims(&dim)?;
        by_element!(kind(file)?.element, |T| read::<T>(
            file,
            (rows, cols),
            dim,
            &out
        ))
    })
}

extendr_module! {
    mod tile_matrix;
    fn native_tiles_info;
    fn native_tiles_names;
    fn native_tiles_read;
}
