//! The header of a file with one matrix. Numbers are little-endian.
//!
//! | byte | |
//! |---:|:---|
//! | 0 | `cudamat\0` |
//! | 8 | version of the format, `u32` |
//! | 12 | bytes of a number, `u32`: 8 double, 4 single precision |
//! | 16 | rows, columns, `u64` each |
//! | 32 | bytes of the description, `u64` |
//! | 40 | bytes of the whole file, `u64` |
//! | 48 | CRC-32 of the description, `u32` |
//! | 52 | zeros |
//! | 60 | CRC-32 of all bytes before, `u32` |
//! | 64 | the description: what R has to say of the matrix, in R's serialization |
//! | | the values, column by column |
//! | | CRC-32 of the values, `u32` |

use super::damaged;
use crate::base::error::{Error, Result};
use crate::base::scalar::try_zeroed;
use crate::tiles::PlainFile;

pub(super) const MAGIC: [u8; 8] = *b"cudamat\0";
const VERSION: u32 = 2;
pub(super) const BYTES: usize = 64;
const SUM: usize = BYTES - 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Bytes of a number.
    pub size: usize,
    pub rows: usize,
    pub cols: usize,
    pub described: usize,
    /// Checksum of the description.
    pub sum: u32,
}

impl Head {
    /// Bytes of the whole file; None if a file cannot have so many.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        let values = self.rows.checked_mul(self.cols)?.checked_mul(self.size)?;
        let bytes = values.checked_add(self.described)?.checked_add(BYTES + 4)?;
        i64::try_from(bytes).ok().map(|bytes| bytes as u64)
    }

    /// Offsets of the values and of their checksum.
    pub(super) fn values(&self) -> (u64, u64) {
        let first = (BYTES + self.described) as u64;
        (first, first + (self.rows * self.cols * self.size) as u64)
    }

    pub(super) fn encode(&self) -> Option<[u8; BYTES]> {
        let mut page = [0; BYTES];
        page[..8].copy_from_slice(&MAGIC);
        page[8..12].copy_from_slice(&VERSION.to_le_bytes());
        page[12..16].copy_from_slice(&(self.size as u32).to_le_bytes());
        let numbers = [
            self.rows as u64,
            self.cols as u64,
            self.described as u64,
            self.file_bytes()?,
        ];
        for (to, number) in page[16..48].chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        page[48..52].copy_from_slice(&self.sum.to_le_bytes());
        let sum = crc32fast::hash(&page[..SUM]);
        page[SUM..].copy_from_slice(&sum.to_le_bytes());
        Some(page)
    }

    /// Decodes a header; the error says what is wrong with the bytes.
    fn decode(page: &[u8; BYTES]) -> std::result::Result<Self, String> {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| page[at + k]));
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if page[..8] != MAGIC || word(SUM) != crc32fast::hash(&page[..SUM]) {
            return Err(DAMAGED.to_owned());
        }
        if word(8) != VERSION {
            return Err(format!(
                "the file has version {} of the format, and this version of cudafactor reads \
                 version {VERSION}",
                word(8)
            ));
        }
        let size = |at: usize| usize::try_from(long(at)).ok();
        let head = (|| {
            let head = Head {
                size: word(12) as usize,
                rows: size(16)?,
                cols: size(24)?,
                described: size(32)?,
                sum: word(48),
            };
            let whole = matches!(head.size, 4 | 8) && head.file_bytes() == Some(long(40));
            whole.then_some(head)
        })();
        head.ok_or_else(|| DAMAGED.to_owned())
    }

    /// Reads the header, and checks that the file has the length that the header tells.
    pub fn read(file: &PlainFile) -> Result<Self> {
        let mut page = [0; BYTES];
        if !file.read(&mut page, 0)? {
            return Err(damaged(file, "the file has been cut off"));
        }
        let head = Head::decode(&page).map_err(|what| damaged(file, &what))?;
        let (bytes, wanted) = (file.bytes()?, head.file_bytes().unwrap_or(u64::MAX));
        if bytes != wanted {
            let what = if bytes < wanted {
                "has been cut off"
            } else {
                "is damaged"
            };
            let what = format!("the file {what}: it has {bytes} bytes instead of {wanted}");
            return Err(damaged(file, &what));
        }
        Ok(head)
    }

    /// Reads the description, and compares its checksum.
    pub fn description(&self, file: &PlainFile) -> Result<Vec<u8>> {
        let mut bytes = try_zeroed::<u8>(self.described)?;
        if !file.read(&mut bytes, BYTES as u64)? || crc32fast::hash(&bytes) != self.sum {
            let what =
                "the description of the matrix is damaged: its checksum is not that of what was \
                 written";
            return Err(damaged(file, what));
        }
        Ok(bytes)
    }
}

const DAMAGED: &str =
    "the first bytes of the file are damaged: their checksum is not that of what was written";

/// The header of a new file.
pub(super) fn of(
    size: usize,
    (rows, cols): (usize, usize),
    description: &[u8],
) -> Result<(Head, [u8; BYTES])> {
    let head = Head {
        size,
        rows,
        cols,
        described: description.len(),
        sum: crc32fast::hash(description),
    };
    let page = head.encode().ok_or_else(|| Error::Dimension {
        what: format!("a {rows} x {cols} matrix is larger than any file"),
    })?;
    Ok((head, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_any_changed_bit_is_seen() {
        for (size, dim) in [(8, (3, 4)), (4, (0, 7)), (8, (1 << 40, 0))] {
            let (head, mut page) = of(size, dim, b"what").unwrap();
            assert_eq!(Head::decode(&page), Ok(head));
            for bit in 0..8 * BYTES {
                page[bit / 8] ^= 1 << (bit % 8);
                assert!(Head::decode(&page).is_err(), "bit {bit}");
                page[bit / 8] ^= 1 << (bit % 8);
            }
        }
        let too_large = of(8, (1 << 40, 1 << 40), b"");
        assert!(matches!(too_large, Err(Error::Dimension { .. })));
    }
}
