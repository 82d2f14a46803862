//! Finds the entries of a matrix in a file of another format.

use std::path::PathBuf;

use super::number::Number;
use crate::base::error::{Error, Result};
use crate::tiles::PlainFile;

/// Which entries are adjacent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageOrder {
    Columns,
    Rows,
}

/// Where the lines (columns or rows) are stored.
enum Place {
    /// In one file, `stride` bytes apart.
    One { file: PlainFile, stride: u64 },
    /// Each line in a separate file. Files are opened when they are read, since a process may not
    /// have so many open. Their names end in the number of the line; `first` is the first one.
    Each { stem: String, first: usize },
}

/// A matrix in a file of another format. Entries of a line are adjacent.
pub struct Source {
    place: Place,
    pub number: Number,
    pub order: StorageOrder,
    pub rows: usize,
    pub cols: usize,
    /// Offset of the first entry in its file.
    offset: u64,
}

/// The description of a file before it is opened.
#[derive(Debug, Clone)]
pub struct Description {
    pub path: PathBuf,
    pub number: Number,
    pub order: StorageOrder,
    pub rows: usize,
    pub cols: usize,
    /// Bytes before the first entry.
    pub offset: u64,
    /// Distance in numbers from the start of one line to that of the next.
    pub stride: usize,
    /// If each line is in a separate file, the number of the first one.
    pub separate: Option<usize>,
    /// Whether the file must end after the numbers.
    pub exact: bool,
}

impl Source {
    /// Opens the file. An error if it is too short, or too long although `exact`.
    pub fn open(of: &Description) -> Result<Self> {
        let (lines, length) = match of.order {
            StorageOrder::Columns => (of.cols, of.rows),
            StorageOrder::Rows => (of.rows, of.cols),
        };
        let size = of.number.size() as u64;
        // The end of the last line.
        let needed = if lines == 0 || length == 0 {
            Some(of.offset)
        } else {
            let last = if of.separate.is_some() { 0 } else { lines - 1 };
            (last as u64)
                .checked_mul(of.stride as u64)
                .and_then(|n| n.checked_add(length as u64))
                .and_then(|n| n.checked_mul(size))
                .and_then(|n| n.checked_add(of.offset))
        };
        let wrong = |what: String| Error::FileFormat {
            path: of.path.display().to_string(),
            what,
        };
        let (rows, cols) = (of.rows, of.cols);
        let Some(needed) = needed.filter(|n| *n <= i64::MAX as u64) else {
            return Err(wrong(format!(
                "a {rows} x {cols} matrix is larger than any file"
            )));
        };
        let place =
            match of.separate {
                Some(first) => Place::Each {
                    stem: of.path.display().to_string(),
                    first,
                },
                None => {
                    let file = PlainFile::open(&of.path)?;
                    let bytes = file.bytes()?;
                    if bytes < needed || of.exact && bytes > needed {
                        return Err(wrong(format!(
                        "the file has {bytes} bytes, and a {rows} x {cols} matrix of numbers of \
                         {size} bytes{} takes {needed}",
                        if of.offset > 0 { " behind what comes before it" } else { "" },
                    )));
                    }
                    Place::One {
                        file,
                        stride: of.stride as u64 * size,
                    }
                }
            };
        Ok(Source {
            place,
            number: of.number,
            order: of.order,
            rows,
            cols,
            offset: of.offset,
        })
    }

    /// Reads entries of successive lines, from entry `from` of each on. `bytes` has memory for
    /// `count` lines of the same length, and `then` gets each.
    pub fn read(
        &self,
        (line, count): (usize, usize),
        from: usize,
        bytes: &mut [u8],
        mut then: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let skip = self.offset + from as u64 * self.number.size() as u64;
        for k in 0..count {
            match &self.place {
                Place::One { file, stride } => {
                    whole(file, bytes, skip + (line + k) as u64 * stride)?;
                }
                Place::Each { stem, first } => {
                    let path = format!("{stem}{}", first + line + k);
                    whole(&PlainFile::open(path.as_ref())?, bytes, skip)?;
                }
            }
            then(k, bytes);
        }
        Ok(())
    }

    /// If the lines are in one file: the file, and its bytes from an entry of the first line to the
    /// end of an entry of the last.
    pub fn span(
        &self,
        (line, count): (usize, usize),
        (from, length): (usize, usize),
    ) -> Option<(&PlainFile, u64, u64)> {
        let Place::One { file, stride } = &self.place else {
            return None;
        };
        let size = self.number.size() as u64;
        let bytes = count.saturating_sub(1) as u64 * stride + length as u64 * size;
        let at = self.offset + line as u64 * stride + from as u64 * size;
        Some((file, at, bytes))
    }
}

fn whole(file: &PlainFile, bytes: &mut [u8], at: u64) -> Result<()> {
    if file.read(bytes, at)? {
        return Ok(());
    }
    Err(Error::FileFormat {
        path: file.name(),
        what: "the file ends before the matrix does".to_owned(),
    })
}
