//! A sparse Cholesky factor along a tree of nested dissection: the multifrontal method.
//!
//! A node's front holds its own unknowns and those that come later and that these, or a half below,
//! are joined to. What the halves leave of the elimination of their unknowns is added to it, its
//! own are eliminated, and what these leave goes to the node above (Duff and Reid 1983, "The
//! multifrontal solution of indefinite sparse symmetric linear equations"). Halves share no
//! unknown, so that threads work on both at once.
//!
//! Why not faer's supernodal Cholesky, which takes the same order: it cannot be stopped once it has
//! begun, for ten seconds with a square of 2048 pixels, for minutes with large volumes; and it
//! shares single products among threads, not the halves of the tree. On one thread the time would
//! be no reason. From the graph to the solutions of two right-hand sides, CPU seconds on a Xeon
//! with AVX-512: 0.40, 2.1 and 11.2 for squares of 512, 1024 and 2048 pixels, faer 0.48, 2.3 and
//! 11.5. On two threads, two such runs with the image's making took 4.1 and 17.8 seconds for 1024
//! and 2048, faer 6.9 and 27.6. With faer's own order (AMD) the solves take ten times as long, with
//! its simplicial factor the factorization. At 2048 the process had 3.15 GB at most, of which the
//! factor is 2.4, with faer's 3.3.

use faer::Par;

use super::front::eliminate;
use super::nested_dissection::{Node, NONE};
use crate::base::error::{Error, Result};
use crate::base::interrupt::{attended, Stop};
use crate::base::scalar::{filled, room};
use crate::base::sparse::csc::Csc;
use crate::base::{packing, scalar, threads};

/// Multiplications between two looks at the user's wish to stop.
pub(crate) const BRIEF: f64 = 1e6;

#[derive(Debug)]
pub(super) struct Front {
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) children: [u32; 2],
    /// Where its other unknowns are among those of all fronts.
    others: (usize, usize),
    /// The first unknown of the nodes below it, or its own.
    pub(crate) lowest: usize,
    /// Where the panels of the nodes below it begin, and its own.
    begin: usize,
    panel: usize,
    /// Multiplications, of the nodes below it as well.
    pub(crate) work: f64,
}

impl Front {
    pub(crate) fn own(&self) -> usize {
        self.end - self.first
    }

    pub(crate) fn others(&self) -> usize {
        self.others.1 - self.others.0
    }

    pub(crate) fn rows(&self) -> usize {
        self.own() + self.others()
    }

    /// One after its own panel.
    pub(super) fn panel_end(&self) -> usize {
        self.panel + self.rows() * self.own()
    }
}

/// For an unknown that a front has no row for, though what is below it or in its columns has one.
fn misplaced() -> Error {
    Error::Internal {
        what: "an unknown is missing in a front".into(),
    }
}

/// Calls `f` with the number of threads that so many multiplications are worth.
pub(super) fn in_parallel<R: Send>(
    work: f64,
    f: impl FnOnce(usize, Stop<'_>) -> Result<R> + Send,
) -> Result<R> {
    let threads = threads::share(threads::wanted(), work);
    if threads > 1 && work > threads::BRIEF {
        attended(|stop| f(threads, stop))
    } else {
        packing::ready()?;
        f(threads, Stop::HERE)
    }
}

/// Vectors whose memory serves again: fresh memory takes the system longer than small fronts take.
#[derive(Default)]
struct Spare {
    vectors: Vec<Vec<f64>>,
}

impl Spare {
    fn zeroed(&mut self, len: usize) -> Result<Vec<f64>> {
        let enough = (0..self.vectors.len()).filter(|k| self.vectors[*k].capacity() >= len);
        let Some(at) = enough.min_by_key(|k| self.vectors[*k].capacity()) else {
            return scalar::try_zeroed(len);
        };
        let mut v = self.vectors.swap_remove(at);
        v.clear();
        v.resize(len, 0.0);
        Ok(v)
    }
}

/// `L` with `L L' = A`, by panels.
#[derive(Debug)]
pub struct Factor {
    pub(super) fronts: Vec<Front>,
    /// The other unknowns of each front, ascending, and the row each has in the front above.
    others: Vec<u32>,
    above: Vec<u32>,
    values: Vec<f64>,
}

impl Factor {
    /// The factor of a positive definite matrix, of which the lower triangle is read, along the
    /// nodes of a dissection.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where a pivot is not positive, with the order of a minor that
    /// has such a pivot in it.
    pub fn new(a: &Csc, nodes: &[Node]) -> Result<Self> {
        let mut factor = Factor::analysed(a, nodes)?;
        if let Some(root) = factor.fronts.last() {
            let mut values = scalar::try_zeroed(root.panel_end())?;
            in_parallel(root.work, |threads, stop| {
                let (node, spare) = (factor.fronts.len() - 1, &mut Spare::default());
                factor.eliminate(node, a, &mut values, threads, spare, stop)
            })?;
            factor.values = values;
        }
        Ok(factor)
    }

    /// How many numbers it holds.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    fn others_of(&self, front: &Front) -> &[u32] {
        &self.others[front.others.0..front.others.1]
    }

    pub(super) fn above_of(&self, front: &Front) -> &[u32] {
        &self.above[front.others.0..front.others.1]
    }

    pub(super) fn panel(&self, front: &Front) -> &[f64] {
        &self.values[front.panel..front.panel_end()]
    }

    pub(super) fn child(&self, child: u32) -> Option<&Front> {
        (child != NONE).then(|| &self.fronts[child as usize])
    }

    fn analysed(a: &Csc, nodes: &[Node]) -> Result<Self> {
        let mut seen = filled(a.rows, NONE)?;
        let mut factor = Factor {
            fronts: room(nodes.len())?,
            others: Vec::new(),
            above: Vec::new(),
            values: Vec::new(),
        };
        let (mut mine, mut panel) = (Vec::new(), 0);
        for (k, node) in (0u32..).zip(nodes) {
            let (first, end) = (node.first as usize, node.end as usize);
            mine.clear();
            let mut meet = |i: u32| {
                if i >= node.end && seen[i as usize] != k {
                    seen[i as usize] = k;
                    mine.push(i);
                }
            };
            for j in first..end {
                a.column(j).0.iter().for_each(|i| meet(*i as u32));
            }
            let (mut lowest, mut begin, mut work) = (first, panel, 0.0);
            for child in node.children.iter().rev() {
                let Some(child) = factor.child(*child) else {
                    continue;
                };
                factor.others_of(child).iter().for_each(|i| meet(*i));
                (lowest, begin) = (child.lowest, child.begin);
                work += child.work;
            }
            mine.sort_unstable();
            let (own, rows) = ((end - first) as f64, (end - first + mine.len()) as f64);
            // Sums of squares of the lengths of columns.
            work += own * (rows * rows - own * rows + own * own / 3.0);
            let at = factor.others.len();
            factor
                .others
                .try_reserve(mine.len())
                .map_err(|_| Error::HostMemory {
                    needed: 4 * (at + mine.len()) as u64,
                })?;
            factor.others.extend_from_slice(&mine);
            let front = Front {
                first,
                end,
                children: node.children,
                others: (at, at + mine.len()),
                lowest,
                begin,
                panel,
                work,
            };
            panel = front.panel_end();
            factor.fronts.push(front);
        }
        let mut above = filled(factor.others.len(), 0)?;
        for front in &factor.fronts {
            for child in front.children {
                let Some(child) = factor.child(child) else {
                    continue;
                };
                let mut later = (0u32..).zip(factor.others_of(front));
                let (from, to) = child.others;
                for (i, place) in factor.others[from..to].iter().zip(&mut above[from..to]) {
                    *place = if (*i as usize) < front.end {
                        *i - front.first as u32
                    } else {
                        let found = later.find(|(_, other)| *other == i);
                        let (at, _) = found.ok_or_else(misplaced)?;
                        front.own() as u32 + at
                    };
                }
            }
        }
        factor.above = above;
        Ok(factor)
    }

    /// Fills the panels of a node and those below it; what they leave to the node above.
    fn eliminate(
        &self,
        node: usize,
        a: &Csc,
        values: &mut [f64],
        threads: usize,
        spare: &mut Spare,
        stop: Stop<'_>,
    ) -> Result<Vec<f64>> {
        let front = &self.fronts[node];
        if front.work > BRIEF {
            stop.poll()?;
        }
        let (below, panel) = values.split_at_mut(front.panel - front.begin);
        let [left, right] = front.children;
        let cut = self.child(left).map_or(0, |c| c.panel_end() - c.begin);
        let (first, second) = below.split_at_mut(cut);
        let half = |child: u32, values: &mut [f64], threads, spare: &mut Spare| match child {
            NONE => Ok(Vec::new()),
            child => self.eliminate(child as usize, a, values, threads, spare, stop),
        };
        let share = threads::share(threads, front.work);
        let (x, y) = if share > 1 {
            threads::join(
                share,
                |t| half(left, first, t, spare),
                |t| half(right, second, t, &mut Spare::default()),
            )
        } else {
            (half(left, first, 1, spare), half(right, second, 1, spare))
        };
        let (own, others, rows) = (front.own(), front.others(), front.rows());
        let mut update = spare.zeroed(others * others)?;
        // Fresh memory is zero, but a page that is read before it is written costs the system
        // twice.
        panel.fill(0.0);
        for (column, j) in panel
            .chunks_exact_mut(rows.max(1))
            .zip(front.first..front.end)
        {
            let (index, values) = a.column(j);
            for (i, v) in index.iter().zip(values) {
                let at = if *i < front.end {
                    *i - front.first
                } else {
                    let others = self.others_of(front);
                    let found = others.binary_search(&(*i as u32));
                    own + found.map_err(|_| misplaced())?
                };
                column[at] += v;
            }
        }
        for (child, part) in [(left, x?), (right, y?)] {
            let Some(child) = self.child(child) else {
                continue;
            };
            let above = self.above_of(child);
            for (j, (to, column)) in above
                .iter()
                .zip(part.chunks_exact(above.len().max(1)))
                .enumerate()
            {
                let to = *to as usize;
                let (into, less) = if to < own {
                    (&mut panel[to * rows..(to + 1) * rows], 0)
                } else {
                    let to = to - own;
                    (&mut update[to * others..(to + 1) * others], own)
                };
                for (i, v) in above[j..].iter().zip(&column[j..]) {
                    into[*i as usize - less] += v;
                }
            }
            spare.vectors.push(part);
        }
        let par = match threads::share(threads, own as f64 * rows as f64 * rows as f64) {
            1 => Par::Seq,
            several => Par::rayon(several),
        };
        if eliminate(panel, own, &mut update, par, stop)? {
            Ok(update)
        } else {
            Err(Error::NotPositiveDefinite { order: front.end })
        }
    }
}
