//! Files of Linux, macOS and their like.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::tiles::direct::Access;
#[cfg(target_os = "linux")]
use crate::tiles::direct::RESERVED_AT_ONCE;

/// Waits for nobody, should the name be that of a pipe; of a regular file the flags say nothing.
pub fn open(options: &mut OpenOptions, _: Access, path: &Path) -> Result<File> {
    options
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

/// What is not a regular file.
pub fn kind_name(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// The lock is that of the open file, so that a second handle of this process is refused too. A
/// forked child shares it.
pub fn lock(file: &File, access: Access) -> Result<()> {
    let kind = match access {
        Access::Read => libc::LOCK_SH,
        Access::Write => libc::LOCK_EX,
    };
    // SAFETY: the descriptor is open.
    if unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) } == 0 {
        return Ok(());
    }
    let e = Error::last_os_error();
    match e.raw_os_error() {
        // A file system without locks: there is no way to tell.
        Some(libc::ENOSYS | libc::EOPNOTSUPP) => Ok(()),
        _ => Err(e),
    }
}

/// Whether the open file is the one of that name.
pub fn is_at(file: &File, path: &Path) -> bool {
    let of = |m: Metadata| (m.dev(), m.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => of(open) == of(named),
        // Where the system does not tell, nothing speaks against it.
        (Err(_), _) => true,
        (_, Err(e)) => e.kind() != ErrorKind::NotFound,
    }
}

/// For all who share the open file.
pub fn unlock(file: &File) {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

pub fn is_in_use(e: &Error) -> bool {
    e.kind() == ErrorKind::WouldBlock
}

/// The bytes that this user may still write; none where the file system does not tell.
pub fn free(file: &File, _: &Path) -> Option<u64> {
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the descriptor is open, and there is room for the answer.
    if unsafe { libc::fstatvfs(file.as_raw_fd(), stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: it was filled.
    let stat = unsafe { stat.assume_init() };
    // The width of these numbers is not the same on all systems.
    #[allow(clippy::unnecessary_cast)]
    let (all, free, unit) = (
        stat.f_blocks as u64,
        stat.f_bavail as u64,
        stat.f_frsize as u64,
    );
    (all > 0).then(|| free.saturating_mul(unit))
}

/// Where a file system cannot reserve, the file is only made as long as it will be.
#[cfg(target_os = "linux")]
pub fn reserve(file: &File, bytes: u64) -> Result<()> {
    // In parts, so that a signal that interrupts one does not begin all again.
    let mut at = 0;
    while at < bytes {
        let part = RESERVED_AT_ONCE.min(bytes - at);
        // SAFETY: the descriptor is open.
        let done = unsafe {
            libc::fallocate64(
                file.as_raw_fd(),
                0,
                at as libc::off64_t,
                part as libc::off64_t,
            )
        };
        if done == 0 {
            at += part;
            continue;
        }
        let e = Error::last_os_error();
        match e.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return file.set_len(bytes),
            _ => return Err(e),
        }
    }
    Ok(())
}

#[cfg(target_os = "macos")]
pub fn reserve(file: &File, bytes: u64) -> Result<()> {
    let mut store = libc::fstore_t {
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: bytes as libc::off_t,
        fst_bytesalloc: 0,
    };
    // SAFETY: the descriptor is open, and the structure outlives the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PREALLOCATE, &mut store) } == -1 {
        let e = Error::last_os_error();
        if e.raw_os_error() != Some(libc::ENOTSUP) {
            return Err(e);
        }
    }
    file.set_len(bytes)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn reserve(file: &File, bytes: u64) -> Result<()> {
    file.set_len(bytes)
}

/// Past the cache of pages from now on, where the file system can: it refuses, and nothing is lost.
#[cfg(target_os = "linux")]
pub fn go_direct(file: &File) {
    change_flags(file, |flags| flags | libc::O_DIRECT);
}

#[cfg(target_os = "macos")]
pub fn go_direct(file: &File) {
    // SAFETY: the descriptor is open.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_NOCACHE, 1) };
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn go_direct(_: &File) {}

/// Through the cache again: for a disk whose blocks are larger than our pages.
#[cfg(target_os = "linux")]
pub fn go_buffered(file: &File) {
    change_flags(file, |flags| flags & !libc::O_DIRECT);
}

#[cfg(not(target_os = "linux"))]
pub fn go_buffered(_: &File) {}

#[cfg(target_os = "linux")]
fn change_flags(file: &File, change: impl Fn(i32) -> i32) {
    // SAFETY: the descriptor is open.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        if flags != -1 {
            libc::fcntl(file.as_raw_fd(), libc::F_SETFL, change(flags));
        }
    }
}

/// Pages that were not written yet stay.
#[cfg(target_os = "linux")]
pub fn forget(file: &File, at: u64, bytes: u64) {
    // SAFETY: the descriptor is open.
    unsafe {
        libc::posix_fadvise64(
            file.as_raw_fd(),
            at as libc::off64_t,
            bytes as libc::off64_t,
            libc::POSIX_FADV_DONTNEED,
        )
    };
}

#[cfg(not(target_os = "linux"))]
pub fn forget(_: &File, _: u64, _: u64) {}

pub fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<()> {
    file.read_exact_at(bytes, at)
}

pub fn write(file: &File, bytes: &[u8], at: u64) -> Result<()> {
    file.write_all_at(bytes, at)
}

/// The name of a new file is durable when its folder is.
pub fn sync_name(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}
