//! `gpu_save` and `gpu_restore`: matrices of a device in files.

use std::path::Path;

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::r::args::Out;
use crate::r::handle::resident;
use crate::r::on_resident::on_resident;
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::path;
use crate::saved::head::Head;
use crate::saved::{kind, rds, values};
use crate::tiles::{check_regular, PlainFile};

/// Writes a new file with a matrix and these bytes about it
#[extendr]
fn native_resident_save(x: Robj, description: Robj, file: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let file = Path::new(path(&file)?);
        let description = description.as_raw_slice().ok_or_else(|| Error::Internal {
            what: "a native routine was called without bytes".to_owned(),
        })?;
        on_resident!(&how, resident(&x)?, |dev, T, a| {
            values::write::<T, _>(dev, a, description, file)
        })
    })
}

/// What kind of file this is
#[extendr]
fn native_saved_kind(file: Robj) -> Robj {
    reply(|| {
        let kind = kind(path(&file)?.as_ref())?;
        Ok(list!(kind = kind.name()))
    })
}

fn open(file: &Robj) -> Result<(PlainFile, Head)> {
    let file = PlainFile::open(path(file)?.as_ref())?;
    let head = Head::read(&file)?;
    Ok((file, head))
}

/// What comes before the values in a file of `native_resident_save`
#[extendr]
fn native_saved_head(file: Robj) -> Robj {
    reply(|| {
        let (file, head) = open(&file)?;
        let description = head.description(&file)?;
        Ok(list!(
            dim = vec![head.rows as f64, head.cols as f64],
            single = head.size == size_of::<f32>(),
            description = Raw::from_bytes(&description)
        ))
    })
}

/// out = the values in such a file, which is to have this description
#[extendr]
fn native_saved_values(file: Robj, description: Robj, out: Robj) -> Robj {
    reply(|| {
        let (file, head) = open(&file)?;
        let mut out = Out::new(&out, (head.rows, head.cols))?;
        if description.as_raw_slice() != Some(&head.description(&file)?[..]) {
            return Err(Error::FileInUse { path: file.name() });
        }
        values::read(&file, &head, out.slice())
    })
}

/// Fails where R should not read a file of an earlier version, which was unpacked from `packed` if
/// that is a name
#[extendr]
fn native_saved_rds_check(file: Robj, packed: Robj) -> Robj {
    reply(|| {
        let packed = (!packed.is_null()).then(|| path(&packed)).transpose()?;
        rds::check(path(&file)?.as_ref(), packed.map(Path::new))
    })
}

/// Fails where something else than a regular file has this name; not where nothing has
#[extendr]
fn native_file_check(file: Robj) -> Robj {
    reply(|| check_regular(path(&file)?.as_ref()))
}

extendr_module! {
    mod save;
    fn native_resident_save;
    fn native_saved_kind;
    fn native_saved_head;
    fn native_saved_values;
    fn native_saved_rds_check;
    fn native_file_check;
}
