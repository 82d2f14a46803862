//! Sparse matrices compressed by columns, borrowed: their checks and symmetry.

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::room;

/// An integer that numbers rows or entries.
pub trait Place: Copy + Ord {
    /// A negative number is beyond every dimension.
    fn at(self) -> usize;
    /// Of a number that fits.
    fn of(place: usize) -> Self;
}

impl Place for usize {
    fn at(self) -> usize {
        self
    }

    fn of(place: usize) -> Self {
        place
    }
}

impl Place for i32 {
    fn at(self) -> usize {
        self as usize
    }

    fn of(place: usize) -> Self {
        place as i32
    }
}

/// As [`Csc`](super::csc::Csc), borrowed. Only [`CscRef::check`] relies on nothing.
#[derive(Debug, Clone, Copy)]
pub struct CscRef<'a, I = usize, S = usize> {
    pub rows: usize,
    pub starts: &'a [S],
    pub index: &'a [I],
    pub values: &'a [f64],
}

/// Polls for the user's interrupt at some columns.
pub(crate) fn look(column: usize) -> Result<()> {
    if column % (1 << 14) == 0 {
        interrupt::poll()?;
    }
    Ok(())
}

pub(crate) fn wrong(what: &str) -> Error {
    Error::Dimension {
        what: format!("a sparse matrix {what}"),
    }
}

pub(crate) fn copied<T: Copy>(x: &[T]) -> Result<Vec<T>> {
    let mut out = room(x.len())?;
    out.extend_from_slice(x);
    Ok(out)
}

impl<'a, I: Place, S: Place> CscRef<'a, I, S> {
    /// An error unless columns begin and end within the entries, in order.
    pub fn check_starts(&self) -> Result<()> {
        let (starts, entries) = (self.starts, self.index.len());
        let ends = starts.first().map(|s| s.at()) == Some(0)
            && starts.last().map(|s| s.at()) == Some(entries);
        if !ends || entries != self.values.len() || starts.windows(2).any(|w| w[0] > w[1]) {
            return Err(wrong("has parts that do not fit together"));
        }
        Ok(())
    }

    /// An error unless the parts fit together, and rows ascend within the dimensions.
    pub fn check(&self) -> Result<()> {
        self.check_starts()?;
        for j in 0..self.columns() {
            look(j)?;
            let (rows, _) = self.column(j);
            let inside = |i: &I| i.at() < self.rows;
            let ends = rows.first().is_none_or(inside) && rows.last().is_none_or(inside);
            if !ends || rows.windows(2).any(|w| w[0] >= w[1]) {
                return Err(wrong("has rows that are out of order or range"));
            }
        }
        Ok(())
    }

    pub fn columns(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Rows and values of a column.
    #[inline]
    pub fn column(&self, j: usize) -> (&'a [I], &'a [f64]) {
        let at = self.starts[j].at()..self.starts[j + 1].at();
        (&self.index[at.clone()], &self.values[at])
    }

    /// Whether each entry is its mirror image, in O(entries) operations. What is not stored is
    /// zero. NaN is not its own image, infinity is.
    pub fn is_symmetric(&self) -> Result<bool> {
        let n = self.columns();
        if self.rows != n {
            return Ok(false);
        }
        // The first place of each column that is not compared yet: rows come up in order.
        let mut next: Vec<S> = copied(&self.starts[..n])?;
        for j in 0..n {
            look(j)?;
            for p in next[j].at()..self.starts[j + 1].at() {
                let (i, value) = (self.index[p].at(), self.values[p]);
                if i < j {
                    // Its mirror image in column i, at row j, was not met.
                    if value != 0.0 {
                        return Ok(false);
                    }
                    continue;
                }
                if i == j {
                    if value.is_nan() {
                        return Ok(false);
                    }
                    continue;
                }
                // Rows before j of column i have had their turn.
                let (mut mirrored, mut at) = (0.0, next[i].at());
                while at < self.starts[i + 1].at() && self.index[at].at() <= j {
                    let (row, image) = (self.index[at].at(), self.values[at]);
                    at += 1;
                    if row == j {
                        mirrored = image;
                    } else if image != 0.0 {
                        return Ok(false);
                    }
                }
                next[i] = S::of(at);
                if value != mirrored {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
