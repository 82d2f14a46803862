//! Tiles cut into strips of whole columns, which travel one by one.

use std::ops::Range;

use super::layout::Layout;

/// Strips of the tiles of a layout, each of so many columns but for a tile's last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strips {
    layout: Layout,
    width: usize,
}

impl Strips {
    pub fn new(layout: Layout, width: usize) -> Self {
        Strips {
            layout,
            width: width.clamp(1, layout.tile()),
        }
    }

    /// Each tile as one strip.
    pub fn whole(layout: Layout) -> Self {
        Strips::new(layout, layout.tile())
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many there are of each tile.
    pub fn each(&self) -> usize {
        self.layout.tile().div_ceil(self.width)
    }

    /// How many there are of all tiles.
    pub fn count(&self) -> usize {
        self.layout.tiles() * self.each()
    }

    /// The numbers of a tile's strips.
    pub fn of(&self, tile: usize) -> Range<usize> {
        tile * self.each()..(tile + 1) * self.each()
    }

    /// The strip of a tile that begins with this column.
    pub fn from(&self, tile: usize, column: usize) -> usize {
        self.of(tile).start + column / self.width
    }

    /// The tile of a strip, and which of its columns it has.
    pub fn position(&self, strip: usize) -> (usize, Range<usize>) {
        let (tile, number) = (strip / self.each(), strip % self.each());
        let start = number * self.width;
        (tile, start..(start + self.width).min(self.layout.tile()))
    }

    /// Numbers that a strip has at most.
    pub fn entries(&self) -> usize {
        self.width * self.layout.tile()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::Shape;

    #[test]
    fn strips_are_the_columns_of_all_tiles() {
        for (tile, width) in [(1, 1), (8, 3), (8, 8), (8, 9), (8, 0), (7, 2)] {
            let layout = Layout::new(20, 20, tile, Shape::Triangle).unwrap();
            let strips = Strips::new(layout, width);
            let mut next = 0;
            for index in 0..layout.tiles() {
                let mut columns = 0;
                for strip in strips.of(index) {
                    assert_eq!(strip, next);
                    next += 1;
                    let (of, range) = strips.position(strip);
                    assert_eq!((of, range.start), (index, columns));
                    assert_eq!(strips.from(index, range.start), strip);
                    assert!(range.len() * tile <= strips.entries());
                    columns = range.end;
                }
                assert_eq!(columns, tile);
            }
            assert_eq!(next, strips.count());
        }
        let layout = Layout::new(20, 20, 8, Shape::Triangle).unwrap();
        assert_eq!(Strips::whole(layout).each(), 1);
    }
}
