//! The columns of an incomplete Cholesky factor, one after the other.
//!
//! Left-looking: column j is that of A less multiples of the tails, from row j on, of the columns k
//! < j with `L[j, k]` not zero. A column waits in the list of the next row that it has an entry in,
//! so that those are found without a search. Without fill only that counts of a tail which has a
//! place in column j too, and the shorter of the two is gone through: a tail of very many rows does
//! not cost as many steps in each of them.

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::{filled, reserve, room, try_zeroed};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Stored;

/// A lower triangle: its diagonal, and by columns what is below that. Rows ascend.
pub(crate) struct Lower {
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

/// A count of the entries that are worked on.
#[derive(Default)]
struct Work {
    /// What is left until the next look.
    left: usize,
    done: usize,
}

impl Work {
    /// Of entries that are to be worked on; asks for the user's wish when they are many.
    fn count(&mut self, entries: usize) -> Result<()> {
        self.done = self.done.saturating_add(entries);
        match self.left.checked_sub(entries) {
            Some(less) => self.left = less,
            None => {
                interrupt::poll()?;
                self.left = AT_ONCE;
            }
        }
        Ok(())
    }
}

/// A row is looked up in a tail of so many times as many entries: what is left out between two of
/// them is then more than the steps of the search.
const SEARCH: usize = 8;

/// How many entries of a list that ascends are less than a row, in steps that are doubled and then
/// halved: their number is the logarithm of the answer.
fn less_than(list: &[u32], row: usize) -> usize {
    let less = |i: &u32| (*i as usize) < row;
    let mut step = 1;
    while list.get(step - 1).is_some_and(less) {
        step *= 2;
    }
    let from = step / 2;
    from + list[from..list.len().min(step)].partition_point(less)
}

/// The factor of `A + shift diag(A)`, or the number of the column whose pivot is too small.
pub(crate) fn factor(
    a: &Lower,
    fill: Fill,
    shift: f64,
) -> Result<std::result::Result<Lower, usize>> {
    factor_counted(a, fill, shift, &mut Work::default())
}

fn factor_counted(
    a: &Lower,
    fill: Fill,
    shift: f64,
    steps: &mut Work,
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
    for j in 0..n {
        steps.count(1 + a.starts[j + 1] - a.starts[j])?;
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
            let by = l.values[place];
            pivot -= by * by;
            if fill == Fill::None && (end - place) / SEARCH > rows.len() {
                steps.count(1 + SEARCH * rows.len())?;
                let mut p = place + 1;
                for i in &rows {
                    p += less_than(&l.index[p..end], *i);
                    if p < end && l.index[p] as usize == *i {
                        work[*i] -= by * l.values[p];
                    }
                }
            } else {
                steps.count(end - place)?;
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
            // A sum that overflowed would leave all out, and with t = 0 be NaN.
            Fill::Threshold(t) if norm > 0.0 => t * norm.min(f64::MAX),
            Fill::Threshold(_) => 0.0,
        };
        if fill != Fill::None {
            rows.sort_unstable();
        }
        for i in &rows {
            // NaN is kept too: it ends the attempt at the pivot of its row.
            let small = work[*i].abs() < least;
            if !small {
                l.push(*i, work[*i] / root)?;
            }
        }
        let (from, to) = (l.starts[j], l.index.len());
        l.starts.push(to);
        waiting.put(&l, j, from, to);
    }
    Ok(Ok(l))
}

/// What L keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// IC(0): what has a place in A.
    None,
    /// Entries with `|L[i, j]| L[j, j] >= t ||A[j.., j]||_1`, t from 0 on. With t = 0 L is the
    /// Cholesky factor, which R's `droptol = 0` does not ask for.
    Threshold(f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that hangs on all others, first: each column has a few entries more, to either side of
    /// what the tail has.
    fn arrow(n: usize, more: usize) -> Lower {
        let mut a = Csc::with_rows(n);
        a.push(
            (0..n)
                .map(|i| (i, if i == 0 { n as f64 } else { 0.5 }))
                .collect(),
        );
        for j in 1..n {
            let below = (1..=more).map(|k| (j + k * (1 + j % 7), -0.1));
            let column = [(j, 3.0)].into_iter().chain(below.filter(|(i, _)| *i < n));
            a.push(column.collect());
        }
        Lower::of(&a, Stored::Lower).unwrap()
    }

    #[test]
    fn a_long_tail_is_not_gone_through_in_each_of_its_rows() {
        let n = 5000;
        for more in [0, 1, 4] {
            let a = arrow(n, more);
            let mut steps = Work::default();
            let l = factor_counted(&a, Fill::None, 0.0, &mut steps).unwrap();
            assert_eq!(l.ok().map(|l| l.index), Some(a.index));
            let most = n * (4 + (SEARCH + 2) * more) + n * more * more;
            assert!(steps.done <= most, "{} of {most}", steps.done);
        }
    }
}
