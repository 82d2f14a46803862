//! `matrix_file` and `write_matrix_file`: matrices in files of other formats.

use std::path::Path;

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::foreign::source::Description;
use crate::foreign::{export, import, npy, ExportFormat, Number, Source, StorageOrder};
use crate::r::args;
use crate::r::reply::reply;
use crate::r::tile_matrix::{by_element, path};
use crate::r::tile_writer::{with_writer, writer_shown};
use crate::tiles::{kind, Access, PlainFile, TileFile};

/// What the header of a .npy file says
#[extendr]
fn native_npy_header(file: Robj) -> Robj {
    reply(|| {
        let header = npy::read(&PlainFile::open(path(&file)?.as_ref())?)?;
        Ok(list!(
            dim = vec![header.rows as f64, header.cols as f64],
            number = header.number,
            by_rows = header.order == StorageOrder::Rows,
            offset = header.offset as f64
        ))
    })
}

/// A file of another format, of numbers with NumPy's name `number`, in which the smallest integer
/// may stand for NA. One line begins `stride` numbers after the other; where `separate` is a
/// number, each line is in a file whose name ends in its number, from this on
fn described(
    (file, number, na): (&Robj, &Robj, &Robj),
    (dim, by_rows): (&Robj, &Robj),
    (offset, stride, separate, exact): (&Robj, &Robj, &Robj, &Robj),
) -> Result<Description> {
    let name = number.as_str().unwrap_or_default();
    let number = Number::parse(name).ok_or_else(|| Error::Internal {
        what: "a native routine was called without a type of numbers".to_owned(),
    })?;
    let (rows, cols) = args::dims(dim)?;
    Ok(Description {
        path: path(file)?.into(),
        number: if args::flag(na)? {
            number.with_na()
        } else {
            number
        },
        order: if args::flag(by_rows)? {
            StorageOrder::Rows
        } else {
            StorageOrder::Columns
        },
        rows,
        cols,
        offset: args::size(offset)? as u64,
        stride: args::size(stride)?,
        separate: (!separate.is_null())
            .then(|| args::size(separate))
            .transpose()?,
        exact: args::flag(exact)?,
    })
}

/// Fails where a file of another format is not as long as it should be
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_matrix_file_check(
    file: Robj,
    number: Robj,
    na: Robj,
    dim: Robj,
    by_rows: Robj,
    offset: Robj,
    stride: Robj,
    separate: Robj,
    exact: Robj,
) -> Robj {
    reply(|| {
        let (what, how) = ((&file, &number, &na), (&dim, &by_rows));
        Source::open(&described(
            what,
            how,
            (&offset, &stride, &separate, &exact),
        )?)?;
        Ok(())
    })
}

/// Writes all tiles of a file that is being made, from a file of another format
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_matrix_file_import(
    mut out: Robj,
    file: Robj,
    number: Robj,
    na: Robj,
    dim: Robj,
    by_rows: Robj,
    offset: Robj,
    stride: Robj,
    separate: Robj,
    exact: Robj,
) -> Robj {
    reply(|| {
        let (what, how) = ((&file, &number, &na), (&dim, &by_rows));
        let source = Source::open(&described(
            what,
            how,
            (&offset, &stride, &separate, &exact),
        )?)?;
        let (writer, _shown) = writer_shown(&mut out)?;
        with_writer!(writer, |file, _tile| import(&source, file))
    })
}

/// Writes the matrix of these dimensions in a file of tiles to a new file, with NumPy's header or
/// without one
#[extendr]
fn native_matrix_file_export(file: Robj, dim: Robj, to: Robj, npy: Robj) -> Robj {
    reply(|| {
        let (from, to) = (path(&file)?, Path::new(path(&to)?));
        let dim = args::dims(&dim)?;
        let what = if args::flag(&npy)? {
            ExportFormat::Npy
        } else {
            ExportFormat::Raw
        };
        by_element!(kind(from)?.element, |T| {
            let file = TileFile::<T>::open(from, Access::Read)?;
            crate::algo::tiled::known_file::require_same(&file, dim)?;
            export(&file, to, what)
        })
    })
}

/// Fails where a file cannot be made, or there is no room for so many bytes
#[extendr]
fn native_matrix_file_room(file: Robj, bytes: Robj) -> Robj {
    reply(|| {
        // It is removed at once.
        PlainFile::create(path(&file)?.as_ref(), args::size(&bytes)? as u64)?;
        Ok(())
    })
}

extendr_module! {
    mod matrix_file;
    fn native_npy_header;
    fn native_matrix_file_check;
    fn native_matrix_file_import;
    fn native_matrix_file_export;
    fn native_matrix_file_room;
}
