//! Rows and columns of a matrix in a file of tiles, copied from and to R's memory.

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::tiles::behind::Behind;
use crate::tiles::entries::{below, load, Below};
use crate::tiles::{Layout, Shape, TileFile};

/// Rows, or columns, that are asked for, by the block they are in: the place in the result, and the
/// place in the tile.
pub struct Places {
    count: usize,
    blocks: Vec<Vec<(usize, usize)>>,
}

impl Places {
    /// Of `length` rows those with these numbers, counted from one; all where there are no numbers.
    pub fn new(numbers: Option<&[f64]>, length: usize, tile: usize) -> Result<Self> {
        let mut blocks = vec![Vec::new(); length.div_ceil(tile)];
        let mut add = |place: usize, at: usize| blocks[at / tile].push((place, at % tile));
        match numbers {
            None => (0..length).for_each(|at| add(at, at)),
            Some(numbers) => {
                for (place, number) in numbers.iter().enumerate() {
                    // Also false for NaN.
                    if !(*number >= 1.0 && *number <= length as f64) {
                        return Err(Error::Internal {
                            what: "a native routine was called with a subscript out of bounds"
                                .to_owned(),
                        });
                    }
                    add(place, *number as usize - 1);
                }
            }
        }
        Ok(Places {
            count: numbers.map_or(length, <[f64]>::len),
            blocks,
        })
    }

    pub fn count(&self) -> usize {
        self.count
    }
}

/// Fills `out` with the entries in these rows and columns. Each tile that has some of them is read
/// once.
pub fn gather<T: Scalar>(
    file: &TileFile<T>,
    rows: &Places,
    cols: &Places,
    out: &mut [f64],
) -> Result<()> {
    let below = below(file)?;
    let layout = *file.layout();
    let ld = layout.tile();
    let m = rows.count;
    let triangle = below != Below::Stored;
    if below == Below::Zero {
        out.fill(0.0);
    }
    let mut tile = file.buffer()?;
    for index in 0..layout.tiles() {
        let (i, j) = layout.position(index);
        let direct = (&rows.blocks[i], &cols.blocks[j]);
        let mirrored = (below == Below::Mirrored).then(|| (&rows.blocks[j], &cols.blocks[i]));
        let some = |(r, c): (&Vec<_>, &Vec<_>)| !r.is_empty() && !c.is_empty();
        if !some(direct) && !mirrored.is_some_and(some) {
            continue;
        }
        interrupt::poll()?;
        load(file, index, &mut tile)?;
        let diagonal = triangle && i == j;
        for &(q, c) in direct.1 {
            let (out, column) = (&mut out[q * m..(q + 1) * m], &tile[c * ld..(c + 1) * ld]);
            for &(p, r) in direct.0 {
                if !diagonal || r <= c {
                    out[p] = column[r].to_f64();
                }
            }
        }
        if let Some((rows, cols)) = mirrored {
            for &(q, c) in cols {
                let out = &mut out[q * m..(q + 1) * m];
                for &(p, r) in rows {
                    if !diagonal || r > c {
                        out[p] = tile[r * ld + c].to_f64();
                    }
                }
            }
        }
    }
    Ok(())
}

/// Writes the tile in block row `i` and block column `j`, soon. Its first entry is `from[0]`, and
/// its columns are `stride` apart. Below the diagonal of the matrix are zeros where the file holds
/// the upper triangle.
pub fn put<T: Scalar>(
    layout: &Layout,
    (i, j): (usize, usize),
    from: &[f64],
    stride: usize,
    behind: &mut Behind<T>,
) -> Result<()> {
    let index = layout.index(i, j).ok_or_else(|| Error::Internal {
        what: "a native routine was called for a tile that there is not".to_owned(),
    })?;
    let (rows, cols) = layout.dimensions(i, j);
    let diagonal = layout.shape() == Shape::Triangle && i == j;
    let mut tile = behind.buffer()?;
    tile.fill(T::from_f64(0.0));
    for c in 0..cols {
        let rows = if diagonal { rows.min(c + 1) } else { rows };
        let to = &mut tile[c * layout.tile()..][..rows];
        for (to, from) in to.iter_mut().zip(&from[c * stride..][..rows]) {
            *to = T::from_f64(*from);
        }
    }
    behind.write(index, tile)
}
