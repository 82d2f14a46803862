//! Files of other formats, read and written at any position through the system's cache of pages.

use std::path::{Path, PathBuf};

use super::direct::{remove, Disk};
use crate::base::error::Result;

/// A file that is read, or one that is being made: that is removed again unless
/// [`finish`](PlainFile::finish) has made it durable.
pub struct PlainFile {
    /// None only while it is dropped.
    disk: Option<Disk>,
    path: PathBuf,
    unfinished: bool,
}

impl PlainFile {
    /// Opens a file that exists, to read it.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(PlainFile {
            disk: Some(Disk::look(path)?),
            path: path.to_owned(),
            unfinished: false,
        })
    }

    /// Makes a file of so many bytes, all of them reserved. It reads as zeros. Refuses one that
    /// exists.
    pub fn create(path: &Path, bytes: u64) -> Result<Self> {
        Ok(PlainFile {
            disk: Some(Disk::create_cached(path, bytes)?),
            path: path.to_owned(),
            unfinished: true,
        })
    }

    fn disk(&self) -> Result<&Disk> {
        self.disk
            .as_ref()
            .ok_or(crate::base::error::Error::Internal {
                what: "a file that is closed was used".to_owned(),
            })
    }

    /// The path, for errors.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The length of the file.
    pub fn bytes(&self) -> Result<u64> {
        self.disk()?.bytes()
    }

    /// Fills `bytes`; false where the file ends before.
    pub fn read(&self, bytes: &mut [u8], at: u64) -> Result<bool> {
        self.disk()?.read(bytes, at)
    }

    pub fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.disk()?.write(bytes, at)
    }

    /// Returns once these bytes are durable, and lets the cache forget them.
    pub fn settle(&self, at: u64, bytes: u64) -> Result<()> {
        let disk = self.disk()?;
        disk.sync()?;
        disk.forget(at, bytes);
        Ok(())
    }

    /// Lets the cache forget these bytes, which were read.
    pub fn forget(&self, at: u64, bytes: u64) {
        if let Some(disk) = &self.disk {
            disk.forget(at, bytes);
        }
    }

    /// Makes a new file and its name durable. Without it the file is removed.
    pub fn finish(mut self) -> Result<()> {
        self.disk()?.sync_all(&self.path)?;
        self.unfinished = false;
        Ok(())
    }
}

impl Drop for PlainFile {
    fn drop(&mut self) {
        drop(self.disk.take());
        if self.unfinished {
            remove(&self.path);
        }
    }
}
