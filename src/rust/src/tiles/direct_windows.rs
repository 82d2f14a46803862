//! Files of Windows. Nothing here has been run yet.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::tiles::direct::Access;

const FILE_SHARE_READ: u32 = 1;
const ERROR_SHARING_VIOLATION: i32 = 32;

/// Whoever opens the file while it is written is refused by the system.
pub fn open(options: &mut OpenOptions, access: Access, path: &Path) -> Result<File> {
    let share = match access {
        Access::Read => FILE_SHARE_READ,
        Access::Write => 0,
    };
    options.share_mode(share).open(path)
}

/// What is not a regular file.
pub fn kind_name(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "a folder"
    } else {
        "a device"
    }
}

pub fn lock(_: &File, _: Access) -> Result<()> {
    Ok(())
}

/// A file that is open for writing cannot be removed.
pub fn is_at(_: &File, _: &Path) -> bool {
    true
}

pub fn unlock(_: &File) {}

pub fn is_in_use(e: &Error) -> bool {
    e.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}

#[link(name = "kernel32")]
extern "system" {
    fn GetDiskFreeSpaceExW(
        folder: *const u16,
        available: *mut u64,
        total: *mut u64,
        free: *mut u64,
    ) -> i32;
}

/// The bytes that this user may still write; none where the file system does not tell.
pub fn free(_: &File, path: &Path) -> Option<u64> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let mut available = 0;
    let ignored = std::ptr::null_mut();
    // SAFETY: the text ends with a zero, and there is room for the answer; null pointers are for
    // answers not asked for.
    let told = unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &mut available, ignored, ignored) };
    (told != 0).then_some(available)
}

/// NTFS gives a file its room when it gets its length.
pub fn reserve(file: &File, bytes: u64) -> Result<()> {
    file.set_len(bytes)
}

pub fn go_direct(_: &File) {}

pub fn go_buffered(_: &File) {}

pub fn forget(_: &File, _: u64, _: u64) {}

pub fn read(file: &File, mut bytes: &mut [u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                bytes = &mut bytes[n..];
                at += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

pub fn write(file: &File, mut bytes: &[u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = &bytes[n..];
                at += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The system does this by itself.
pub fn sync_name(_: &Path) -> Result<()> {
    Ok(())
}
