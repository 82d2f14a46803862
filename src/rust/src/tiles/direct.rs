//! The file as the system gives it: locked, with its room reserved, and read and written past the
//! cache of pages where the system allows that. The tiles of a matrix larger than memory would only
//! drive everything else out of that cache.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error as IoError, ErrorKind};
use std::path::Path;

use crate::base::error::{Error, Result};

/// Bytes of room that are reserved at once: a process that is killed meanwhile leaves a multiple of
/// them.
pub(super) const RESERVED_AT_ONCE: u64 = 16 << 30;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Others may read it at the same time.
    Read,
    /// Nobody else has it open.
    Write,
}

/// An open file, locked where it is one of tiles. Positions and lengths of all that is read and
/// written past the cache are whole pages.
pub(super) struct Disk {
    file: File,
    name: String,
    /// Who opened it.
    process: u32,
}

impl Disk {
    fn new(file: File, name: String) -> Self {
        Disk {
            file,
            name,
            process: std::process::id(),
        }
    }

    /// Fails in a forked child. It shares the lock, but knows nothing of what the process does that
    /// opened the file.
    pub fn is_ours(&self) -> Result<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(Error::FileInUse {
            path: self.name.clone(),
        })
    }

    /// Makes a file of so many bytes, all of them reserved. It reads as zeros. Where that fails
    /// there is no file.
    pub fn create(path: &Path, bytes: u64) -> Result<Self> {
        let disk = Self::create_cached(path, bytes)?;
        system::go_direct(&disk.file);
        Ok(disk)
    }

    /// The same through the system's cache of pages, where positions and lengths may be any.
    pub fn create_cached(path: &Path, bytes: u64) -> Result<Self> {
        let name = path.display().to_string();
        let file = match system::open(
            OpenOptions::new().read(true).write(true).create_new(true),
            Access::Write,
            path,
        ) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                return Err(Error::FileExists { path: name })
            }
            Err(e) => return Err(failed(&name, "cannot make the file", &e)),
        };
        let disk = Disk::new(file, name);
        // Somebody else may have found it before it was locked, and have removed it.
        if let Err(e) = disk.lock(Access::Write) {
            if !matches!(e, Error::FileInUse { .. }) {
                disk.remove(path);
            }
            return Err(e);
        }
        disk.still_there(path)?;
        match disk.prepare(path, bytes) {
            Ok(()) => Ok(disk),
            Err(e) => {
                disk.remove(path);
                Err(e)
            }
        }
    }

    fn prepare(&self, path: &Path, bytes: u64) -> Result<()> {
        let free = system::free(&self.file, path);
        if free.is_some_and(|free| free < bytes) {
            return Err(self.no_space(bytes, free));
        }
        match system::reserve(&self.file, bytes) {
            Ok(()) => {}
            Err(e) if is_full(&e) => return Err(self.no_space(bytes, free)),
            Err(e) => return Err(failed(&self.name, "cannot reserve its room", &e)),
        }
        Ok(())
    }

    /// Opens a file that exists.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let disk = Self::unlocked(path, access)?;
        disk.lock(access)?;
        disk.still_there(path)?;
        system::go_direct(&disk.file);
        Ok(disk)
    }

    /// Fails where the file that was opened is no longer the one of that name.
    fn still_there(&self, path: &Path) -> Result<()> {
        if system::is_at(&self.file, path) {
            return Ok(());
        }
        Err(Error::FileInUse {
            path: self.name.clone(),
        })
    }

    /// Removes the file, while it is locked where the system lets it, so that nobody has begun with
    /// it meanwhile. There is nothing to do about it where that fails.
    pub fn remove(self, path: &Path) {
        if cfg!(unix) {
            remove(path);
        } else {
            drop(self);
            remove(path);
        }
    }

    /// The same without a lock, for what is written once.
    pub fn look(path: &Path) -> Result<Self> {
        Self::unlocked(path, Access::Read)
    }

    fn unlocked(path: &Path, access: Access) -> Result<Self> {
        let name = path.display().to_string();
        let write = access == Access::Write;
        // A pipe without a writer would be waited for, and some devices do something when they are
        // opened.
        if let Ok(metadata) = std::fs::metadata(path) {
            regular(&name, &metadata)?;
        }
        let file = match system::open(OpenOptions::new().read(true).write(write), access, path) {
            Ok(file) => file,
            Err(e) if system::is_in_use(&e) => return Err(Error::FileInUse { path: name }),
            Err(e) => return Err(failed(&name, "cannot open the file", &e)),
        };
        // Another one may have taken its name.
        let metadata = file.metadata();
        let metadata = metadata.map_err(|e| failed(&name, "cannot read its kind", &e))?;
        regular(&name, &metadata)?;
        Ok(Disk::new(file, name))
    }

    /// The path, for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn lock(&self, access: Access) -> Result<()> {
        match system::lock(&self.file, access) {
            Ok(()) => Ok(()),
            Err(e) if system::is_in_use(&e) => Err(Error::FileInUse {
                path: self.name.clone(),
            }),
            Err(e) => Err(failed(&self.name, "cannot lock the file", &e)),
        }
    }

    /// The length of the file.
    pub fn bytes(&self) -> Result<u64> {
        match self.file.metadata() {
            Ok(metadata) => Ok(metadata.len()),
            Err(e) => Err(failed(&self.name, "cannot tell the length of the file", &e)),
        }
    }

    /// Fills `bytes`; false where the file ends before.
    pub fn read(&self, bytes: &mut [u8], at: u64) -> Result<bool> {
        let mut result = system::read(&self.file, bytes, at);
        if matches!(&result, Err(e) if e.kind() == ErrorKind::InvalidInput) {
            system::go_buffered(&self.file);
            result = system::read(&self.file, bytes, at);
        }
        match result {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(e) => Err(failed(&self.name, "cannot read", &e)),
        }
    }

    pub fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        let mut result = system::write(&self.file, bytes, at);
        if matches!(&result, Err(e) if e.kind() == ErrorKind::InvalidInput) {
            system::go_buffered(&self.file);
            result = system::write(&self.file, bytes, at);
        }
        match result {
            Ok(()) => Ok(()),
            // Room that was reserved can still be missing: where a system only pretends to reserve
            // it, or copies what is written.
            Err(e) if is_full(&e) => {
                let free = system::free(&self.file, Path::new(&self.name));
                Err(self.no_space(bytes.len() as u64, free))
            }
            Err(e) => Err(failed(&self.name, "cannot write", &e)),
        }
    }

    /// Returns once all that was written is durable.
    pub fn sync(&self) -> Result<()> {
        match self.file.sync_data() {
            Ok(()) => Ok(()),
            Err(e) => Err(failed(
                &self.name,
                "cannot make durable what was written",
                &e,
            )),
        }
    }

    /// Returns once a new file and its name are durable.
    pub fn sync_all(&self, path: &Path) -> Result<()> {
        match self.file.sync_all().and_then(|()| system::sync_name(path)) {
            Ok(()) => Ok(()),
            Err(e) => Err(failed(&self.name, "cannot make the file durable", &e)),
        }
    }

    /// The cache need not keep these bytes. Where a system has no such word it goes on keeping
    /// them.
    pub fn forget(&self, at: u64, bytes: u64) {
        system::forget(&self.file, at, bytes);
    }

    fn no_space(&self, needed: u64, free: Option<u64>) -> Error {
        Error::DiskSpace {
            path: self.name.clone(),
            needed,
            free,
        }
    }
}

impl Drop for Disk {
    /// Closing would leave the lock to children that this process has forked meanwhile.
    fn drop(&mut self) {
        if self.is_ours().is_ok() {
            system::unlock(&self.file);
        }
    }
}

/// Removes a file that could not be made. There is nothing to do about it where that fails too.
pub(super) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// Fails where something else than a file, such as a folder or a pipe, has that name; not where
/// nothing has.
pub fn check_regular(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) => regular(&path.display().to_string(), &metadata),
        Err(_) => Ok(()),
    }
}

fn regular(name: &str, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(Error::File {
        path: name.to_owned(),
        what: format!("{}, not a regular file", system::kind_name(metadata)),
    })
}

fn is_full(e: &IoError) -> bool {
    matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn failed(name: &str, tried: &str, e: &IoError) -> Error {
    Error::File {
        path: name.to_owned(),
        what: format!("{tried}: {e}"),
    }
}

#[cfg(unix)]
#[path = "direct_unix.rs"]
mod system;

#[cfg(not(unix))]
use portable as system;

#[cfg(any(not(unix), test))]
#[path = "direct_portable.rs"]
mod portable;
