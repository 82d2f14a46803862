//! Tasks that a device computes, and the ends of tasks and copies.

use std::collections::VecDeque;
use std::rc::Rc;

use super::{Computing, Driver};
use crate::algo::tiled::engine::task::{compute, minor};
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan_executor::Store;
use crate::tiles::schedule::Task;

/// Tasks in a device's queue, and their operations where there are more than two: an interrupt
/// waits for all of them.
const TASKS_AHEAD: usize = 24;
const OPERATIONS_AHEAD: f64 = 4e12;

impl<T: Scalar, D: AsyncCopy<T>, S: Store<T>> Driver<'_, '_, T, D, S> {
    pub(super) fn compute(&mut self, step: usize, task: Task, used: &[usize]) -> Result<()> {
        for slot in used {
            if let Some(mark) = self.places[*slot].arriving() {
                self.dev.follow(&mark)?;
            }
        }
        let Some((first, others)) = used.split_first() else {
            return Ok(());
        };
        if let Some(mark) = self.places[*first].leaving() {
            self.dev.follow(&mark)?;
        }
        let (before, rest) = self.places.split_at_mut(*first);
        let Some((target, after)) = rest.split_first_mut() else {
            return Ok(());
        };
        let sources: Vec<&D::Mat<'_>> = others
            .iter()
            .filter_map(|s| match s.checked_sub(*first + 1) {
                Some(s) => after.get(s),
                None => before.get(*s),
            })
            .map(|place| &place.matrix)
            .collect();
        // What is done is counted when it is.
        let _uncounted = progress::part(0.0);
        let outcome = match task {
            Task::Factor { .. } => {
                let started = self.dev.start_potrf(&mut target.matrix);
                Some(started.map_err(|e| minor(&self.work.layout, task, e))?)
            }
            _ => {
                compute(
                    self.dev,
                    &self.work.layout,
                    task,
                    &mut target.matrix,
                    &sources,
                )?;
                None
            }
        };
        let end = Rc::new(self.dev.mark()?);
        for slot in used {
            self.places[*slot].used(end.clone());
        }
        self.computing.push_back(Computing {
            step,
            task,
            end,
            outcome,
        });
        Ok(())
    }

    /// Whether too much is queued.
    pub(super) fn are_many(&self) -> bool {
        let tile = self.work.layout.tile();
        let operations: f64 = self.computing.iter().map(|c| c.task.operations(tile)).sum();
        let few = self.computing.len() <= TASKS_AHEAD && operations <= OPERATIONS_AHEAD;
        !few && self.computing.len() > 2
    }

    /// Finishes the steps whose copies are done, and counts the tasks that are done. A copy comes
    /// after the tasks before it. Their outcomes are checked first, so that no tile of a failed
    /// task is stored.
    pub(super) fn retire(&mut self) -> Result<()> {
        let mut copied = Vec::new();
        for copies in &mut self.under_way {
            while let Some((x, copy)) = copies.front() {
                if !self.dev.is_past(copy)? {
                    break;
                }
                copied.push(*x);
                copies.pop_front();
            }
        }
        if self.under_way.iter().all(VecDeque::is_empty) {
            self.copying = None;
        }
        while let Some(first) = self.computing.front() {
            if !self.dev.is_past(&first.end)? {
                break;
            }
            if let Some(outcome) = &first.outcome {
                let done = self.dev.outcome(outcome);
                done.map_err(|e| minor(&self.work.layout, first.task, e))?;
            }
            let operations = first.task.operations(self.work.layout.tile());
            self.line.count(operations);
            self.line.finish(first.step);
            self.computing.pop_front();
        }
        for x in copied {
            self.line.finish(x);
        }
        if self.number == 0 {
            self.line.show();
        }
        Ok(())
    }
}
