//! A device's queue of work while tiles are streamed.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan_executor::{PlanExecutor, Store};

/// What the device was given and has perhaps not done.
pub(crate) struct Queue<'l, T: Scalar, D: AsyncCopy<T>, S> {
    dev: &'l D,
    line: &'l PlanExecutor<'l, T, S>,
    /// Copies, by the steps that they finish.
    copies: VecDeque<(usize, Rc<D::Mark>)>,
    /// What is computed with each tile, its operations, and how far all is then.
    computing: VecDeque<(Rc<D::Mark>, f64, progress::ProgressMark)>,
}

/// Tiles that may wait for the device, and their operations where there are more than two: an
/// interrupt waits for all of them.
const TILES_AHEAD: usize = 64;
const OPERATIONS_AHEAD: f64 = 4e12;

impl<'l, T: Scalar, D: AsyncCopy<T>, S: Store<T>> Queue<'l, T, D, S> {
    pub(crate) fn new(dev: &'l D, line: &'l PlanExecutor<'l, T, S>) -> Self {
        Queue {
            dev,
            line,
            copies: VecDeque::new(),
            computing: VecDeque::new(),
        }
    }

    /// A copy was begun that finishes step x.
    pub(crate) fn copies(&mut self, x: usize, mark: Rc<D::Mark>) {
        self.copies.push_back((x, mark));
    }

    /// So many operations were begun.
    pub(crate) fn computes(&mut self, mark: Rc<D::Mark>, operations: f64) {
        self.computing
            .push_back((mark, operations, progress::mark()));
    }

    /// Finishes the steps whose copies are done; these end in the order of their beginning.
    fn retire(&mut self) -> Result<()> {
        while let Some((x, mark)) = self.copies.front() {
            if !self.dev.is_past(mark)? {
                break;
            }
            self.line.finish(*x);
            self.copies.pop_front();
        }
        Ok(())
    }

    /// Waits for the earlier steps that this one needs.
    pub(crate) fn await_step(&mut self, x: usize) -> Result<()> {
        loop {
            interrupt::poll()?;
            self.retire()?;
            let seen = self.line.progress();
            if self.line.ready(x)? {
                return Ok(());
            }
            let most = if self.copies.is_empty() { 20_000 } else { 50 };
            self.line.pause(seen, Duration::from_micros(most));
        }
    }

    /// Waits while too much is queued.
    pub(crate) fn await_some(&mut self) -> Result<()> {
        loop {
            let operations: f64 = self.computing.iter().map(|(_, n, _)| n).sum();
            let few = self.computing.len() <= TILES_AHEAD && operations <= OPERATIONS_AHEAD;
            let Some((mark, _, so_far)) = self.computing.front() else {
                return Ok(());
            };
            if self.dev.is_past(mark)? {
                progress::reached(*so_far);
                self.computing.pop_front();
            } else if few || self.computing.len() <= 2 {
                return Ok(());
            } else {
                self.retire()?;
                interrupt::poll()?;
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    }

    pub(crate) fn await_copies(&mut self) -> Result<()> {
        while !self.copies.is_empty() {
            self.retire()?;
            interrupt::poll()?;
            self.line.go_on()?;
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }
}

/// Waits for the device when it is dropped, so that memory that copies use can be released.
pub(crate) struct Drained<'a, T: Scalar, D: AsyncCopy<T>>(&'a D, PhantomData<T>);

impl<'a, T: Scalar, D: AsyncCopy<T>> Drained<'a, T, D> {
    pub(crate) fn new(dev: &'a D) -> Self {
        Drained(dev, PhantomData)
    }
}

impl<T: Scalar, D: AsyncCopy<T>> Drop for Drained<'_, T, D> {
    fn drop(&mut self) {
        self.0.drain();
    }
}
