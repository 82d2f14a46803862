//! How much memory the user wants what streams through a matrix in a file to take.

use extendr_api::prelude::*;

use crate::algo::tiled::file_task::WantedMemory;
use crate::base::error::{Error, Result};
use crate::r::args;

pub fn wanted(memory: &Robj) -> Result<WantedMemory> {
    match *args::doubles(memory)? {
        [host, device] => Ok(WantedMemory { host, device }),
        _ => Err(Error::Internal {
            what: "a native routine was called without budgets of memory".to_owned(),
        }),
    }
}
