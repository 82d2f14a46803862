//! Panels of columns of a triangle in slots of memory. Threads load pieces of panels ahead and
//! store pieces of computed panels, while the panels are computed with in order.
//!
//! A piece is loaded or stored at once: a tile of a file, or some columns of a matrix. It may touch
//! several panels. A panel has a slot until all of its pieces are stored. Panels are in order, as
//! are pieces by the columns that they touch. With pieces that touch at most m + 1 panels, 2 m + 1
//! slots prevent a deadlock: the first panel that is not stored waits for pieces that touch at most
//! m later panels, and the loads that these need touch m more.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use crate::algo::tiled::engine::slots::HostSlots;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::base::spawn;
use crate::base::threads::wanted;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::memory::Slots;
use crate::tiles::{Layout, Shape, Strips};

/// The source of a triangular matrix's columns, and the destination of another one's.
pub(crate) trait Pieces<T: Scalar>: Sync {
    /// Memory of a thread that loads or stores.
    type Scratch;
    fn order(&self) -> usize;
    fn count(&self) -> usize;
    /// The columns that a piece touches. Neither their beginning nor their end is before that of an
    /// earlier piece.
    fn columns(&self, piece: usize) -> Range<usize>;
    fn scratch(&self) -> Result<Self::Scratch>;
    /// Fills the piece's part of the panels in the triangle. Other entries that it touches are then
    /// undefined.
    fn load(&self, piece: usize, scratch: &mut Self::Scratch, to: &Window<'_, T>) -> Result<()>;
    fn store(&self, piece: usize, scratch: &mut Self::Scratch, from: &Window<'_, T>) -> Result<()>;
}

/// How a matrix of order n is cut into panels of so many columns, a multiple of
/// [`PANEL`](crate::device::update::PANEL).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) n: usize,
    pub(crate) width: usize,
}

impl Cut {
    pub(crate) fn panels(&self) -> usize {
        self.n.div_ceil(self.width)
    }

    /// First column of a panel, and how many it has.
    pub(crate) fn panel(&self, p: usize) -> (usize, usize) {
        let first = p * self.width;
        (first, self.width.min(self.n - first))
    }

    /// Rows and columns of a panel.
    pub(crate) fn shape(&self, p: usize) -> (usize, usize) {
        let (first, cols) = self.panel(p);
        (first + cols, cols)
    }

    /// The panels that columns are of.
    fn touched(&self, columns: &Range<usize>) -> Range<usize> {
        columns.start / self.width..columns.end.div_ceil(self.width)
    }

    /// Panels as parts of one tile, which slots are for.
    fn strips(&self) -> Result<Strips> {
        let n = self.n.max(1);
        Ok(Strips::new(
            Layout::new(n, n, n, Shape::Triangle)?,
            self.width,
        ))
    }

    /// Bytes of a slot for numbers of so many bytes.
    pub(crate) fn bytes<T>(&self) -> u64 {
        let numbers = (self.n as u64).saturating_mul(self.width.min(self.n) as u64);
        numbers.saturating_mul(size_of::<T>() as u64)
    }

    /// The fewest slots with which pieces of so many columns find their panels.
    pub(super) fn least_slots(&self, columns: usize) -> usize {
        2 * columns.saturating_sub(1).div_ceil(self.width) + 1
    }

    /// Memory for so many panels.
    pub(crate) fn slots<'d, T: Scalar, D: AsyncCopy<T>>(
        &self,
        dev: &'d D,
        count: usize,
    ) -> Result<HostSlots<'d, T, D>> {
        HostSlots::new(dev, count.min(self.panels()), &self.strips()?, wanted())
    }
}

/// The panels in memory, and their progress.
pub(super) struct Window<'s, T> {
    cut: Cut,
    slots: &'s Slots<T>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The next pieces that nobody has taken.
    load: usize,
    store: usize,
    /// Pieces that each panel still waits for: to be loaded, and to be stored.
    missing: Vec<u32>,
    left: Vec<u32>,
    /// Panels before these are computed; and stored, so that their slots are free.
    computed: usize,
    stored: usize,
    failed: Option<Error>,
}

impl<'s, T: Scalar> Window<'s, T> {
    pub(crate) fn new(cut: Cut, slots: &'s Slots<T>, pieces: &impl Pieces<T>) -> Self {
        let mut missing = vec![0; cut.panels()];
        for piece in 0..pieces.count() {
            for p in cut.touched(&pieces.columns(piece)) {
                missing[p] += 1;
            }
        }
        Window {
            cut,
            slots,
            state: Mutex::new(State {
                load: 0,
                store: 0,
                left: missing.clone(),
                missing,
                computed: 0,
                stored: 0,
                failed: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// A panel's memory, its columns next to one another.
    pub(crate) fn address(&self, p: usize) -> *mut T {
        self.slots.address(p % self.slots.count())
    }

    /// The memory of a column of the matrix, of as many rows as its panel has.
    pub(crate) fn column(&self, j: usize) -> *mut T {
        let (p, c) = (j / self.cut.width, j % self.cut.width);
        let (rows, _) = self.cut.shape(p);
        // SAFETY: the panel has the column.
        unsafe { self.address(p).add(c * rows) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        let waited = self.changed.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all threads. [`Window::finish`] reports the first failure.
    pub(crate) fn fail(&self, e: Error) {
        self.lock().failed.get_or_insert(e);
        self.changed.notify_all();
    }

    /// Whether a panel is loaded.
    pub(crate) fn has(&self, p: usize) -> Result<bool> {
        let state = self.lock();
        state.failed.clone().map_or(Ok(()), Err)?;
        Ok(state.missing[p] == 0)
    }

    /// Waits for something to change, so long at most.
    pub(crate) fn pause(&self, most: Duration) {
        let _ = self.changed.wait_timeout(self.lock(), most);
    }

    /// The panels up to this one have been computed.
    pub(crate) fn computed(&self, p: usize) {
        self.lock().computed = p + 1;
        self.changed.notify_all();
    }

    /// Waits until all is stored.
    pub(crate) fn finish(&self) -> Result<()> {
        loop {
            interrupt::poll()?;
            let state = self.lock();
            state.failed.clone().map_or(Ok(()), Err)?;
            if state.stored == state.left.len() {
                return Ok(());
            }
            let most = Duration::from_millis(20);
            let _ = self.changed.wait_timeout(state, most);
        }
    }

    /// A piece that there is room for; none at the end, or after a failure.
    fn next_to_load(&self, pieces: &impl Pieces<T>) -> Option<usize> {
        let mut state = self.lock();
        let piece = state.load;
        if piece == pieces.count() {
            return None;
        }
        state.load += 1;
        let last = self.cut.touched(&pieces.columns(piece)).end;
        while state.failed.is_none() && last > state.stored + self.slots.count() {
            state = self.wait(state);
        }
        state.failed.is_none().then_some(piece)
    }

    /// A piece of panels that are computed.
    fn next_to_store(&self, pieces: &impl Pieces<T>) -> Option<usize> {
        let mut state = self.lock();
        let piece = state.store;
        if piece == pieces.count() {
            return None;
        }
        state.store += 1;
        let last = self.cut.touched(&pieces.columns(piece)).end;
        while state.failed.is_none() && last > state.computed {
            state = self.wait(state);
        }
        state.failed.is_none().then_some(piece)
    }

    fn is_loaded(&self, columns: Range<usize>) {
        let mut state = self.lock();
        for p in self.cut.touched(&columns) {
            state.missing[p] -= 1;
        }
        self.changed.notify_all();
    }

    fn is_stored(&self, columns: Range<usize>) {
        let mut state = self.lock();
        for p in self.cut.touched(&columns) {
            state.left[p] -= 1;
        }
        while state.left.get(state.stored) == Some(&0) {
            state.stored += 1;
        }
        self.changed.notify_all();
    }

    /// What a thread does that loads.
    fn load<P: Pieces<T>>(&self, pieces: &P, mut scratch: P::Scratch) {
        while let Some(piece) = self.next_to_load(pieces) {
            match pieces.load(piece, &mut scratch, self) {
                Ok(()) => self.is_loaded(pieces.columns(piece)),
                Err(e) => return self.fail(e),
            }
        }
    }

    fn store<P: Pieces<T>>(&self, pieces: &P, mut scratch: P::Scratch) {
        while let Some(piece) = self.next_to_store(pieces) {
            match pieces.store(piece, &mut scratch, self) {
                Ok(()) => self.is_stored(pieces.columns(piece)),
                Err(e) => return self.fail(e),
            }
        }
    }

    /// Loads and stores by so many threads each, while `compute` has the panels computed, and stops
    /// them when it fails.
    pub(crate) fn run<P>(
        &self,
        pieces: &P,
        threads: usize,
        compute: impl FnOnce() -> Result<()>,
    ) -> Result<()>
    where
        P: Pieces<T>,
        P::Scratch: Send,
    {
        thread::scope(|scope| {
            let _stopping = Stopping(self);
            for _ in 0..threads {
                let scratch = pieces.scratch()?;
                start(scope, || self.load(pieces, scratch))?;
                let scratch = pieces.scratch()?;
                start(scope, || self.store(pieces, scratch))?;
            }
            compute()?;
            self.finish()
        })
    }
}

fn start<'s, 'e>(scope: &'s Scope<'s, 'e>, work: impl FnOnce() + Send + 's) -> Result<()> {
    spawn::scoped(scope, work).map(|_| ())
}

/// Ends the threads when it is dropped, after a panic as well. When all is done there are none.
struct Stopping<'w, T: Scalar>(&'w Window<'w, T>);

impl<T: Scalar> Drop for Stopping<'_, T> {
    fn drop(&mut self) {
        self.0.fail(Error::Interrupted);
    }
}
