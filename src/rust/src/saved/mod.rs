//! Files of single matrices, as `gpu_save()` writes them: every byte is covered by a checksum,
//! which is compared before the byte is used.
//!
//! - [`head`]: what comes before the values; [`values`]: the values
//! - [`rds`]: the files of earlier versions, R's own, which have no checksum

pub mod head;
pub mod rds;
pub mod values;

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::tiles::PlainFile;

/// Bytes that are read or written at once.
const AT_ONCE: usize = 1 << 24;

/// The kind of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Written by this version.
    Checked,
    /// Written by R's `saveRDS()`: uncompressed, by gzip, or by another program.
    Rds,
    Gzip,
    Packed,
}

impl FileKind {
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Checked => "checked",
            FileKind::Rds => "rds",
            FileKind::Gzip => "gzip",
            FileKind::Packed => "packed",
        }
    }
}

/// The kind of a file; an error if it is none of them.
pub fn kind(path: &Path) -> Result<FileKind> {
    let file = PlainFile::open(path)?;
    let mut start = [0; 8];
    let length = file.bytes()?.min(8) as usize;
    let start = &mut start[..length];
    file.read(start, 0)?;
    let kinds: [(&[u8], FileKind); 5] = [
        (&head::MAGIC, FileKind::Checked),
        (b"X\n\0\0\0", FileKind::Rds),
        (&[0x1f, 0x8b], FileKind::Gzip),
        (b"BZh", FileKind::Packed),
        (b"\xfd7zXZ\0", FileKind::Packed),
    ];
    let known = kinds.iter().find(|(first, _)| start.starts_with(first));
    known
        .map(|(_, kind)| *kind)
        .ok_or_else(|| Error::FileFormat {
            path: file.name(),
            what: "not a file written by gpu_save(), or one whose first bytes are damaged"
                .to_owned(),
        })
}

fn damaged(file: &PlainFile, what: &str) -> Error {
    Error::FileFormat {
        path: file.name(),
        what: what.to_owned(),
    }
}
