//! A file of tiles, open.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::buffer::Buffer;
use super::direct::{Access, Disk};
use super::header::fingerprint::fingerprint;
use super::header::Header;
use super::layout::Layout;
use super::slot_uses::SlotUses;
use super::table::{self, Entry, State, Table};
use crate::base::error::{Error, Result};
use crate::base::identity;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;

/// A file of tiles with numbers of type `T`. All methods may be called by several threads at once;
/// tiles are then read and written at the same time. What was written since the last commit is lost
/// when the file is closed. In a forked child a file that its parent writes is in use.
pub struct TileFile<T> {
    pub(super) disk: Disk,
    pub(super) path: PathBuf,
    pub(super) access: Access,
    pub(super) header: Header,
    pub(super) inner: Mutex<Inner>,
    /// Told whenever a slot has become free, may become free by a commit, or a commit has ended.
    pub(super) changed: Condvar,
    pub(super) moved: Arc<Moved>,
    pub(super) element: PhantomData<fn() -> T>,
}

/// What is known of the tiles. The lock is held for moments, never while the disk works.
pub(super) struct Inner {
    /// The tiles as they are read now.
    pub(super) state: State,
    pub(super) entries: Vec<Entry>,
    /// The newest table that is durable, and which of the two it is.
    pub(super) durable: Table,
    pub(super) place: usize,
    pub(super) slots: SlotUses,
    /// A thread is writing a table.
    pub(super) committing: bool,
    /// A commit that failed. What the disk holds of it is not known, and the system reports such an
    /// error once: nothing is written any more.
    pub(super) failed: Option<Error>,
}

impl<T: Scalar> TileFile<T> {
    /// An open file, with its newest table.
    pub(super) fn with(
        disk: Disk,
        path: &Path,
        access: Access,
        header: Header,
        table: Table,
        place: usize,
    ) -> Self {
        // Named by the table on the disk and by the one in memory.
        let slots = SlotUses::new(header.slots, table.slots().chain(table.slots()));
        TileFile {
            disk,
            path: path.to_owned(),
            access,
            header,
            inner: Mutex::new(Inner {
                state: table.state,
                entries: table.entries.clone(),
                durable: table,
                place,
                slots,
                committing: false,
                failed: None,
            }),
            changed: Condvar::new(),
            moved: Arc::default(),
            element: PhantomData,
        }
    }

    pub fn layout(&self) -> &Layout {
        &self.header.layout
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file.
    pub fn bytes(&self) -> u64 {
        self.header.bytes
    }

    /// What tells the contents of this file from those of others. They are not read: the table has
    /// a checksum of each tile.
    pub fn fingerprint(&self) -> u64 {
        let inner = self.lock();
        let sums = inner.entries.iter().map(|entry| entry.sum);
        fingerprint(self.header.element, &self.header.layout, sums)
    }

    /// The fingerprint of the matrix that this file was begun from; none of a file that was made
    /// for a matrix.
    pub fn origin(&self) -> Option<u64> {
        self.header.origin
    }

    /// What no other file has in common with this one as the last commit left it: its own identity,
    /// the number of the commit, and its fingerprint, which also tells a copy of the file that went
    /// on otherwise.
    pub fn identity(&self) -> String {
        let generation = self.lock().durable.generation;
        let own = identity::text(&self.header.identity);
        format!("{own}-{generation}-{:016x}", self.fingerprint())
    }

    /// Removes the file. There is nothing to do about it where that fails.
    pub fn remove(self) {
        let TileFile { disk, path, .. } = self;
        disk.remove(&path);
    }

    /// Memory for one tile.
    pub fn buffer(&self) -> Result<Buffer<T>> {
        Buffer::new(&self.header.layout)
    }

    pub fn state(&self) -> State {
        self.lock().state
    }

    /// Changes the state, and makes it durable with all tiles written until now.
    pub fn set_state(&self, state: State) -> Result<()> {
        self.writable()?;
        self.lock().state = state;
        self.commit()
    }

    /// Whether the tile was ever written.
    pub fn has(&self, tile: usize) -> bool {
        self.lock().entries.get(tile).is_some_and(Entry::present)
    }

    /// The step with which the tile was written; zero where it was not.
    pub fn step(&self, tile: usize) -> u32 {
        self.lock().entries.get(tile).map_or(0, |e| e.step)
    }

    /// The bytes of tiles that were read and written since the file was opened.
    pub fn moved(&self) -> (u64, u64) {
        self.moved.bytes()
    }

    /// The same, for who watches it.
    pub fn counter(&self) -> Arc<Moved> {
        self.moved.clone()
    }

    /// Fills the buffer with a tile that is there. A tile that is not what was written is an error,
    /// and the buffer then holds nothing of use.
    pub fn read(&self, tile: usize, buffer: &mut Buffer<T>) -> Result<()> {
        self.fits(tile, buffer)?;
        if self.access == Access::Write {
            // Elsewhere tiles may have moved since.
            self.disk.is_ours()?;
        }
        let entry = {
            let mut inner = self.lock();
            let entry = inner.entries[tile];
            if !entry.present() {
                return Err(internal(format!("tile {tile} was never written")));
            }
            // Nobody writes to the slot while it is read, though the tile may get another one
            // meanwhile.
            inner.slots.keep(entry.slot);
            entry
        };
        let filled = self
            .disk
            .read(buffer.bytes_mut(), self.header.slot(entry.slot));
        self.lock().slots.release(entry.slot);
        self.changed.notify_all();
        let filled = filled?;
        self.moved.has_read(self.header.slot_bytes);
        if filled && crc32fast::hash(buffer.bytes()) == entry.sum {
            return Ok(());
        }
        let (i, j) = self.header.layout.position(tile);
        Err(Error::Corrupt {
            path: self.disk.name().to_owned(),
            row: i + 1,
            col: j + 1,
        })
    }

    /// Writes a tile, which has had so many steps of the factorization. It is durable after the
    /// next commit; until then the file on the disk has the tile as it was. Commits by itself when
    /// no slot is free. An error leaves the tile as it was.
    pub fn write(&self, tile: usize, buffer: &Buffer<T>, step: u32) -> Result<()> {
        self.writable()?;
        self.fits(tile, buffer)?;
        let sum = crc32fast::hash(buffer.bytes());
        let slot = self.free_slot()?;
        let result = self.disk.write(buffer.bytes(), self.header.slot(slot));
        let mut inner = self.lock();
        let unused = if result.is_ok() {
            let entry = Entry { slot, step, sum };
            std::mem::replace(&mut inner.entries[tile], entry).slot
        } else {
            slot
        };
        if unused != table::NONE {
            inner.slots.release(unused);
        }
        drop(inner);
        self.changed.notify_all();
        result?;
        self.moved.has_written(self.header.slot_bytes);
        Ok(())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(&self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        self.changed
            .wait(inner)
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writable(&self) -> Result<()> {
        match self.access {
            Access::Write => self.disk.is_ours(),
            Access::Read => Err(internal("the file was opened to be read".to_owned())),
        }
    }

    fn fits(&self, tile: usize, buffer: &Buffer<T>) -> Result<()> {
        let tiles = self.header.layout.tiles();
        if tile >= tiles {
            return Err(internal(format!("tile {tile} of {tiles}")));
        }
        if buffer.bytes().len() as u64 != self.header.slot_bytes {
            return Err(internal("the buffer of a tile of another size".to_owned()));
        }
        Ok(())
    }
}

fn internal(what: String) -> Error {
    Error::Internal { what }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
