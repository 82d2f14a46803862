//! The numbers of a sparse Cholesky factor whose structure faer has found: the multifrontal method.
//!
//! faer's own loop over supernodes cannot be stopped once it has begun. This one fills the same
//! panels, with which faer then solves. A supernode's front has its own columns, and the later ones
//! that these are joined to. What the fronts below leave of the elimination of their columns is
//! added to it. Then its own columns are eliminated, and what these leave goes to the front above
//! (Duff & Reid 1983, ACM Trans. Math. Software 9:302). Threads work on trees that share no column,
//! and together on the fronts above.

use faer::sparse::linalg::cholesky::supernodal::SymbolicSupernodalCholesky;
use faer::Par;

use super::multifrontal::front::eliminate;
use crate::base::error::{Error, Result};
use crate::base::interrupt::Stop;
use crate::base::scalar::{filled, room, try_zeroed};
use crate::base::threads::{join, share};

/// In the place of a front that there is not.
const NONE: usize = usize::MAX;

/// Multiplications between two looks at the user's wish to stop.
const BRIEF: f64 = 1e6;

/// Numbers of an update that is added in more than a moment.
const LARGE: usize = 100_000;

/// Trees for each thread: with several, threads that are done early find another one.
const TREES: f64 = 4.0;

/// The lower triangle of a symmetric matrix in the order of elimination, by columns.
pub(crate) struct Lower {
    pub starts: Vec<usize>,
    pub rows: Vec<usize>,
    pub values: Vec<f64>,
}

/// The fronts of a factor, numbered so that a front comes after those below it.
pub(super) struct Fronts<'a> {
    structure: &'a SymbolicSupernodalCholesky<usize>,
    a: &'a Lower,
    /// The front above, the first one below, and the next one with the same front above.
    above: Vec<usize>,
    below: Vec<usize>,
    next: Vec<usize>,
    /// Multiplications of a front, with those of all fronts below it.
    work: Vec<f64>,
}

/// What a front leaves: the lower triangle of a square matrix, by columns.
type Update = Vec<f64>;

/// Panels and updates, each with the number of its front.
type Numbered<T> = Vec<(usize, T)>;

fn misplaced() -> Error {
    Error::Internal {
        what: "an entry of a sparse matrix is missing in a front".into(),
    }
}

impl<'a> Fronts<'a> {
    pub fn new(structure: &'a SymbolicSupernodalCholesky<usize>, a: &'a Lower) -> Result<Self> {
        let count = structure.n_supernodes();
        let mut front_of = filled(structure.nrows(), 0)?;
        let ends = structure
            .supernode_begin()
            .iter()
            .zip(structure.supernode_end());
        for (s, (begin, end)) in ends.enumerate() {
            front_of[*begin..*end].fill(s);
        }
        let mut all = Fronts {
            structure,
            a,
            above: filled(count, NONE)?,
            below: filled(count, NONE)?,
            next: filled(count, NONE)?,
            work: filled(count, 0.0)?,
        };
        // Descending, so that lists of those below ascend.
        for s in (0..count).rev() {
            if let Some(row) = all.others(s).first() {
                let above = front_of[*row];
                all.above[s] = above;
                all.next[s] = std::mem::replace(&mut all.below[above], s);
            }
        }
        for s in 0..count {
            let (own, rows) = (all.own(s) as f64, (all.own(s) + all.others(s).len()) as f64);
            // Sums of squares of the lengths of columns.
            all.work[s] += own * (rows * rows - own * rows + own * own / 3.0);
            if all.above[s] != NONE {
                all.work[all.above[s]] += all.work[s];
            }
        }
        Ok(all)
    }

    fn first(&self, s: usize) -> usize {
        self.structure.supernode_begin()[s]
    }

    fn own(&self, s: usize) -> usize {
        self.structure.supernode_end()[s] - self.first(s)
    }

    fn others(&self, s: usize) -> &'a [usize] {
        self.structure.supernode(s).pattern()
    }

    fn children(&self, s: usize) -> impl Iterator<Item = usize> + '_ {
        let link = |s: usize| (s != NONE).then_some(s);
        std::iter::successors(link(self.below[s]), move |s| link(self.next[*s]))
    }

    fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.above.len()).filter(|s| self.above[*s] == NONE)
    }

    /// Multiplications in all.
    pub fn total(&self) -> f64 {
        self.roots().map(|s| self.work[s]).sum()
    }

    /// Fills the panels of the factor with its numbers.
    ///
    /// # Errors
    /// [`Error::IndefinitePivot`], [`Error::HostMemory`] and [`Error::Interrupted`].
    pub fn factor(&self, values: &mut [f64], threads: usize, stop: Stop<'_>) -> Result<()> {
        let count = self.above.len();
        let at = self.structure.col_ptr_for_val();
        let mut panels: Numbered<&mut [f64]> = room(count)?;
        let mut rest = values;
        for s in 0..count {
            let (panel, after) = rest.split_at_mut(at[s + 1] - at[s]);
            panels.push((s, panel));
            rest = after;
        }
        let threads = share(threads, self.total());
        if threads < 2 {
            return self.in_turn(panels, Vec::new(), 1, stop).map(drop);
        }
        let tree_of = self.trees(self.total() / (TREES * threads as f64))?;
        let trees = self.roots_of(&tree_of);
        let mut parts: Vec<Numbered<&mut [f64]>> = trees.iter().map(|_| Vec::new()).collect();
        let mut top = Vec::new();
        for (s, panel) in panels {
            match tree_of[s] {
                NONE => top.push((s, panel)),
                tree => parts[tree].push((s, panel)),
            }
        }
        let mut sized: Vec<(f64, Numbered<&mut [f64]>)> =
            trees.iter().map(|s| self.work[*s]).zip(parts).collect();
        sized.sort_by(|x, y| y.0.total_cmp(&x.0));
        let left = self.side_by_side(sized, threads, stop)?;
        self.in_turn(top, left, threads, stop).map(drop)
    }

    /// For each front the number of its tree, of trees with up to so much work each.
    /// Fronts above them are in none.
    fn trees(&self, most: f64) -> Result<Vec<usize>> {
        let mut tree_of = filled(self.above.len(), NONE)?;
        let mut trees = 0;
        // From above: a front is in the tree of the one above it, or begins one.
        for s in (0..self.above.len()).rev() {
            let above = self.above[s];
            if above != NONE && tree_of[above] != NONE {
                tree_of[s] = tree_of[above];
            } else if self.work[s] <= most {
                tree_of[s] = trees;
                trees += 1;
            }
        }
        Ok(tree_of)
    }

    /// The fronts at the roots of trees.
    fn roots_of(&self, tree_of: &[usize]) -> Vec<usize> {
        let root = |s: &usize| {
            let above = self.above[*s];
            tree_of[*s] != NONE && (above == NONE || tree_of[above] == NONE)
        };
        (0..self.above.len()).rev().filter(root).collect()
    }

    /// Trees, those with more work first, shared among threads. The value is what their roots
    /// leave.
    fn side_by_side(
        &self,
        trees: Vec<(f64, Numbered<&mut [f64]>)>,
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Numbered<Update>> {
        if threads < 2 || trees.len() < 2 {
            let mut left = Vec::new();
            for (_, panels) in trees {
                left.extend(self.in_turn(panels, Vec::new(), 1, stop)?);
            }
            return Ok(left);
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let (mut of_x, mut of_y) = (0.0, 0.0);
        // The halves of the threads, as join() has them.
        let (for_x, for_y) = ((threads / 2) as f64, (threads - threads / 2) as f64);
        for tree in trees {
            if of_x / for_x <= of_y / for_y {
                of_x += tree.0;
                x.push(tree);
            } else {
                of_y += tree.0;
                y.push(tree);
            }
        }
        let (x, y) = join(
            threads,
            |t| self.side_by_side(x, t, stop),
            |t| self.side_by_side(y, t, stop),
        );
        let mut left = x?;
        left.extend(y?);
        Ok(left)
    }

    /// Fronts one after another, beginning with what fronts below them have left.
    /// The value is what they leave for fronts that are not among them.
    fn in_turn(
        &self,
        panels: Numbered<&mut [f64]>,
        left: Numbered<Update>,
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Numbered<Update>> {
        let mut left: std::collections::HashMap<usize, Update> = left.into_iter().collect();
        let mut place = filled(self.structure.nrows(), 0)?;
        let mut spare = Vec::new();
        let mut since = f64::INFINITY;
        for (s, panel) in panels {
            since += panel.len() as f64 * self.own(s) as f64;
            if since > BRIEF {
                stop.poll()?;
                since = 0.0;
            }
            let update = self.front(s, panel, &mut left, &mut place, &mut spare, threads, stop)?;
            if !update.is_empty() {
                left.insert(s, update);
            }
        }
        Ok(left.into_iter().collect())
    }

    /// One front: its panel of the factor, and what it leaves. `place` is room for the row of each
    /// unknown, and no row is read before it is written.
    #[allow(clippy::too_many_arguments)]
    fn front(
        &self,
        s: usize,
        panel: &mut [f64],
        left: &mut std::collections::HashMap<usize, Update>,
        place: &mut [usize],
        spare: &mut Vec<Update>,
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Update> {
        let (first, own, others) = (self.first(s), self.own(s), self.others(s));
        let (end, rows) = (first + own, own + others.len());
        (first..end).zip(0..).for_each(|(i, row)| place[i] = row);
        others
            .iter()
            .zip(own..)
            .for_each(|(i, row)| place[*i] = row);
        let mut update = zeroed(spare, others.len() * others.len())?;
        for (column, j) in panel.chunks_exact_mut(rows.max(1)).zip(first..end) {
            let entries = self.a.starts[j]..self.a.starts[j + 1];
            for (i, v) in self.a.rows[entries.clone()]
                .iter()
                .zip(&self.a.values[entries])
            {
                column[place[*i]] += v;
            }
        }
        for child in self.children(s) {
            let theirs = self.others(child);
            let part = match left.remove(&child) {
                Some(part) => part,
                None if theirs.is_empty() => continue,
                None => return Err(misplaced()),
            };
            if part.len() > LARGE {
                stop.poll()?;
            }
            for (j, column) in part.chunks_exact(theirs.len()).enumerate() {
                let to = place[theirs[j]];
                let (into, less) = if to < own {
                    (&mut panel[to * rows..(to + 1) * rows], 0)
                } else {
                    let to = to - own;
                    (&mut update[to * others.len()..(to + 1) * others.len()], own)
                };
                for (i, v) in theirs[j..].iter().zip(&column[j..]) {
                    into[place[*i] - less] += v;
                }
            }
            spare.push(part);
        }
        let par = match share(threads, own as f64 * rows as f64 * rows as f64) {
            1 => Par::Seq,
            several => Par::rayon(several),
        };
        match eliminate(panel, own, &mut update, par, stop)? {
            true => Ok(update),
            false => Err(Error::IndefinitePivot),
        }
    }
}

/// Vectors that serve again: fresh memory takes the system longer than small fronts take.
fn zeroed(spare: &mut Vec<Update>, len: usize) -> Result<Update> {
    const KEPT: usize = 16;
    if len == 0 {
        return Ok(Vec::new());
    }
    if spare.len() > KEPT {
        spare.drain(..spare.len() - KEPT);
    }
    let Some(at) = spare.iter().rposition(|v| v.capacity() >= len) else {
        return try_zeroed(len);
    };
    let mut v = spare.swap_remove(at);
    v.clear();
    v.resize(len, 0.0);
    Ok(v)
}
