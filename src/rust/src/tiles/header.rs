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
//! | 88 | [`fingerprint`] of the matrix that the file was begun from; zero where it is for a matrix of its own, `u64` |
//! | 96 | bytes of what is stored about names of rows and columns, after the last slot; zero for no names, `u64` |
//! | 104 | CRC-32 of those bytes, `u32` |
//! | 112 | [`identity`] of the file; zeros in files of earlier versions of cudafactor, 16 bytes |
//! | 4092 | CRC-32 of all bytes before, `u32` |

use super::buffer::Pages;
use super::layout::{Layout, Shape};
use super::table;
use crate::base::error::{Error, Result};
use crate::base::identity;
use crate::base::scalar::Scalar;
use crate::tiles::bytes::PAGE;
use crate::tiles::bytes::{get32, get64, put32, put64};
use crate::tiles::layout::slot_bytes;

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

/// What the numbers of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    F64,
    F32,
}

impl Element {
    pub fn of<T: Scalar>() -> Self {
        if size_of::<T>() == size_of::<f32>() {
            Element::F32
        } else {
            Element::F64
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Element::F64 => 8,
            Element::F32 => 4,
        }
    }
}

/// What a file holds, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub element: Element,
    pub layout: Layout,
    /// Places for a tile: more than there are tiles, since none is written over while a table names
    /// it.
    pub slots: u32,
    pub slot_bytes: u64,
    pub tables: [u64; 2],
    pub first_slot: u64,
    /// Of the whole file.
    pub bytes: u64,
    /// The [`fingerprint`] of the matrix whose factor the file is for; none of a matrix of its own.
    pub origin: Option<u64>,
    /// Names of rows and columns, which only the R code reads.
    pub names: Names,
    /// What no other file has, unless it is a copy of this one.
    pub identity: [u8; identity::BYTES],
}

/// A part of a file at its end: how long it is, and its checksum.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    pub bytes: u64,
    pub sum: u32,
}

impl Names {
    pub fn of(contents: &[u8]) -> Self {
        match contents.len() as u64 {
            0 => Names::default(),
            bytes => Names {
                bytes,
                sum: crc32fast::hash(contents),
            },
        }
    }
}

impl Header {
    /// For a new file. Fails where it would be larger than a file can be.
    pub fn new(element: Element, layout: Layout) -> Result<Self> {
        let tiles = layout.tiles() as u64;
        let slots = tiles + (tiles / 16).clamp(4, 16);
        let header = Self::with_slots(element, layout, slots).ok_or_else(|| too_large(&layout))?;
        Ok(Header {
            identity: identity::fresh(),
            ..header
        })
    }

    fn with_slots(element: Element, layout: Layout, slots: u64) -> Option<Self> {
        let slot_bytes = slot_bytes(&layout, element.bytes()) as u64;
        let table_bytes = table::bytes(layout.tiles()) as u64;
        let page = PAGE as u64;
        let first_slot = page + 2 * table_bytes;
        let bytes = slots.checked_mul(slot_bytes)?.checked_add(first_slot)?;
        // A position in a file is a signed number, and the last number of a slot stands for no
        // slot.
        i64::try_from(bytes).ok()?;
        Some(Header {
            element,
            layout,
            slots: u32::try_from(slots).ok().filter(|&n| n < table::NONE)?,
            slot_bytes,
            tables: [page, page + table_bytes],
            first_slot,
            bytes,
            origin: None,
            names: Names::default(),
            identity: [0; identity::BYTES],
        })
    }

    /// The same, with room for names.
    pub fn with_names(mut self, names: Names) -> Option<Self> {
        let room = names.bytes.checked_next_multiple_of(PAGE as u64)?;
        self.bytes = self.names_at().checked_add(room)?;
        i64::try_from(self.bytes).ok()?;
        self.names = names;
        Some(self)
    }

    /// Where names begin: after the last slot.
    pub(super) fn names_at(&self) -> u64 {
        self.slot(self.slots)
    }

    /// Of a file for the Cholesky factor of the square matrix in a file like this one: the upper
    /// triangle of it, with the same names.
    pub fn of_factor(&self) -> Result<Self> {
        let layout = &self.layout;
        let triangle = Layout::new(layout.rows(), layout.cols(), layout.tile(), Shape::Triangle)?;
        let header = Self::new(self.element, triangle)?;
        header
            .with_names(self.names)
            .ok_or_else(|| too_large(&triangle))
    }

    /// Where a slot begins.
    pub(super) fn slot(&self, slot: u32) -> u64 {
        self.first_slot + u64::from(slot) * self.slot_bytes
    }

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

    pub(super) fn encode(&self) -> Result<Pages> {
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
    pub(super) fn decode(page: &[u8]) -> std::result::Result<Self, String> {
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

pub(super) fn too_large(layout: &Layout) -> Error {
    Error::Dimension {
        what: format!(
            "a {} x {} matrix in tiles of order {} is too large for one file",
            layout.rows(),
            layout.cols(),
            layout.tile()
        ),
    }
}

/// What tells a matrix from another one: of its extents, its tiles' order and numbers, and their
/// checksums in the order of the layout, by FNV-1a of 64 bits. It is never zero, and does not
/// depend on where in its file a tile is, nor on how often it was written.
pub(super) fn fingerprint(
    element: Element,
    layout: &Layout,
    sums: impl Iterator<Item = u32>,
) -> u64 {
    let facts = [
        element.bytes() as u64,
        u64::from(shape_number(layout.shape())),
        layout.rows() as u64,
        layout.cols() as u64,
        layout.tile() as u64,
    ];
    let facts = facts.into_iter().flat_map(u64::to_le_bytes);
    let hash = facts
        .chain(sums.flat_map(u32::to_le_bytes))
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    hash.max(1)
}

fn shape_number(shape: Shape) -> u32 {
    match shape {
        Shape::Triangle => 1,
        Shape::Full => 2,
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
    fn spare_slots_are_a_sixteenth_of_the_tiles_within_limits() {
        for (n, tiles, spare) in [(0, 0, 4), (1, 1, 4), (10, 100, 6), (32, 1024, 16)] {
            let layout = Layout::new(n, n, 1, Shape::Full).unwrap();
            let header = Header::new(Element::F64, layout).unwrap();
            assert_eq!(header.slots, tiles + spare);
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

    #[test]
    fn a_fingerprint_is_that_of_one_matrix() {
        let layout = |n, tile, shape| Layout::new(n, n, tile, shape).unwrap();
        let of = |element, layout: &Layout, sums: &[u32]| {
            fingerprint(element, layout, sums.iter().copied())
        };
        let usual = layout(70, 70, Shape::Triangle);
        // FNV-1a of those 44 bytes, which files keep for years.
        assert_eq!(of(Element::F64, &usual, &[7]), 0xf60f_ae5b_d7ae_ab5d);
        let all = [
            of(Element::F64, &usual, &[7]),
            of(Element::F32, &usual, &[7]),
            of(Element::F64, &usual, &[8]),
            of(Element::F64, &layout(70, 70, Shape::Full), &[7]),
            of(Element::F64, &layout(69, 69, Shape::Triangle), &[7]),
            of(
                Element::F64,
                &layout(70, 33, Shape::Triangle),
                &[7, 8, 9, 10, 11, 12],
            ),
            of(
                Element::F64,
                &layout(70, 33, Shape::Triangle),
                &[8, 7, 9, 10, 11, 12],
            ),
        ];
        let different: std::collections::HashSet<u64> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn a_file_that_cannot_be_is_an_error() {
        let layout = Layout::new(1 << 40, 1 << 40, 1 << 29, Shape::Full).unwrap();
        assert!(matches!(
            Header::new(Element::F64, layout),
            Err(Error::Dimension { .. })
        ));
    }
}
