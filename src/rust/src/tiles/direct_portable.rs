//! Files of systems other than Unix, by what Rust's library has everywhere: through the cache of
//! pages, one read or write at a time.
//!
//! Tests on Unix read and write with it, so that it cannot fall behind.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tiles::direct::Access;

/// Windows refuses to open a file that a handle keeps for itself.
const ERROR_SHARING_VIOLATION: i32 = 32;

/// On Windows the handle is the lock: while a file is written nobody else opens it, and while it is
/// read nobody writes it. Other systems do not lock.
pub fn open(options: &mut OpenOptions, access: Access, path: &Path) -> Result<File> {
    share(options, access).open(path)
}

#[cfg(windows)]
fn share(options: &mut OpenOptions, access: Access) -> &mut OpenOptions {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    options.share_mode(match access {
        Access::Read => FILE_SHARE_READ,
        Access::Write => 0,
    })
}

#[cfg(not(windows))]
fn share(options: &mut OpenOptions, _: Access) -> &mut OpenOptions {
    options
}

pub fn is_in_use(e: &Error) -> bool {
    cfg!(windows) && e.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}

/// What is not a regular file.
pub fn kind_name(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "a folder"
    } else {
        "a device"
    }
}

/// See [`open`].
pub fn lock(_: &File, _: Access) -> Result<()> {
    Ok(())
}

pub fn unlock(_: &File) {}

/// There is no portable way to tell one file from another.
pub fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Nor to ask for free bytes.
pub fn free(_: &File, _: &Path) -> Option<u64> {
    None
}

pub fn reserve(file: &File, bytes: u64) -> Result<()> {
    file.set_len(bytes)
}

pub fn go_direct(_: &File) {}

pub fn go_buffered(_: &File) {}

pub fn forget(_: &File, _: u64, _: u64) {}

/// The position in a file is that of all threads, so that one thread at a time has it.
fn positioned(mut file: &File, at: u64) -> Result<MutexGuard<'static, ()>> {
    static POSITION: Mutex<()> = Mutex::new(());
    let guard = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    Ok(guard)
}

pub fn read(mut file: &File, bytes: &mut [u8], at: u64) -> Result<()> {
    let _guard = positioned(file, at)?;
    file.read_exact(bytes)
}

pub fn write(mut file: &File, bytes: &[u8], at: u64) -> Result<()> {
    let _guard = positioned(file, at)?;
    file.write_all(bytes)
}

/// Folders cannot be opened everywhere.
pub fn sync_name(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn threads_read_and_write_at_any_position() {
        let name = format!("cudafactor-portable-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = open(&mut options, Access::Write, &path).unwrap();
        reserve(&file, 64 * 100).unwrap();
        std::thread::scope(|scope| {
            for part in 0..4u8 {
                let file = &file;
                scope.spawn(move || {
                    for k in (part..64).step_by(4).rev() {
                        let at = u64::from(k) * 100;
                        write(file, &[k; 100], at).unwrap();
                        let mut back = [0; 100];
                        read(file, &mut back, at).unwrap();
                        assert_eq!(back, [k; 100]);
                    }
                });
            }
        });
        let all = std::fs::read(&path).unwrap();
        assert!(all
            .iter()
            .enumerate()
            .all(|(at, x)| *x as usize == at / 100));
        let past = read(&file, &mut [0; 101], 63 * 100).unwrap_err();
        assert_eq!(past.kind(), ErrorKind::UnexpectedEof);
        assert!(is_at(&file, &path) && free(&file, &path).is_none());
        assert!(lock(&file, Access::Write).is_ok() && !is_in_use(&past));
        assert_eq!(
            kind_name(&std::fs::metadata(std::env::temp_dir()).unwrap()),
            "a folder"
        );
        for none in [go_direct, go_buffered, unlock] {
            none(&file);
        }
        forget(&file, 0, 100);
        sync_name(&path).unwrap();
        drop(file);
        std::fs::remove_file(path).unwrap();
    }
}
