//! Sparse matrices of many shapes, and how they come to a device.

use crate::common::few;
use cudafactor::base::error::Error;
use cudafactor::base::matrix::Part;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::Stored;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::sparse::{Columns, Sparse};
use faer::{Mat, MatMut};

/// A matrix by columns, all entries, from rows, columns and values of one triangle.
#[derive(Clone)]
pub struct Entries {
    pub n: usize,
    pub entries: Vec<(usize, usize, f64)>,
}

impl Entries {
    pub fn new(n: usize) -> Self {
        Entries {
            n,
            entries: Vec::new(),
        }
    }

    pub fn with(mut self, i: usize, j: usize, v: f64) -> Self {
        self.put(i, j, v);
        self
    }

    /// And its mirror image.
    pub fn put(&mut self, i: usize, j: usize, v: f64) {
        self.entries.push((i, j, v));
        if i != j {
            self.entries.push((j, i, v));
        }
    }

    /// Couplings w between i and j.
    pub fn join(&mut self, i: usize, j: usize, w: f64) {
        self.put(i, j, -w);
    }

    /// What rows sum up to becomes the excess where entries are not on the diagonal.
    pub fn with_excess(mut self, excess: f64) -> Self {
        let mut sums = vec![excess; self.n];
        self.entries
            .iter()
            .for_each(|(i, _, v)| sums[*i] += v.abs());
        (0..self.n).for_each(|i| self.put(i, i, sums[i]));
        self
    }

    pub fn columns(&self, stored: Stored) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let mut all = self.entries.clone();
        all.retain(|(i, j, _)| match stored {
            Stored::All => true,
            Stored::Lower => i >= j,
            Stored::Upper => i <= j,
        });
        all.sort_by_key(|(i, j, _)| (*j, *i));
        let mut starts = vec![0; self.n + 1];
        all.iter().for_each(|(_, j, _)| starts[*j + 1] += 1);
        (0..self.n).for_each(|j| starts[j + 1] += starts[j]);
        let index = all.iter().map(|(i, _, _)| *i as i32).collect();
        (starts, index, all.iter().map(|(_, _, v)| *v).collect())
    }

    pub fn load<D: Sparse>(&self, dev: &D) -> D::Csr {
        self.try_load(dev, Stored::All).unwrap()
    }

    pub fn try_load<D: Sparse>(&self, dev: &D, stored: Stored) -> Result<D::Csr, Error> {
        let (starts, index, values) = self.columns(stored);
        dev.sparse_load(Columns {
            starts: &starts,
            index: &index,
            values: &values,
            stored,
        })
    }

    /// The product with a vector.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.n];
        self.entries
            .iter()
            .for_each(|(i, j, v)| out[*i] += v * x[*j]);
        out
    }

    pub fn dense(&self) -> Mat<f64> {
        let mut a = Mat::zeros(self.n, self.n);
        self.entries.iter().for_each(|(i, j, v)| a[(*i, *j)] += v);
        a
    }
}

/// Numbers in [0, 1) that repeat themselves from run to run.
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Poisson's equation on a grid, whose couplings along axes are these.
pub fn grid([x, y, z]: [usize; 3], w: [f64; 3], excess: f64) -> Entries {
    let mut a = Entries::new(x * y * z);
    for i in 0..a.n {
        let at = [i % x, i / x % y, i / x / y];
        for (axis, step) in [1, x, x * y].into_iter().enumerate() {
            if at[axis] + 1 < [x, y, z][axis] {
                a.join(i, i + step, w[axis]);
            }
        }
    }
    a.with_excess(excess)
}

/// Rows joined at random, by couplings over orders of magnitude.
pub fn graph(n: usize, each: usize, excess: f64, seed: u64) -> Entries {
    let draws = numbers(2 * n * each, seed);
    let mut met = std::collections::HashSet::new();
    let mut a = Entries::new(n);
    for (k, draw) in draws.chunks_exact(2).enumerate() {
        let (i, j) = (k % n, (draw[0] * n as f64) as usize);
        if i != j && met.insert((i.min(j), i.max(j))) {
            a.join(i, j, (-6.0 * draw[1]).exp());
        }
    }
    a.with_excess(excess)
}

/// A row that all others hang on, and a chain of them.
pub fn star(n: usize, hub: usize) -> Entries {
    let mut a = Entries::new(n);
    for i in (0..n).filter(|i| *i != hub) {
        a.join(i, hub, 1.0 + (i % 7) as f64);
        if i + 1 < n && i + 1 != hub && i % 3 == 0 {
            a.join(i, i + 1, 0.5);
        }
    }
    a.with_excess(0.01)
}

pub fn diagonal(n: usize) -> Entries {
    let draws = numbers(n, 4);
    let mut a = Entries::new(n);
    (0..n).for_each(|i| a.put(i, i, 0.1 + 100.0 * draws[i]));
    a
}

pub fn parts() -> Entries {
    let mut a = Entries::new(90);
    for i in (0..89).filter(|i| i % 10 != 9 && *i < 70) {
        a.join(i, i + 1, 1.0);
    }
    a.with_excess(1e-3)
}

/// Many parts of one to three rows, each near to being singular by another amount.
pub fn crumbs(parts: usize) -> Entries {
    let mut a = Entries::new(3 * parts);
    for k in 0..parts {
        let (first, excess) = (3 * k, 10f64.powi(-2 - (k % 5) as i32));
        let joined = 1 + k % 3;
        (1..joined).for_each(|j| a.join(first + j - 1, first + j, 1.0));
        for i in 0..3 {
            let beside = usize::from(i > 0 && i < joined) + usize::from(i + 1 < joined);
            a.put(first + i, first + i, beside as f64 + excess);
        }
    }
    a
}

/// Positive entries beside the diagonal, and rows without any.
pub fn positive(n: usize) -> Entries {
    let mut a = Entries::new(n);
    for i in 0..n - 3 {
        a.join(i, i + 1, if i % 2 == 0 { -0.7 } else { 1.0 });
        if i % 5 == 0 {
            a.join(i, i + 3, -0.3);
        }
    }
    a.with_excess(0.05)
}

pub fn cases() -> Vec<(&'static str, Entries)> {
    let mut all = vec![
        ("none", Entries::new(0)),
        ("one", Entries::new(1).with(0, 0, 4.0)),
        ("odd", grid([7, 1, 1], [1.0; 3], 0.1)),
        ("plane", grid([33, 40, 1], [1.0, 1.0, 1.0], 1e-3)),
        ("space", grid([11, 12, 13], [1.0; 3], 1e-3)),
        ("slanted", grid([40, 41, 1], [1.0, 0.01, 1.0], 1e-4)),
        ("graph", graph(900, 3, 1e-3, 3)),
        ("rows of 12", graph(600, 6, 1e-2, 6)),
        ("rows of 24", graph(500, 12, 1e-2, 7)),
        ("rows of 48", graph(500, 25, 1e-2, 8)),
        ("full rows", graph(400, 60, 1e-2, 5)),
        ("fuller rows", graph(420, 190, 1e-2, 9)),
        ("hub first", star(2500, 0)),
        ("hub last", star(1200, 1199)),
        ("hub between", star(1201, 600)),
        ("diagonal", diagonal(777)),
        ("parts", parts()),
        ("positive", positive(600)),
    ];
    if few() {
        let small = ["none", "one", "odd", "hub between", "parts"];
        all.retain(|(name, _)| small.contains(name));
    }
    all
}

pub fn block<D: Elementwise<f64>>(
    dev: &D,
    rows: usize,
    cols: usize,
    values: &[f64],
) -> D::Mat<'static> {
    if rows * cols == 0 {
        return dev.blank(rows, cols).unwrap();
    }
    let x = faer::MatRef::from_column_major_slice(values, rows, cols);
    dev.load_temporary(x, Part::All).unwrap()
}

pub fn fetch<D: Elementwise<f64>>(dev: &D, x: &D::Mat<'static>) -> Mat<f64> {
    let (rows, cols) = dev.shape(x);
    let mut all = vec![0.0; rows * cols];
    if rows * cols > 0 {
        dev.read(x, MatMut::from_column_major_slice_mut(&mut all, rows, cols))
            .unwrap();
    }
    Mat::from_fn(rows, cols, |i, j| all[j * rows + i])
}

pub fn of(n: usize, columns: usize, v: &[f64]) -> Mat<f64> {
    Mat::from_fn(n, columns, |i, j| v[j * n + i])
}

pub fn dense(rows: &Csc<i32>) -> Mat<f64> {
    let n = rows.starts.len() - 1;
    let mut a = Mat::zeros(n, n);
    for i in 0..n {
        let at = rows.starts[i]..rows.starts[i + 1];
        assert!(rows.index[at.clone()].windows(2).all(|w| w[0] < w[1]));
        for e in at {
            a[(i, rows.index[e] as usize)] = rows.values[e];
        }
    }
    a
}

pub fn close(name: &str, x: &Mat<f64>, y: &Mat<f64>, scale: f64) {
    assert_eq!(x.shape(), y.shape(), "{name}");
    if x.nrows() == 0 {
        return;
    }
    let off = (x - y).norm_max();
    assert!(off <= 1e-12 * scale, "{name}: off by {off:e}, {scale:e}");
}
