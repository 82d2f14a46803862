//! The columns of an incomplete Cholesky factor, one after the other.
//!
//! Left-looking: column j is that of A less multiples of the tails, from row j on, of the columns k < j with `L[j, k]` not zero. A column waits in the list of the
//! next row that it has an entry in, so that those are found without a search.

use super::incomplete_cholesky::Fill;
use super::lp_csc::Csc;
use super::pcg_sparse::Stored;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::scalar::{filled, reserve, room, try_zeroed};

/// A lower triangle: its diagonal, and by columns what is below that. Rows ascend.
pub(super) struct Lower {
    pub diagonal: Vec<f64>,
    pub starts: Vec<usize>,
    pub index: Vec<u32>,
    pub values: Vec<f64>,
}

impl Lower {
    fn with_room(n: usize, entries: usize) -> Result<Self> {
        let (mut starts, mut index, mut values) = (Vec::new(), Vec::new(), Vec::new());
        reserve(&mut starts, n + 1)?;
        reserve(&mut index, entries)?;
        reserve(&mut values, entries)?;
        starts.push(0);
        Ok(Lower {
            diagonal: try_zeroed(n)?,
            starts,
            index,
            values,
        })
    }

    fn push(&mut self, i: usize, v: f64) -> Result<()> {
        if self.index.len() == self.index.capacity() {
            // In steps of a half, as what is not written costs nothing.
            let more = self.index.len() / 2 + 1024;
            reserve(&mut self.index, more)?;
            reserve(&mut self.values, more)?;
        }
        self.index.push(i as u32);
        self.values.push(v);
        Ok(())
    }

    /// Of a symmetric matrix.
    pub fn of(a: &Csc, stored: Stored) -> Result<Self> {
        let n = a.columns();
        if a.rows != n || u32::try_from(n).is_err() {
            return Err(Error::Dimension {
                what: "a sparse matrix is not square, or too large".into(),
            });
        }
        if !a.values.iter().all(|v| v.is_finite()) {
            return Err(Error::NonFiniteIn { argument: "A" });
        }
        let mut out = Lower::with_room(n, a.index.len())?;
        if stored != Stored::Upper {
            for j in 0..n {
                let (rows, values) = a.column(j);
                for (i, v) in rows.iter().zip(values).filter(|(i, _)| **i >= j) {
                    if *i == j {
                        out.diagonal[j] = *v;
                    } else {
                        out.push(*i, *v)?;
                    }
                }
                out.starts.push(out.index.len());
            }
            return Ok(out);
        }
        // The transpose: what column i has in row j < i is in row i of column j.
        out.starts.resize(n + 1, 0);
        for i in 0..n {
            let above = a.column(i).0.iter().filter(|j| **j < i);
            above.for_each(|j| out.starts[j + 1] += 1);
        }
        (0..n).for_each(|j| out.starts[j + 1] += out.starts[j]);
        out.index.resize(out.starts[n], 0);
        out.values.resize(out.starts[n], 0.0);
        let mut next = filled(n + 1, 0)?;
        next.copy_from_slice(&out.starts);
        for i in 0..n {
            let (rows, values) = a.column(i);
            for (j, v) in rows.iter().zip(values).filter(|(j, _)| **j <= i) {
                if *j == i {
                    out.diagonal[i] = *v;
                } else {
                    out.index[next[*j]] = i as u32;
                    out.values[next[*j]] = *v;
                    next[*j] += 1;
                }
            }
        }
        Ok(out)
    }
}

/// A pivot below this part of its diagonal entry is nothing but rounding.
const PIVOT: f64 = 1e-14;

/// Entries that are worked on between two looks at the user's wish to stop: some milliseconds.
const AT_ONCE: usize = 1 << 20;

const NONE: usize = usize::MAX;

/// Columns that wait for a row.
struct Waiting {
    /// The first column that waits for each row, and the one behind each.
    first: Vec<usize>,
    behind: Vec<usize>,
    /// The place of its entry in that row.
    place: Vec<usize>,
}

impl Waiting {
    fn put(&mut self, l: &Lower, k: usize, place: usize, end: usize) {
        if place < end {
            let row = l.index[place] as usize;
            self.place[k] = place;
            self.behind[k] = self.first[row];
            self.first[row] = k;
        }
    }
}

/// Counts entries that are to be worked on, and asks for the user's wish when they are many.
fn look(left: &mut usize, entries: usize) -> Result<()> {
    match left.checked_sub(entries) {
        Some(less) => *left = less,
        None => {
            interrupt::poll()?;
            *left = AT_ONCE;
        }
    }
    Ok(())
}

/// The factor of `A + shift diag(A)`, or the number of the column whose pivot is too small.
pub(super) fn factor(
    a: &Lower,
    fill: Fill,
    shift: f64,
) -> Result<std::result::Result<Lower, usize>> {
    let n = a.diagonal.len();
    let mut l = Lower::with_room(n, a.index.len())?;
    let mut waiting = Waiting {
        first: filled(n, NONE)?,
        behind: filled(n, NONE)?,
        place: filled(n, 0)?,
    };
    let mut work: Vec<f64> = try_zeroed(n)?;
    // The column that each row was last met in.
    let mut seen = filled(n, NONE)?;
    // No row is met twice in a column.
    let mut rows: Vec<usize> = room(n)?;
    // What is left to be worked on until the next look.
    let mut left = 0;
    for j in 0..n {
        look(&mut left, 1 + a.starts[j + 1] - a.starts[j])?;
        let diagonal = a.diagonal[j] * (1.0 + shift);
        let mut pivot = diagonal;
        let mut norm = a.diagonal[j].abs();
        rows.clear();
        for p in a.starts[j]..a.starts[j + 1] {
            let i = a.index[p] as usize;
            work[i] = a.values[p];
            norm += a.values[p].abs();
            seen[i] = j;
            rows.push(i);
        }
        let mut k = waiting.first[j];
        while k != NONE {
            let (behind, place, end) = (waiting.behind[k], waiting.place[k], l.starts[k + 1]);
            look(&mut left, end - place)?;
            let by = l.values[place];
            pivot -= by * by;
            for p in place + 1..end {
                let i = l.index[p] as usize;
                if seen[i] == j {
                    work[i] -= by * l.values[p];
                } else if fill != Fill::None {
                    seen[i] = j;
                    rows.push(i);
                    work[i] = -by * l.values[p];
                }
            }
            waiting.put(&l, k, place + 1, end);
            k = behind;
        }
        // Not so of NaN either.
        if !(pivot > PIVOT * diagonal && pivot.is_finite()) {
            return Ok(Err(j));
        }
        let root = pivot.sqrt();
        l.diagonal[j] = root;
        let least = match fill {
            Fill::None => 0.0,
            Fill::Threshold(t) if norm > 0.0 => t * norm,
            Fill::Threshold(_) => 0.0,
        };
        if fill != Fill::None {
            rows.sort_unstable();
        }
        for i in &rows {
            if work[*i].abs() >= least {
                l.push(*i, work[*i] / root)?;
            }
        }
        let (from, to) = (l.starts[j], l.index.len());
        l.starts.push(to);
        waiting.put(&l, j, from, to);
    }
    Ok(Ok(l))
}
