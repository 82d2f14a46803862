//! The part of a plan that one device carries out.

use crate::base::error::{Error, Result};
use crate::tiles::plan::{Op, Plan, Request, Use};
use crate::tiles::schedule::Task;
use crate::tiles::{Layout, Strips};

/// What one device does.
pub(crate) struct Share {
    /// The numbers of its tasks.
    pub(crate) tasks: Vec<usize>,
    /// What lies where in its memory; requests are places in `tasks`.
    pub(crate) plan: Plan,
    /// For each step of it, the earlier ones that it comes after.
    pub(crate) before: Vec<Vec<usize>>,
}

impl Share {
    /// What a step of the device's plan asks of the host's memory, strip by strip.
    pub(super) fn requests_by(&self, tasks: &[Task], strips: &Strips, op: &Op) -> Vec<Request> {
        let each = |tile: usize, how: Use, store: bool| {
            let ask = |strip| Request {
                tiles: vec![(strip, how)],
                store,
            };
            strips.of(tile).map(ask).collect()
        };
        match op {
            Op::Load { tile, .. } => each(*tile, Use::Read, false),
            Op::Store { tile, request, .. } => {
                let done = tasks[self.tasks[*request]].is_last();
                each(*tile, Use::Replace, done)
            }
            Op::Run { .. } => vec![Request::none()],
        }
    }
}

/// What a task asks for.
pub(super) fn request_of(layout: &Layout, task: &Task) -> Result<Request> {
    let number = |(i, j)| {
        layout.index(i, j).ok_or_else(|| Error::Internal {
            what: "a step needs a tile that there is not".into(),
        })
    };
    let mut tiles = vec![(number(task.target())?, Use::Change)];
    for at in task.sources() {
        tiles.push((number(at)?, Use::Read));
    }
    Ok(Request {
        tiles,
        store: task.is_last(),
    })
}
