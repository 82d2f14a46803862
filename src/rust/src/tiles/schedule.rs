//! The steps of a Cholesky factorization by tiles, in an order that lets few tiles travel.
//!
//! `A = R'R` in the upper triangle of tiles: `R[k,k] = chol(A[k,k] - sum_l R[l,k]'R[l,k])` and
//! `R[k,j] = R[k,k]^-T (A[k,j] - sum_l R[l,k]'R[l,j])`, sums over `l < k`. Whatever the order, a
//! tile gets its terms with `l` ascending, so that the factor is the same bit for bit, however much
//! memory there is and wherever it was interrupted.
//!
//! The order is left-looking: rows of tiles are made in panels, a panel in chunks of columns, and a
//! chunk stays in memory while earlier tiles are read. With panels of `p` rows and chunks
//! of `q` columns a tile that passes serves up to `p` or `q` products. Olivry et al. and Beaumont
//! et al. (I/O-optimal Cholesky, 2022) show that no order moves fewer than `n^3 / (3 sqrt(2 M))`
//! numbers through a memory of M, nor, of course, fewer than the triangle once each way.

/// One step on tiles, each given by its row and column of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// `A[i,j] <- A[i,j] - R[l,i]' R[l,j]`
    Update { i: usize, j: usize, l: usize },
    /// `A[k,k] <- R[k,k]`
    Factor { k: usize },
    /// `A[k,j] <- R[k,k]^-T A[k,j]`
    Solve { k: usize, j: usize },
}

impl Task {
    /// The tile that is changed.
    pub fn target(self) -> (usize, usize) {
        match self {
            Task::Update { i, j, .. } => (i, j),
            Task::Factor { k } => (k, k),
            Task::Solve { k, j } => (k, j),
        }
    }

    /// The tiles that are read besides.
    pub fn sources(self) -> impl Iterator<Item = (usize, usize)> {
        let (first, second) = match self {
            Task::Update { i, j, l } if i == j => (Some((l, i)), None),
            Task::Update { i, j, l } => (Some((l, i)), Some((l, j))),
            Task::Factor { .. } => (None, None),
            Task::Solve { k, .. } => (Some((k, k)), None),
        };
        first.into_iter().chain(second)
    }

    /// Steps that the changed tile has had afterwards: its terms, and one that makes it a tile of
    /// the factor.
    pub fn step(self) -> u32 {
        let step = match self {
            Task::Update { l, .. } => l,
            Task::Factor { k } | Task::Solve { k, .. } => k,
        };
        step as u32 + 1
    }

    /// Whether the changed tile is then one of the factor.
    pub fn is_last(self) -> bool {
        !matches!(self, Task::Update { .. })
    }

    /// Operations for tiles of this order.
    pub fn operations(self, tile: usize) -> f64 {
        let cube = (tile as f64).powi(3);
        match self {
            Task::Update { i, j, .. } if i == j => cube,
            Task::Update { .. } => 2.0 * cube,
            Task::Factor { .. } => cube / 3.0,
            Task::Solve { .. } => cube,
        }
    }
}

/// How many rows of tiles a panel has, and how many columns of tiles a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocking {
    pub rows: usize,
    pub cols: usize,
    /// Whether a panel's first diagonal tile is finished before the rest of the panel is begun, so
    /// that several devices need not wait for the one that has it. The tiles above it are read once
    /// more.
    pub ahead: bool,
}

/// All steps for a matrix of `count` rows of tiles, but for those that its tiles have had: `had` of
/// them.
///
/// Within a panel a row's diagonal tile is finished as soon as it can be, before what the row above
/// still has to give to others.
pub fn cholesky(count: usize, blocking: Blocking, had: impl Fn(usize, usize) -> u32) -> Vec<Task> {
    let mut tasks = Vec::new();
    // Steps come as early as one of the loops below wants them, and once.
    let mut made: Vec<u32> = (0..count * count)
        .map(|x| had(x / count, x % count))
        .collect();
    let mut add = |task: Task| {
        let (i, j) = task.target();
        let made = &mut made[i * count + j];
        if *made < task.step() {
            *made = task.step();
            tasks.push(task);
        }
    };
    let (height, width) = (blocking.rows.max(1), blocking.cols.max(1));
    for top in (0..count).step_by(height) {
        let bottom = count.min(top + height);
        for left in (top..count).step_by(width) {
            let right = count.min(left + width);
            if blocking.ahead && left == top {
                (0..top).for_each(|l| add(Task::Update { i: top, j: top, l }));
                add(Task::Factor { k: top });
            }
            for l in 0..top {
                for i in top..bottom {
                    for j in i.max(left)..right {
                        add(Task::Update { i, j, l });
                    }
                }
            }
            for k in top..bottom {
                if (left..right).contains(&k) {
                    add(Task::Factor { k });
                }
                let next = k + 1;
                if next < bottom && (left..right).contains(&next) {
                    add(Task::Solve { k, j: next });
                    add(Task::Update {
                        i: next,
                        j: next,
                        l: k,
                    });
                    add(Task::Factor { k: next });
                }
                for j in left.max(next)..right {
                    add(Task::Solve { k, j });
                }
                for i in next..bottom {
                    for j in i.max(left)..right {
                        add(Task::Update { i, j, l: k });
                    }
                }
            }
        }
    }
    tasks
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::HashMap;

    fn check(count: usize, blocking: Blocking, start: impl Fn(usize, usize) -> u32) {
        check_steps(count, cholesky(count, blocking, &start), start);
    }

    /// Every tile gets its steps in order, and reads finished tiles alone.
    pub(in crate::tiles) fn check_steps(
        count: usize,
        tasks: Vec<Task>,
        start: impl Fn(usize, usize) -> u32,
    ) {
        let mut had: HashMap<(usize, usize), u32> = HashMap::new();
        for j in 0..count {
            for i in 0..=j {
                had.insert((i, j), start(i, j));
            }
        }
        for task in tasks {
            for (i, j) in task.sources() {
                assert_eq!(had[&(i, j)], i as u32 + 1, "{task:?} reads ({i}, {j})");
            }
            let at = task.target();
            assert_eq!(had[&at] + 1, task.step(), "{task:?}");
            assert_eq!(task.is_last(), task.step() == at.0 as u32 + 1);
            had.insert(at, task.step());
        }
        for ((i, _), steps) in had {
            assert_eq!(steps, i as u32 + 1);
        }
    }

    #[test]
    fn every_order_makes_the_whole_factor() {
        for count in [0, 1, 2, 3, 7, 12] {
            for rows in [1, 2, 3, 5, 20] {
                for cols in [1, 2, 4, 20] {
                    for ahead in [false, true] {
                        let blocking = Blocking { rows, cols, ahead };
                        check(count, blocking, |_, _| 0);
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_done_is_not_done_again() {
        // The first rows of tiles are finished, the next one has had their terms, in part.
        for (rows, cols, ahead) in [(1, 3, false), (4, 2, true)] {
            let blocking = Blocking { rows, cols, ahead };
            check(9, blocking, |i, j| match i {
                0..=3 => i as u32 + 1,
                4 => 1 + (j % 4) as u32,
                _ => 0,
            });
        }
    }

    #[test]
    fn operations_add_up() {
        let (count, tile) = (20, 10);
        let blocking = Blocking {
            rows: 3,
            cols: 4,
            ahead: false,
        };
        let tasks = cholesky(count, blocking, |_, _| 0);
        let sum: f64 = tasks.iter().map(|t| t.operations(tile)).sum();
        let n = (count * tile) as f64;
        // Whole tiles on the diagonal count half a product each, which is what is needed of them.
        assert!((sum / (n.powi(3) / 3.0) - 1.0).abs() < 1e-12, "{sum}");
    }
}
