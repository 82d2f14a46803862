//! `lp_read_mps`.

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::foreign::mps::{self, FieldLayout};
use crate::r::args;
use crate::r::reply::{positions, reply};

fn layout(x: &Robj) -> Result<Option<FieldLayout>> {
    match x.as_str() {
        Some("auto") => Ok(None),
        Some("fixed") => Ok(Some(FieldLayout::Fixed)),
        Some("free") => Ok(Some(FieldLayout::Free)),
        _ => Err(Error::Internal {
            what: "a native routine was called without the layout of an MPS file".to_owned(),
        }),
    }
}

/// The linear program that the bytes of an MPS file say, or the number of the line that is wrong,
/// and why
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
    fn native_read_mps;
}
