//! A file of tiles, open.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::buffer::{Buffer, Pages, PAGE};
use super::direct::{remove, Access, Disk};
use super::header::{Element, Header};
use super::layout::Layout;
use super::slots::Slots;
use super::table::{Entry, State, Table};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// A file of tiles with numbers of type `T`. All methods may be called by several threads at once; tiles are then read and written at
/// the same time. What was written since the last commit is lost when the file is closed.
pub struct TileFile<T> {
    disk: Disk,
    path: PathBuf,
    access: Access,
    header: Header,
    inner: Mutex<Inner>,
    /// Told whenever a slot has become free, may become free by a commit, or a commit has ended.
    changed: Condvar,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    element: PhantomData<fn() -> T>,
}

/// What is known of the tiles. The lock is held for moments, never while the disk works.
struct Inner {
    /// The tiles as they are read now.
    state: State,
    entries: Vec<Entry>,
    /// The newest table that is durable, and which of the two it is.
    durable: Table,
    place: usize,
    slots: Slots,
    /// A thread is writing a table.
    committing: bool,
    /// A commit that failed. What the disk holds of it is not known, and the system reports such an error once: nothing is written any more.
    failed: Option<Error>,
}

impl<T: Scalar> TileFile<T> {
    /// Makes a file with no tile in it, open for writing. All the room it will ever need is reserved. Where that fails there is
    /// no file.
    pub fn create(path: impl AsRef<Path>, layout: Layout) -> Result<Self> {
        let path = path.as_ref();
        let header = Header::new(Element::of::<T>(), layout)?;
        let disk = Disk::create(path, header.bytes)?;
        let begun = Self::begin(&disk, path, &header);
        match begun {
            Ok(table) => Ok(Self::with(disk, path, Access::Write, header, table, 0)),
            Err(e) => {
                drop(disk);
                remove(path);
                Err(e)
            }
        }
    }

    /// The first page comes last: a file without it is none.
    fn begin(disk: &Disk, path: &Path, header: &Header) -> Result<Table> {
        let tiles = header.layout.tiles();
        let mut entries = Vec::new();
        entries
            .try_reserve_exact(tiles)
            .map_err(|_| Error::HostMemory {
                needed: (tiles as u64).saturating_mul(size_of::<Entry>() as u64),
            })?;
        entries.resize(tiles, Entry::ABSENT);
        let table = Table {
            generation: 1,
            state: State::Matrix,
            entries,
        };
        disk.write(&table.encode()?, header.tables[0])?;
        disk.sync()?;
        disk.write(&header.encode()?, 0)?;
        disk.sync_all(path)?;
        Ok(table)
    }

    /// Opens a file as the last commit left it.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref();
        let disk = Disk::open(path, access)?;
        let header = read_header(&disk)?;
        let wrong = |what: String| {
            Err(Error::FileFormat {
                path: disk.name().to_owned(),
                what,
            })
        };
        if header.element != Element::of::<T>() {
            let name = |e| match e {
                Element::F64 => "double",
                Element::F32 => "single",
            };
            return wrong(format!(
                "the numbers in the file are of {} precision, not of {}",
                name(header.element),
                name(Element::of::<T>())
            ));
        }
        let bytes = disk.bytes()?;
        if bytes < header.bytes {
            return wrong(format!(
                "the file has been cut off: it has {bytes} bytes instead of {}",
                header.bytes
            ));
        }
        let tiles = header.layout.tiles();
        let mut newest: Option<(usize, Table)> = None;
        for (place, at) in header.tables.into_iter().enumerate() {
            let mut pages = Pages::new(super::table::bytes(tiles))?;
            if !disk.read(&mut pages, at)? {
                continue;
            }
            let Some(table) = Table::decode(&pages, tiles, header.slots) else {
                continue;
            };
            if newest
                .as_ref()
                .is_none_or(|(_, other)| other.generation < table.generation)
            {
                newest = Some((place, table));
            }
        }
        let Some((place, table)) = newest else {
            return wrong("both tables of the file are damaged".to_owned());
        };
        if access == Access::Write {
            // The process that wrote this table may have been stopped before it was durable. Slots that the other one names are
            // free only then.
            disk.sync()?;
        }
        Ok(Self::with(disk, path, access, header, table, place))
    }

    fn with(
        disk: Disk,
        path: &Path,
        access: Access,
        header: Header,
        table: Table,
        place: usize,
    ) -> Self {
        // Named by the table on the disk and by the one in memory.
        let slots = Slots::new(header.slots, table.slots().chain(table.slots()));
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
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
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
        (
            self.bytes_read.load(Ordering::Relaxed),
            self.bytes_written.load(Ordering::Relaxed),
        )
    }

    /// Fills the buffer with a tile that is there. A tile that is not what was written is an error, and the buffer then holds
    /// nothing of use.
    pub fn read(&self, tile: usize, buffer: &mut Buffer<T>) -> Result<()> {
        self.fits(tile, buffer)?;
        let entry = {
            let mut inner = self.lock();
            let entry = inner.entries[tile];
            if !entry.present() {
                return Err(internal(format!("tile {tile} was never written")));
            }
            // Nobody writes to the slot while it is read, though the tile may get another one meanwhile.
            inner.slots.keep(entry.slot);
            entry
        };
        let filled = self
            .disk
            .read(buffer.bytes_mut(), self.header.slot(entry.slot));
        self.lock().slots.release(entry.slot);
        self.changed.notify_all();
        let filled = filled?;
        self.bytes_read
            .fetch_add(self.header.slot_bytes, Ordering::Relaxed);
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

    /// Writes a tile, which has had so many steps of the factorization. It is durable after the next commit; until then
    /// the file on the disk has the tile as it was. Commits by itself when no slot is free. An error leaves the tile as it was.
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
        if unused != super::table::NONE {
            inner.slots.release(unused);
        }
        drop(inner);
        self.changed.notify_all();
        result?;
        self.bytes_written
            .fetch_add(self.header.slot_bytes, Ordering::Relaxed);
        Ok(())
    }

    /// A slot that no table names. There are more slots than tiles, so where none is free, either a commit sets some free, or
    /// another thread is about to: it reads, writes or commits.
    fn free_slot(&self) -> Result<u32> {
        let mut inner = self.lock();
        loop {
            if let Some(e) = &inner.failed {
                return Err(e.clone());
            }
            if let Some(slot) = inner.slots.take() {
                return Ok(slot);
            }
            let old = inner.durable.entries.iter().zip(&inner.entries);
            let outdated = old.filter(|(old, new)| old.present() && old.slot != new.slot);
            if !inner.committing && outdated.count() > 0 {
                inner = self.commit_locked(inner)?;
            } else {
                inner = self.wait(inner);
            }
        }
    }

    /// Makes the state and all tiles durable whose writing has ended.
    pub fn commit(&self) -> Result<()> {
        self.writable()?;
        let mut inner = self.lock();
        while inner.committing {
            inner = self.wait(inner);
        }
        self.commit_locked(inner).map(drop)
    }

    /// The same, where no other thread commits. Other threads go on while the disk works: slots that the new table or the old
    /// one names stay as they are.
    fn commit_locked<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
    ) -> Result<MutexGuard<'a, Inner>> {
        if let Some(e) = &inner.failed {
            return Err(e.clone());
        }
        if inner.state == inner.durable.state && inner.entries == inner.durable.entries {
            return Ok(inner);
        }
        let table = Table {
            generation: inner.durable.generation + 1,
            state: inner.state,
            entries: inner.entries.clone(),
        };
        let pages = table.encode()?;
        let place = 1 - inner.place;
        for slot in table.slots() {
            inner.slots.keep(slot);
        }
        inner.committing = true;
        drop(inner);

        let result = self.store(&pages, place);

        let mut inner = self.lock();
        inner.committing = false;
        self.changed.notify_all();
        match result {
            Ok(()) => {
                inner.place = place;
                let old = std::mem::replace(&mut inner.durable, table);
                for slot in old.slots() {
                    inner.slots.release(slot);
                }
                Ok(inner)
            }
            Err(e) => {
                inner.failed = Some(e.clone());
                Err(e)
            }
        }
    }

    /// A table names only what is durable before it.
    fn store(&self, pages: &Pages, place: usize) -> Result<()> {
        self.disk.sync()?;
        self.disk.write(pages, self.header.tables[place])?;
        self.disk.sync()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        self.changed
            .wait(inner)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn writable(&self) -> Result<()> {
        match self.access {
            Access::Write => Ok(()),
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

/// What a file holds, whoever has it open.
pub fn kind(path: impl AsRef<Path>) -> Result<Header> {
    read_header(&Disk::look(path.as_ref())?)
}

fn read_header(disk: &Disk) -> Result<Header> {
    let mut page = Pages::new(PAGE)?;
    let header = if disk.read(&mut page, 0)? {
        Header::decode(&page)
    } else {
        Header::decode(&[])
    };
    header.map_err(|what| Error::FileFormat {
        path: disk.name().to_owned(),
        what,
    })
}

fn internal(what: String) -> Error {
    Error::Internal { what }
}
