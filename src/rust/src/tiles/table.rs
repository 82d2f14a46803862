//! Where each tile is, and what the file holds as a whole. A file has two tables; the newer one
//! that is whole counts.
//!
//! Numbers are little-endian:
//!
//! | byte | |
//! |---:|:---|
//! | 0 | CRC-32 of all bytes from 4 on, to the end of the last entry, `u32` |
//! | 4 | [`State`], `u32`: 1 matrix, 2 factoring, 3 factor, 4 not positive definite |
//! | 8 | generation, `u64`: one more with each commit; not zero, so that a page never written is no table |
//! | 16 | order of the leading minor that is not positive, or zero, `u64` |
//! | 24 | number of entries, `u64` |
//! | 32 | the entries, one for each tile: slot, step, CRC-32 of the slot's bytes, `u32` each |

use super::buffer::Pages;
use crate::base::error::Result;
use crate::tiles::bytes::PAGE;
use crate::tiles::bytes::{get32, get64, put32, put64};

const HEAD: usize = 32;
const ENTRY: usize = 12;

/// In place of a slot: the tile was never written.
pub(super) const NONE: u32 = u32::MAX;

/// What the tiles are, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The matrix, as far as tiles were written.
    Matrix,
    /// Partly the matrix, partly its factor.
    Factoring,
    Factor,
    /// The factorization ended at the leading minor of this order (1-based).
    NotPositiveDefinite {
        order: u64,
    },
}

/// Of one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub slot: u32,
    pub step: u32,
    pub sum: u32,
}

impl Entry {
    pub const ABSENT: Entry = Entry {
        slot: NONE,
        step: 0,
        sum: 0,
    };

    pub fn present(&self) -> bool {
        self.slot != NONE
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub generation: u64,
    pub state: State,
    pub entries: Vec<Entry>,
}

/// The bytes of a table in the file: whole pages.
pub(super) fn bytes(tiles: usize) -> usize {
    // Counts of tiles are far from the largest number unless a file cannot be that large either.
    tiles
        .saturating_mul(ENTRY)
        .saturating_add(HEAD)
        .checked_next_multiple_of(PAGE)
        .unwrap_or(usize::MAX / PAGE / 4 * PAGE)
}

impl Table {
    /// The slots that it names.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().filter(|e| e.present()).map(|e| e.slot)
    }

    pub fn encode(&self) -> Result<Pages> {
        let mut pages = Pages::new(bytes(self.entries.len()))?;
        let (state, order) = match self.state {
            State::Matrix => (1, 0),
            State::Factoring => (2, 0),
            State::Factor => (3, 0),
            State::NotPositiveDefinite { order } => (4, order),
        };
        put32(&mut pages, 4, state);
        put64(&mut pages, 8, self.generation);
        put64(&mut pages, 16, order);
        put64(&mut pages, 24, self.entries.len() as u64);
        for (k, entry) in self.entries.iter().enumerate() {
            let at = HEAD + k * ENTRY;
            put32(&mut pages, at, entry.slot);
            put32(&mut pages, at + 4, entry.step);
            put32(&mut pages, at + 8, entry.sum);
        }
        let sum = crc32fast::hash(&pages[4..HEAD + self.entries.len() * ENTRY]);
        put32(&mut pages, 0, sum);
        Ok(pages)
    }

    /// The table of a file with so many tiles and slots, if these bytes are one: whole, and with no
    /// slot named that is not there or twice.
    pub fn decode(pages: &[u8], tiles: usize, slots: u32) -> Option<Self> {
        let end = HEAD + tiles * ENTRY;
        if pages.len() < end || get32(pages, 0) != crc32fast::hash(&pages[4..end]) {
            return None;
        }
        let generation = get64(pages, 8);
        let order = get64(pages, 16);
        let state = match get32(pages, 4) {
            1 => State::Matrix,
            2 => State::Factoring,
            3 => State::Factor,
            4 => State::NotPositiveDefinite { order },
            _ => return None,
        };
        if generation == 0 || get64(pages, 24) != tiles as u64 {
            return None;
        }
        let entries: Vec<Entry> = (0..tiles)
            .map(|k| HEAD + k * ENTRY)
            .map(|at| Entry {
                slot: get32(pages, at),
                step: get32(pages, at + 4),
                sum: get32(pages, at + 8),
            })
            .collect();
        let mut named = vec![false; slots as usize];
        for entry in entries.iter().filter(|e| e.present()) {
            let named = named.get_mut(entry.slot as usize)?;
            if std::mem::replace(named, true) {
                return None;
            }
        }
        Some(Table {
            generation,
            state,
            entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(slots: &[u32]) -> Table {
        Table {
            generation: 7,
            state: State::NotPositiveDefinite { order: 1 << 40 },
            entries: slots
                .iter()
                .map(|&slot| Entry {
                    slot,
                    step: slot ^ 5,
                    sum: !slot,
                })
                .collect(),
        }
    }

    #[test]
    fn a_table_comes_back() {
        for slots in [vec![], vec![3], vec![NONE, 0, 8, NONE, 1]] {
            let table = table(&slots);
            let pages = table.encode().unwrap();
            assert_eq!(pages.len(), bytes(slots.len()));
            assert_eq!(Table::decode(&pages, slots.len(), 9), Some(table));
            assert_eq!(Table::decode(&pages, slots.len() + 1, 9), None);
        }
    }

    #[test]
    fn what_is_not_whole_is_no_table() {
        let mut pages = table(&[2, 0]).encode().unwrap();
        for k in 0..HEAD + 2 * ENTRY {
            pages[k] ^= 1;
            assert_eq!(Table::decode(&pages, 2, 9), None, "byte {k}");
            pages[k] ^= 1;
        }
        assert_eq!(
            Table::decode(&pages, 2, 2),
            None,
            "a slot that is not there"
        );
        let twice = table(&[1, 1]).encode().unwrap();
        assert_eq!(Table::decode(&twice, 2, 9), None);
        assert_eq!(Table::decode(&Pages::new(PAGE).unwrap(), 0, 9), None);
    }
}
