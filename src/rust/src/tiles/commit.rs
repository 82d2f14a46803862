//! How what was written becomes durable, and places to write to become free.

use std::sync::MutexGuard;

use super::buffer::Pages;
use super::file::{Inner, TileFile};
use super::table::Table;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

impl<T: Scalar> TileFile<T> {
    /// A slot that no table names. There are more slots than tiles, so where none is free, either a
    /// commit sets some free, or another thread is about to: it reads, writes or commits.
    pub(super) fn free_slot(&self) -> Result<u32> {
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

    /// The same, where no other thread commits. Other threads go on while the disk works: slots
    /// that the new table or the old one names stay as they are.
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
}
