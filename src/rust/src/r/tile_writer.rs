//! `tile_matrix`: files while they are being made.
//!
//! Such a file stays open between native calls, behind an external pointer that R made in C (`new_writer()` in `entrypoint.c`).

use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

use extendr_api::prelude::*;

use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::{self, begin_copy, Call, Paused};
use crate::r::args;
use crate::r::reply::{reply, show_progress};
use crate::r::target::How;
use crate::r::tile_matrix::{path, remove};
use crate::r::tile_parts::put;
use crate::scalar::Scalar;
use crate::tiles::{Buffer, Layout, Shape, TileFile};

extern "C" {
    /// In `entrypoint.c`.
    fn cudafactor_writer_tag() -> *mut c_void;
    fn R_ExternalPtrAddr(x: *mut c_void) -> *mut c_void;
    fn R_ExternalPtrTag(x: *mut c_void) -> *mut c_void;
    fn R_SetExternalPtrAddr(x: *mut c_void, address: *mut c_void);
    fn R_ClearExternalPtr(x: *mut c_void);
}

/// A file that is being made, and memory for a tile of it.
pub enum Writer {
    Double(TileFile<f64>, Buffer<f64>),
    Single(TileFile<f32>, Buffer<f32>),
}

/// Runs `$body` with `$file` and `$tile` those of a writer.
macro_rules! with_writer {
    ($writer:expr, |$file:ident, $tile:ident| $body:expr) => {
        match $writer {
            $crate::r::tile_writer::Writer::Double($file, $tile) => $body,
            $crate::r::tile_writer::Writer::Single($file, $tile) => $body,
        }
    };
}
pub(crate) use with_writer;

/// A file that is being made by several native calls, and what the user sees of it meanwhile.
struct Making {
    writer: Writer,
    /// Seconds before the user sees something.
    delay: f64,
    /// Between calls that write a tile each.
    shown: Option<Paused>,
}

impl Making {
    /// What is written from now on is shown.
    fn watch(&self) -> Call {
        let (moved, bytes) = with_writer!(&self.writer, |file, tile| (
            file.counter(),
            tile.bytes().len() as u64 * file.layout().tiles() as u64
        ));
        begin_copy(bytes, moved, "writing", self.delay, show_progress)
    }
}

fn is_writer(x: &Robj) -> bool {
    // SAFETY: an external pointer has a tag.
    x.rtype() == Rtype::ExternalPtr
        && unsafe { R_ExternalPtrTag(x.get().cast()) == cudafactor_writer_tag() }
}

/// What is behind a handle of ours, or null.
fn behind(x: &Robj) -> Result<*mut Making> {
    if !is_writer(x) {
        return Err(Error::Internal {
            what: "a native routine was called without a file that is being made".to_owned(),
        });
    }
    // SAFETY: an external pointer has an address.
    Ok(unsafe { R_ExternalPtrAddr(x.get().cast()) }.cast())
}

/// The file behind a handle. No other reference to it exists while a native routine runs: each is called with one, and lets it go.
fn making(x: &mut Robj) -> Result<&mut Making> {
    let address = behind(x)?;
    // SAFETY: behind our handles is nothing, or what `native_tiles_create` put there.
    unsafe { address.as_mut() }.ok_or_else(|| Error::Internal {
        what: "a native routine was called for a file that is complete".to_owned(),
    })
}

/// The same without what the user sees.
pub fn writer(x: &mut Robj) -> Result<&mut Writer> {
    making(x).map(|making| &mut making.writer)
}

/// The same, and what the user sees while all of it is written.
pub fn writer_shown(x: &mut Robj) -> Result<(&mut Writer, Call)> {
    let making = making(x)?;
    let shown = making.watch();
    Ok((&mut making.writer, shown))
}

/// Takes the file away from its handle.
fn take(x: &Robj) -> Result<Option<Box<Making>>> {
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
    let making = Box::from_raw(address.cast::<Making>());
    // What a panic leaves behind is lost memory; R goes on.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(making)));
}

/// Makes a file without tiles, and leaves it open behind the handle
#[extendr]
fn native_tiles_create(
    file: Robj,
    dim: Robj,
    tile: Robj,
    triangle: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (rows, cols) = args::dims(&dim)?;
        let shape = if args::flag(&triangle)? {
            Shape::Triangle
        } else {
            Shape::Full
        };
        let layout = Layout::new(rows, cols, args::size(&tile)?, shape)?;
        let file = path(&file)?;
        if !behind(&out)?.is_null() {
            return Err(Error::Internal {
                what: "a native routine was called without an empty handle".to_owned(),
            });
        }
        let writer = if how.single {
            let tile = Buffer::new(&layout)?;
            Writer::Single(TileFile::create(file, layout)?, tile)
        } else {
            let tile = Buffer::new(&layout)?;
            Writer::Double(TileFile::create(file, layout)?, tile)
        };
        let making = Box::new(Making {
            writer,
            delay: how.delay,
            shown: None,
        });
        // SAFETY: the handle is empty, and the finalizer takes what is put there.
        unsafe {
            R_SetExternalPtrAddr(out.get().cast(), Box::into_raw(making).cast());
        }
        Ok(())
    })
}

fn fill<T: Scalar>(file: &TileFile<T>, x: &Robj, tile: &mut Buffer<T>) -> Result<()> {
    let layout = *file.layout();
    let x = args::matrix(x, (layout.rows(), layout.cols()))?;
    for index in 0..layout.tiles() {
        interrupt::poll()?;
        progress::tick();
        let (i, j) = layout.position(index);
        let first = j * layout.tile() * layout.rows() + i * layout.tile();
        put(file, (i, j), &x[first..], layout.rows(), tile)?;
    }
    Ok(())
}

/// Writes all tiles of a file that is being made, from a matrix
#[extendr]
fn native_tiles_fill(mut out: Robj, x: Robj) -> Robj {
    reply(|| {
        let (writer, _shown) = writer_shown(&mut out)?;
        with_writer!(writer, |file, tile| fill(file, &x, tile))
    })
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
        let making = making(&mut out)?;
        let shown = match making.shown.take() {
            Some(shown) => shown.go_on(),
            None => making.watch(),
        };
        with_writer!(&mut making.writer, |file, tile| write(file, at, &x, tile))?;
        progress::tick();
        making.shown = Some(shown.pause());
        Ok(())
    })
}

/// Takes away what the user sees between two calls that write tiles, before something else is shown
#[extendr]
fn native_tiles_hide(mut out: Robj) -> Robj {
    reply(|| {
        if let Some(shown) = &mut making(&mut out)?.shown {
            shown.hide();
        }
        Ok(())
    })
}

/// Makes all that was written durable, and closes the file
#[extendr]
fn native_tiles_finish(out: Robj) -> Robj {
    reply(|| {
        let Some(making) = take(&out)? else {
            return Ok(());
        };
        let done = with_writer!(&making.writer, |file, _tile| file.commit());
        if done.is_err() {
            discard(making.writer);
        }
        done
    })
}

/// Removes a file that is being made. Does nothing where there is none any more
#[extendr]
fn native_tiles_discard(out: Robj) -> Robj {
    reply(|| {
        if let Some(making) = take(&out)? {
            discard(making.writer);
        }
        Ok(())
    })
}

fn discard(writer: Writer) {
    with_writer!(writer, |file, _tile| remove(file));
}

extendr_module! {
    mod tile_writer;
    fn native_tiles_create;
    fn native_tiles_fill;
    fn native_tiles_write;
    fn native_tiles_hide;
    fn native_tiles_finish;
    fn native_tiles_discard;
}
