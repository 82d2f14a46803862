//! How a matrix's graph widens, which tells in a moment what no order of its rows will mend.
//!
//! What hangs on the rest by one entry, and what is left to hang so without it, makes no fill where
//! it comes first, as it does in an order of minimum degree: trees are left out, however wide they
//! are.

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::{filled, room};
use crate::base::sparse::symmetric::Symmetric;

/// Rows with so many times the mean number of entries are left out: an order puts them last, where
/// they cost little.
const DENSE: usize = 10;

/// Marks what searches do not go to.
const OUT: u8 = u8::MAX;

/// Marks rows of very many entries, and then, again and again, those with one neighbour or none
/// among what is left.
fn leave_out_trees(a: &Symmetric, met: &mut [u8]) -> Result<()> {
    let n = a.rows();
    let most = DENSE * (1 + a.entries() / n.max(1));
    for (i, met) in met.iter_mut().enumerate() {
        if a.neighbours(i).len() > most {
            *met = OUT;
        }
    }
    let (mut left, mut ends): (Vec<u32>, Vec<i32>) = (filled(n, 0)?, room(n)?);
    for i in 0..n {
        if met[i] < OUT {
            let others = a.neighbours(i).iter().map(|j| *j as usize);
            left[i] = others.filter(|j| *j != i && met[*j] < OUT).count() as u32;
            if left[i] < 2 {
                ends.push(i as i32);
            }
        }
    }
    interrupt::poll()?;
    // No row comes twice: either it had no more neighbours, or came to have one.
    while let Some(i) = ends.pop() {
        let i = i as usize;
        met[i] = OUT;
        for j in a.neighbours(i) {
            let at = *j as usize;
            if met[at] < OUT {
                // Zeros may be stored on one side alone.
                left[at] = left[at].saturating_sub(1);
                if left[at] == 1 {
                    ends.push(*j);
                }
            }
        }
    }
    Ok(())
}

/// The most rows that are as far as each other from where a search begins, breadth first, in the
/// widest part of the graph without its trees. The search begins at the end of another one, so that
/// levels lie across.
///
/// A grid of N points a side has some N in the plane and N^2 in space, its best separators' sizes;
/// a graph without any structure has a large part of all rows, and a tree has none.
///
/// # Errors
/// Of memory, and [`Error::Interrupted`](crate::base::error::Error::Interrupted).
pub fn widest_level(a: &Symmetric) -> Result<usize> {
    let n = a.rows();
    let mut met: Vec<u8> = filled(n, 0)?;
    leave_out_trees(a, &mut met)?;
    let mut front: Vec<i32> = room(n)?;
    let mut widest = 0;
    for first in 0..n {
        if met[first] > 0 {
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
                        if met[j] < mark {
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
