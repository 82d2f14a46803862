//! The first page of a file: what is stored in it, and where.
//!
//! Numbers are little-endian, those of the matrix in the order of the machine that wrote them.
//!
//! | byte | |
//! |---:|:---|
//! | 0 | `cudafac\0` |
//! | 8 | version of the format, `u32` |
//! | 12 | order of bytes: [`ORDER`] as that machine has it, `u32` |
//! | 16 | element type, `u32`: 8 double, 4 single precision |
//! | 20 | shape, `u32`: 1 triangle, 2 full |
//! | 24 | rows, columns, order of a tile, `u64` each |
//! | 48 | number of slots, bytes of a slot, `u64` each |
//! | 64 | where the two tables and the first slot begin, `u64` each |
//! | 88 | [`fingerprint`](super::fingerprint) of the matrix that the file was begun from; zero for a matrix, `u64` |
//! | 96 | bytes of what is stored about names of rows and columns, after the last slot; zero for no names, `u64` |
//! | 104 | CRC-32 of those bytes, `u32` |
//! | 112 | [`identity`] of the file; zeros in files of earlier versions of cudafactor, 16 bytes |
//! | 4092 | CRC-32 of all bytes before, `u32` |

use super::{shape_number, Element, Header, Names};
use crate::base::error::Result;
use crate::base::identity;
use crate::tiles::buffer::Pages;
use crate::tiles::bytes::{get32, get64, put32, put64, PAGE};
use crate::tiles::layout::{Layout, Shape};

const MAGIC: [u8; 8] = *b"cudafac\0";

/// Files of another version are refused.
const VERSION: u32 = 1;

/// Reads differently where bytes are in another order.
const ORDER: u32 = 0x0102_0304;

/// Where it says what the file was begun from. Earlier files of this version have zeros there.
const ORIGIN: usize = 88;

/// Where it says what is stored about names. Earlier files have zeros there, and earlier versions
/// of this package disregard names.
const NAMES: usize = 96;

/// Where it has its identity.
const IDENTITY: usize = 112;

/// Where the checksum of the page is.
const SUM: usize = PAGE - 4;

impl Header {
    fn numbers(&self) -> [u64; 8] {
        let layout = &self.layout;
        [
            layout.rows() as u64,
            layout.cols() as u64,
            layout.tile() as u64,
            u64::from(self.slots),
            self.slot_bytes,
            self.tables[0],
            self.tables[1],
            self.first_slot,
        ]
    }

    pub(in crate::tiles) fn encode(&self) -> Result<Pages> {
        let mut page = Pages::new(PAGE)?;
        page[..8].copy_from_slice(&MAGIC);
        put32(&mut page, 8, VERSION);
        page[12..16].copy_from_slice(&ORDER.to_ne_bytes());
        put32(&mut page, 16, self.element.bytes() as u32);
        put32(&mut page, 20, shape_number(self.layout.shape()));
        for (k, number) in self.numbers().into_iter().enumerate() {
            put64(&mut page, 24 + 8 * k, number);
        }
        put64(&mut page, ORIGIN, self.origin.unwrap_or(0));
        put64(&mut page, NAMES, self.names.bytes);
        put32(&mut page, NAMES + 8, self.names.sum);
        page[IDENTITY..][..identity::BYTES].copy_from_slice(&self.identity);
        let sum = crc32fast::hash(&page[..SUM]);
        put32(&mut page, SUM, sum);
        Ok(page)
    }

    /// The other way, or what is wrong with the page.
    pub(in crate::tiles) fn decode(page: &[u8]) -> std::result::Result<Self, String> {
        const DAMAGED: &str = "the first page of the file is damaged";
        if page.len() < PAGE || page[..8] != MAGIC {
            return Err("not a file of tiles that cudafactor has written".to_owned());
        }
        let version = get32(page, 8);
        if version != VERSION {
            return Err(format!(
                "the file has version {version} of the format, and this version of cudafactor \
                 reads version {VERSION}"
            ));
        }
        if get32(page, SUM) != crc32fast::hash(&page[..SUM]) {
            return Err(DAMAGED.to_owned());
        }
        if page[12..16] != ORDER.to_ne_bytes() {
            return Err(
                "the file comes from a machine with another order of bytes in a number".to_owned(),
            );
        }
        let element = match get32(page, 16) {
            8 => Element::F64,
            4 => Element::F32,
            _ => return Err(DAMAGED.to_owned()),
        };
        let shape = match get32(page, 20) {
            1 => Shape::Triangle,
            2 => Shape::Full,
            _ => return Err(DAMAGED.to_owned()),
        };
        let number = |k: usize| get64(page, 24 + 8 * k);
        let size = |k: usize| usize::try_from(number(k)).ok();
        let header = (|| {
            let layout = Layout::new(size(0)?, size(1)?, size(2)?, shape).ok()?;
            let slots = number(3);
            let mut header = Self::with_slots(element, layout, slots)?;
            header
                .identity
                .copy_from_slice(&page[IDENTITY..][..identity::BYTES]);
            header.origin = Some(get64(page, ORIGIN)).filter(|&origin| origin != 0);
            let whole =
                slots > layout.tiles() as u64 && (0..8).all(|k| header.numbers()[k] == number(k));
            let names = Names {
                bytes: get64(page, NAMES),
                sum: get32(page, NAMES + 8),
            };
            whole.then_some(header)?.with_names(names)
        })();
        header.ok_or_else(|| DAMAGED.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back() {
        for (element, shape) in [(Element::F64, Shape::Triangle), (Element::F32, Shape::Full)] {
            for n in [0, 1, 100, 1000] {
                let layout = Layout::new(n, n, 33, shape).unwrap();
                let header = Header::new(element, layout).unwrap();
                assert_eq!(header.origin, None);
                assert_eq!(Header::decode(&header.encode().unwrap()), Ok(header));
                assert_eq!(header.first_slot % PAGE as u64, 0);
                let origin = Some(1 << 63 | n as u64);
                let tied = Header { origin, ..header };
                assert_eq!(Header::decode(&tied.encode().unwrap()), Ok(tied));
            }
        }
    }

    #[test]
    fn any_changed_byte_is_seen() {
        let layout = Layout::new(70, 70, 33, Shape::Triangle).unwrap();
        let mut page = Header::new(Element::F64, layout).unwrap().encode().unwrap();
        for k in 0..PAGE {
            page[k] ^= 0x10;
            assert!(Header::decode(&page).is_err(), "byte {k}");
            page[k] ^= 0x10;
        }
        page[12..16].reverse();
        let sum = crc32fast::hash(&page[..SUM]);
        put32(&mut page, SUM, sum);
        assert!(Header::decode(&page)
            .unwrap_err()
            .contains("order of bytes"));
    }
}
