//! How a matrix's graph widens, which tells in a moment what no order of its rows will mend.

use super::pcg_sparse::Sparse;
use crate::error::Result;
use crate::interrupt;
use crate::scalar::{filled, room};

/// Rows with so many times the mean number of entries are left out: an order puts them last, where they cost little.
const DENSE: usize = 10;

/// The most rows that are as far as each other from where a search begins, breadth first, in the widest part of the graph. The search begins at the end of another one, so that levels lie across.
///
/// A grid of N points a side has some N in the plane and N^2 in space, its best separators' sizes; a graph without any structure has a large part of all rows.
///
/// # Errors
/// Of memory, and [`Error::Interrupted`](crate::error::Error::Interrupted).
pub fn widest_level(a: &Sparse) -> Result<usize> {
    let n = a.rows();
    let most = DENSE * (1 + a.entries() / n.max(1));
    let dense = |i: usize| a.neighbours(i).len() > most;
    let (mut met, mut front): (Vec<u8>, Vec<i32>) = (filled(n, 0)?, room(n)?);
    let mut widest = 0;
    for first in 0..n {
        if met[first] > 0 || dense(first) {
            continue;
        }
        let mut from = first;
        // Each search leaves its mark.
        for mark in 1..=2 {
            front.clear();
            front.push(from as i32);
            met[from] = mark;
            let (mut done, mut width) = (0, 0);
            while done < front.len() {
                interrupt::poll()?;
                let level = done..front.len();
                width = width.max(level.len());
                done = level.end;
                for at in level {
                    let i = front[at] as usize;
                    from = i;
                    for j in a.neighbours(i) {
                        let j = *j as usize;
                        if met[j] < mark && !dense(j) {
                            met[j] = mark;
                            front.push(j as i32);
                        }
                    }
                }
            }
            if mark == 2 {
                widest = widest.max(width);
            }
        }
    }
    Ok(widest)
}
