//! What a file holds, and where.
//!
//! [`page`] is the first page of a file, where a header is written; [`fingerprint`] tells matrices
//! apart.

pub(super) mod fingerprint;
mod page;

use super::layout::{Layout, Shape};
use super::table;
use crate::base::error::{Error, Result};
use crate::base::identity;
use crate::base::scalar::Scalar;
use crate::tiles::bytes::PAGE;
use crate::tiles::layout::slot_bytes;

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
    /// The [`fingerprint`] of the matrix whose factor the file is for; none for a matrix.
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
    fn spare_slots_are_a_sixteenth_of_the_tiles_within_limits() {
        for (n, tiles, spare) in [(0, 0, 4), (1, 1, 4), (10, 100, 6), (32, 1024, 16)] {
            let layout = Layout::new(n, n, 1, Shape::Full).unwrap();
            let header = Header::new(Element::F64, layout).unwrap();
            assert_eq!(header.slots, tiles + spare);
        }
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
