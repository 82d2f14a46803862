//! `tile_matrix`: files while they are being made.
//!
//! Such a file stays open between native calls, behind an external pointer that R made in C
//! (`new_writer()` in `entrypoint.c`).

use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::progress::{self, begin_copy, Call, Paused};
use crate::base::scalar::Scalar;
use crate::r::args;
use crate::r::reply::{reply, show_progress};
use crate::r::target::How;
use crate::r::tile_matrix::path;
use crate::r::tile_parts::put;
use crate::tiles::behind::Behind;
use crate::tiles::{Buffer, Layout, Shape, TileFile};

extern "C" {
    /// In `entrypoint.c`.
    fn cudafactor_writer_tag() -> *mut c_void;
    fn R_ExternalPtrAddr(x: *mut c_void) -> *mut c_void;
    fn R_ExternalPtrTag(x: *mut c_void) -> *mut c_void;
    fn R_SetExternalPtrAddr(x: *mut c_void, address: *mut c_void);
    fn R_ClearExternalPtr(x: *mut c_void);
}

/// A file that is being made, and what writes tiles of it while R makes others.
pub enum Writer {
    Double(Arc<TileFile<f64>>, Behind<f64>),
    Single(Arc<TileFile<f32>>, Behind<f32>),
}

/// Runs `$body` with `$file` and `$behind` those of a writer.
macro_rules! with_writer {
    ($writer:expr, |$file:ident, $behind:ident| $body:expr) => {
        match $writer {
            $crate::r::tile_writer::Writer::Double($file, $behind) => $body,
            $crate::r::tile_writer::Writer::Single($file, $behind) => $body,
        }
    };
}
pub(crate) use with_writer;

/// A file that is being made by several native calls, and what the user sees of it meanwhile.
struct Making {
    writer: Writer,
    /// A forked child has not made it.
    process: u32,
    /// Seconds before the user sees something.
    delay: f64,
    /// Between calls that write a tile each.
    shown: Option<Paused>,
}

impl Making {
    /// What is written from now on is shown.
    fn watch(&self) -> Call {
        let (moved, bytes) = with_writer!(&self.writer, |file, behind| (
            file.counter(),
            behind.tile_bytes() * file.layout().tiles() as u64
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

fn behind_is_empty(x: &Robj) -> Result<bool> {
    Ok(behind(x)?.is_null())
}

/// The file behind a handle. No other reference to it exists while a native routine runs: each is
/// called with one, and lets it go.
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

/// Takes the file away from its handle. A forked child leaves it to its parent.
fn take(x: &Robj) -> Result<Option<Box<Making>>> {
    let address = behind(x)?;
    if address.is_null() {
        return Ok(None);
    }
    // SAFETY: it came from a box, and the handle is empty from now on.
    let making = unsafe {
        R_ClearExternalPtr(x.get().cast());
        Box::from_raw(address)
    };
    if making.process != std::process::id() {
        std::mem::forget(making);
        return Ok(None);
    }
    Ok(Some(making))
}

/// R's finalizer: closes the file.
///
/// # Safety
/// `address` is one that `native_tiles_create` put behind a handle, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_release_writer(address: *mut c_void) {
    let making = Box::from_raw(address.cast::<Making>());
    if making.process != std::process::id() {
        std::mem::forget(making);
        return;
    }
    // What a panic leaves behind is lost memory; R goes on.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(making)));
}

/// Makes a file without tiles, with packed names, and leaves it open behind the handle
#[extendr]
fn native_tiles_create(
    file: Robj,
    dim: Robj,
    tile: Robj,
    triangle: Robj,
    names: Robj,
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
        let names = names.as_raw_slice().unwrap_or_default();
        if !behind(&out)?.is_null() {
            return Err(Error::Internal {
                what: "a native routine was called without an empty handle".to_owned(),
            });
        }
        let writer = if how.single {
            let (file, behind) = create(file, layout, names)?;
            Writer::Single(file, behind)
        } else {
            let (file, behind) = create(file, layout, names)?;
            Writer::Double(file, behind)
        };
        let making = Box::new(Making {
            writer,
            process: std::process::id(),
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

/// Where there is no memory for tiles there is no file.
fn create<T: Scalar>(
    path: &str,
    layout: Layout,
    names: &[u8],
) -> Result<(Arc<TileFile<T>>, Behind<T>)> {
    drop(Buffer::<T>::new(&layout)?);
    let file = Arc::new(TileFile::create_named(path, layout, names)?);
    let behind = Behind::new(file.clone());
    behind.map(|behind| (file, behind))
}

fn fill<T: Scalar>(layout: Layout, x: &Robj, behind: &mut Behind<T>) -> Result<()> {
    let x = args::matrix(x, (layout.rows(), layout.cols()))?;
    for index in 0..layout.tiles() {
        interrupt::poll()?;
        progress::tick();
        let (i, j) = layout.position(index);
        let first = j * layout.tile() * layout.rows() + i * layout.tile();
        put(&layout, (i, j), &x[first..], layout.rows(), behind)?;
    }
    Ok(())
}

/// Writes all tiles of a file that is being made, from a matrix
#[extendr]
fn native_tiles_fill(mut out: Robj, x: Robj) -> Robj {
    reply(|| {
        let (writer, _shown) = writer_shown(&mut out)?;
        with_writer!(writer, |file, behind| {
            fill(*file.layout(), &x, behind)?;
            behind.finish()
        })
    })
}

fn write<T: Scalar>(
    layout: &Layout,
    at: (usize, usize),
    x: &Robj,
    behind: &mut Behind<T>,
) -> Result<()> {
    let (rows, cols) = layout.dimensions(at.0, at.1);
    put(layout, at, args::matrix(x, (rows, cols))?, rows, behind)
}

/// Writes the tile in block row and block column `at`, counted from zero. R goes on when its
/// entries have been taken; a failure may be a later call's
#[extendr]
fn native_tiles_write(mut out: Robj, at: Robj, x: Robj) -> Robj {
    reply(|| {
        let at = args::dims(&at)?;
        let making = making(&mut out)?;
        let shown = match making.shown.take() {
            Some(shown) => shown.go_on(),
            None => making.watch(),
        };
        with_writer!(&mut making.writer, |file, behind| write(
            file.layout(),
            at,
            &x,
            behind
        ))?;
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
        if behind_is_empty(&out)? {
            return Ok(());
        }
        // The handle has it until all is written, which can be interrupted.
        let mut waiting = out;
        with_writer!(&mut making(&mut waiting)?.writer, |_file, behind| behind
            .finish())?;
        let Some(making) = take(&waiting)? else {
            return Ok(());
        };
        let done = with_writer!(&making.writer, |file, _behind| file.commit());
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
    with_writer!(writer, |file, behind| {
        drop(behind);
        // Nobody else has it now.
        if let Ok(file) = Arc::try_unwrap(file) {
            file.remove();
        }
    });
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
