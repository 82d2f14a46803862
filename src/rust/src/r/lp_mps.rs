//! `lp_read_mps`.

use std::fs::{metadata, File};

use extendr_api::prelude::*;

use crate::error::{Error, Result};
use crate::foreign::mps::{self, Layout};
use crate::r::args;
use crate::r::reply::{positions, reply};
use crate::r::tile_matrix::path;

/// Fails where no file can be read from its beginning to its end: a folder, or a pipe, on which a reader would wait
#[extendr]
fn native_readable_file(file: Robj) -> Robj {
    reply(|| {
        let path = path(&file)?;
        let failed = |what: String| Error::File {
            path: path.to_string(),
            what,
        };
        // Opening a pipe waits for its other end, so the kind comes first.
        let kind = metadata(path).map_err(|e| failed(e.to_string()))?;
        if !kind.is_file() {
            let what = if kind.is_dir() {
                "a folder"
            } else {
                "no regular file"
            };
            return Err(failed(format!("it is {what}")));
        }
        File::open(path).map_err(|e| failed(e.to_string()))?;
        Ok(())
    })
}

fn layout(x: &Robj) -> Result<Option<Layout>> {
    match x.as_str() {
        Some("auto") => Ok(None),
        Some("fixed") => Ok(Some(Layout::Fixed)),
        Some("free") => Ok(Some(Layout::Free)),
        _ => Err(Error::Internal {
            what: "a native routine was called without the layout of an MPS file".to_owned(),
        }),
    }
}

/// The linear program that the bytes of an MPS file say, or the number of the line that is wrong, and why
#[extendr]
fn native_read_mps(text: Robj, type_: Robj) -> Robj {
    reply(|| {
        let p = match mps::read(args::bytes(&text)?, layout(&type_)?) {
            Ok(p) => p,
            Err(fault) => return Ok(list!(line = fault.line as f64, fault = fault.what)),
        };
        let relations: Vec<i32> = p.relations.iter().map(|&r| r as i32 + 1).collect();
        Ok(list!(
            name = p.name,
            objective = p.objective,
            max = p.maximize,
            constant = p.constant,
            costs = p.costs,
            rows = p.rows,
            relations = relations,
            rhs = p.rhs,
            ranges = p.ranges,
            columns = p.columns,
            lower = p.lower,
            upper = p.upper,
            i = positions(&p.places.0),
            j = positions(&p.places.1),
            v = p.values,
            integers = positions(&p.integers),
            notes = p.notes.iter().map(|n| n.text.as_str()).collect::<Vec<_>>(),
            lines = p.notes.iter().map(|n| n.line as f64).collect::<Vec<_>>(),
            counts = p.notes.iter().map(|n| n.count as f64).collect::<Vec<_>>()
        ))
    })
}

extendr_module! {
    mod lp_mps;
    fn native_readable_file;
    fn native_read_mps;
}
