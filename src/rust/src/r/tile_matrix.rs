//! `tile_matrix`, `open_tile_matrix`, and parts of such matrices.
//!
//! A file is open for the time of a call. Only while R computes the blocks of a new one does it stay open between calls, behind an external
//! pointer that R made in C (`new_writer()` in `entrypoint.c`).

use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

use extendr_api::prelude::*;

use crate::backend::cpu;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::tile_parts::{gather, put, Places};
use crate::scalar::Scalar;
use crate::tiles::{kind, Access, Buffer, Element, Layout, Shape, State, TileFile};

extern "C" {
    /// In `entrypoint.c`.
    fn cudafactor_writer_tag() -> *mut c_void;
    fn R_ExternalPtrAddr(x: *mut c_void) -> *mut c_void;
    fn R_ExternalPtrTag(x: *mut c_void) -> *mut c_void;
    fn R_SetExternalPtrAddr(x: *mut c_void, address: *mut c_void);
    fn R_ClearExternalPtr(x: *mut c_void);
}

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

/// A file that is being made, and memory for a tile of it.
pub enum Writer {
    Double(TileFile<f64>, Buffer<f64>),
    Single(TileFile<f32>, Buffer<f32>),
}

/// Runs `$body` with `$file` and `$tile` those of a writer.
macro_rules! with_writer {
    ($writer:expr, |$file:ident, $tile:ident| $body:expr) => {
        match $writer {
            $crate::r::tile_matrix::Writer::Double($file, $tile) => $body,
            $crate::r::tile_matrix::Writer::Single($file, $tile) => $body,
        }
    };
}
pub(crate) use with_writer;

fn is_writer(x: &Robj) -> bool {
    // SAFETY: an external pointer has a tag.
    x.rtype() == Rtype::ExternalPtr
        && unsafe { R_ExternalPtrTag(x.get().cast()) == cudafactor_writer_tag() }
}

/// What is behind a handle of ours, or null.
fn behind(x: &Robj) -> Result<*mut Writer> {
    if !is_writer(x) {
        return Err(Error::Internal {
            what: "a native routine was called without a file that is being made".to_owned(),
        });
    }
    // SAFETY: an external pointer has an address.
    Ok(unsafe { R_ExternalPtrAddr(x.get().cast()) }.cast())
}

/// The file behind a handle. No other reference to it exists while a native routine runs: each is called with one, and lets it go.
pub fn writer(x: &mut Robj) -> Result<&mut Writer> {
    let address = behind(x)?;
    // SAFETY: behind our handles is nothing, or what `native_tiles_create` put there.
    unsafe { address.as_mut() }.ok_or_else(|| Error::Internal {
        what: "a native routine was called for a file that is complete".to_owned(),
    })
}

/// Takes the file away from its handle.
fn take(x: &Robj) -> Result<Option<Box<Writer>>> {
    let address = behind(x)?;
    if address.is_null() {
        return Ok(None);
    }
    // SAFETY: it came from a box, and the handle is empty from now on.
    unsafe {
        R_ClearExternalPtr(x.get().cast());
        Ok(Some(Box::from_raw(address)))
    }
}

/// R's finalizer: closes the file.
///
/// # Safety
/// `address` is one that `native_tiles_create` put behind a handle, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_release_writer(address: *mut c_void) {
    let writer = Box::from_raw(address.cast::<Writer>());
    // What a panic leaves behind is lost memory; R goes on.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(writer)));
}

pub fn path(x: &Robj) -> Result<&str> {
    x.as_str().ok_or_else(|| Error::Internal {
        what: "a native routine was called without a path".to_owned(),
    })
}

/// Makes a file without tiles, and leaves it open behind the handle
#[extendr]
fn native_tiles_create(
    file: Robj,
    dim: Robj,
    tile: Robj,
    triangle: Robj,
    single: Robj,
    out: Robj,
) -> Robj {
    reply(|| {
        let (rows, cols) = args::dims(&dim)?;
        let shape = if args::flag(&triangle)? {
            Shape::Triangle
        } else {
            Shape::Full
        };
        let layout = Layout::new(rows, cols, args::size(&tile)?, shape)?;
        let (file, single) = (path(&file)?, args::flag(&single)?);
        if !behind(&out)?.is_null() {
            return Err(Error::Internal {
                what: "a native routine was called without an empty handle".to_owned(),
            });
        }
        let writer = if single {
            let tile = Buffer::new(&layout)?;
            Writer::Single(TileFile::create(file, layout)?, tile)
        } else {
            let tile = Buffer::new(&layout)?;
            Writer::Double(TileFile::create(file, layout)?, tile)
        };
        // SAFETY: the handle is empty, and the finalizer takes what is put there.
        unsafe {
            R_SetExternalPtrAddr(out.get().cast(), Box::into_raw(Box::new(writer)).cast());
        }
        Ok(())
    })
}

fn fill<T: Scalar>(file: &TileFile<T>, x: &Robj, tile: &mut Buffer<T>) -> Result<()> {
    let layout = *file.layout();
    let x = args::matrix(x, (layout.rows(), layout.cols()))?;
    for index in 0..layout.tiles() {
        interrupt::poll()?;
        let (i, j) = layout.position(index);
        let first = j * layout.tile() * layout.rows() + i * layout.tile();
        put(file, (i, j), &x[first..], layout.rows(), tile)?;
    }
    Ok(())
}

/// Writes all tiles of a file that is being made, from a matrix
#[extendr]
fn native_tiles_fill(mut out: Robj, x: Robj) -> Robj {
    reply(|| with_writer!(writer(&mut out)?, |file, tile| fill(file, &x, tile)))
}

fn write<T: Scalar>(
    file: &TileFile<T>,
    at: (usize, usize),
    x: &Robj,
    tile: &mut Buffer<T>,
) -> Result<()> {
    let (rows, cols) = file.layout().extent(at.0, at.1);
    put(file, at, args::matrix(x, (rows, cols))?, rows, tile)
}

/// Writes the tile in block row and block column `at`, counted from zero
#[extendr]
fn native_tiles_write(mut out: Robj, at: Robj, x: Robj) -> Robj {
    reply(|| {
        let at = args::dims(&at)?;
        with_writer!(writer(&mut out)?, |file, tile| write(file, at, &x, tile))
    })
}

/// Makes all that was written durable, and closes the file
#[extendr]
fn native_tiles_finish(out: Robj) -> Robj {
    reply(|| {
        let Some(mut writer) = take(&out)? else {
            return Ok(());
        };
        let done = with_writer!(writer.as_mut(), |file, _tile| file.commit());
        if done.is_err() {
            discard(*writer);
        }
        done
    })
}

/// Removes a file that is being made. Does nothing where there is none any more
#[extendr]
fn native_tiles_discard(out: Robj) -> Robj {
    reply(|| {
        if let Some(writer) = take(&out)? {
            discard(*writer);
        }
        Ok(())
    })
}

fn discard(writer: Writer) {
    with_writer!(writer, |file, _tile| remove(file));
}

/// Closes and removes a file. There is nothing to do about it where that fails.
pub fn remove<T: Scalar>(file: TileFile<T>) {
    let path = file.path().to_owned();
    drop(file);
    let _ = std::fs::remove_file(path);
}

/// State of a file, how many of its tiles were never written, and its bytes.
fn state<T: Scalar>(file: &str) -> Result<(State, usize, u64)> {
    let file = TileFile::<T>::open(file, Access::Read)?;
    let absent = (0..file.layout().tiles()).filter(|tile| !file.has(*tile));
    Ok((file.state(), absent.count(), file.bytes()))
}

/// What a file holds. With `deep = FALSE` only what is written once, whoever has it open
#[extendr]
fn native_tiles_info(file: Robj, deep: Robj) -> Robj {
    reply(|| {
        let file = path(&file)?;
        let header = kind(file)?;
        let layout = header.layout;
        let (mut holds, mut order, mut absent) = ("unknown", f64::NAN, f64::NAN);
        if args::flag(&deep)? {
            let (state, missing, _) = by_element!(header.element, |T| state::<T>(file))?;
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
            holds = holds,
            order = order,
            absent = absent
        ))
    })
}

/// Opens a file that is to hold a matrix of these extents.
pub fn open_known<T: Scalar>(file: &str, dim: (usize, usize)) -> Result<TileFile<T>> {
    let file = TileFile::<T>::open(file, Access::Read)?;
    same_extents(&file, dim)?;
    Ok(file)
}

/// Fails where the file holds another matrix than the object says.
pub fn same_extents<T: Scalar>(file: &TileFile<T>, dim: (usize, usize)) -> Result<()> {
    let layout = file.layout();
    if (layout.rows(), layout.cols()) == dim {
        return Ok(());
    }
    Err(Error::FileFormat {
        path: file.path().display().to_string(),
        what: format!(
            "the file holds another matrix now, which is {} x {}: open_tile_matrix() opens it",
            layout.rows(),
            layout.cols()
        ),
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
    // R has the addresses, and the system gives the pages when they are written: where it has too few it would end the process.
    let needed = size_of_val(out.slice()) as u64;
    if needed > FEW && cpu::memory().is_some_and(|(free, _)| free < needed) {
        return Err(Error::HostMemory { needed });
    }
    gather(&file, &rows, &cols, out.slice())
}

/// out = x[rows, cols], of a file with a matrix of these extents; NULL stands for all
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
    fn native_tiles_create;
    fn native_tiles_fill;
    fn native_tiles_write;
    fn native_tiles_finish;
    fn native_tiles_discard;
    fn native_tiles_info;
    fn native_tiles_read;
}
