//! Sparse matrices against what their definitions say, as dense matrices, and algebraic multigrid with them.

mod common;

use cudafactor::algo::multigrid_sparse::Algebraic;
use cudafactor::algo::pcg::{Solution, Stopping};
use cudafactor::algo::pcg_resident::{pcg_resident, Made};
use cudafactor::error::Error;
use cudafactor::matrix::Part;
use cudafactor::sparse::{Columns, Rows, Sparse, Stored};
use cudafactor::stencil::Step;
use faer::{Mat, MatMut};

macro_rules! on_each_device {
    ($($body:ident),* $(,)?) => {$(
        mod $body {
            #[test]
            fn cpu() {
                super::$body(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[test]
            fn cpu_one_thread() {
                super::$body(&cudafactor::backend::cpu::CpuDevice::new(1));
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body(&gpu);
                }
            }
        }
    )*};
}

on_each_device!(
    what_is_stored_becomes_all,
    faults_are_found,
    products_and_steps,
    aggregates_are_pairs_and_what_joins,
    coarser_matrices_are_products,
    approximate_inverses_are_symmetric,
    systems_of_any_shape_are_solved,
    many_columns_are_solved,
    what_is_not_definite_ends,
    answers_are_the_same_twice,
);

/// A matrix by columns, all entries, from rows, columns and values of one triangle.
#[derive(Clone)]
struct Entries {
    n: usize,
    entries: Vec<(usize, usize, f64)>,
}

impl Entries {
    fn new(n: usize) -> Self {
        Entries {
            n,
            entries: Vec::new(),
        }
    }

    fn with(mut self, i: usize, j: usize, v: f64) -> Self {
        self.put(i, j, v);
        self
    }

    /// And its mirror image.
    fn put(&mut self, i: usize, j: usize, v: f64) {
        self.entries.push((i, j, v));
        if i != j {
            self.entries.push((j, i, v));
        }
    }

    /// Couplings w between i and j.
    fn join(&mut self, i: usize, j: usize, w: f64) {
        self.put(i, j, -w);
    }

    /// What rows sum up to becomes the excess where entries are not on the diagonal.
    fn with_excess(mut self, excess: f64) -> Self {
        let mut sums = vec![excess; self.n];
        self.entries
            .iter()
            .for_each(|(i, _, v)| sums[*i] += v.abs());
        (0..self.n).for_each(|i| self.put(i, i, sums[i]));
        self
    }

    fn columns(&self, stored: Stored) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
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

    fn load<D: Sparse>(&self, dev: &D) -> D::Csr {
        self.try_load(dev, Stored::All).unwrap()
    }

    fn try_load<D: Sparse>(&self, dev: &D, stored: Stored) -> Result<D::Csr, Error> {
        let (starts, index, values) = self.columns(stored);
        dev.sparse_load(Columns {
            starts: &starts,
            index: &index,
            values: &values,
            stored,
        })
    }

    fn dense(&self) -> Mat<f64> {
        let mut a = Mat::zeros(self.n, self.n);
        self.entries.iter().for_each(|(i, j, v)| a[(*i, *j)] += v);
        a
    }
}

/// Numbers in [0, 1) that repeat themselves from run to run.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
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
fn grid([x, y, z]: [usize; 3], w: [f64; 3], excess: f64) -> Entries {
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
fn graph(n: usize, each: usize, excess: f64, seed: u64) -> Entries {
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
fn star(n: usize, hub: usize) -> Entries {
    let mut a = Entries::new(n);
    for i in (0..n).filter(|i| *i != hub) {
        a.join(i, hub, 1.0 + (i % 7) as f64);
        if i + 1 < n && i + 1 != hub && i % 3 == 0 {
            a.join(i, i + 1, 0.5);
        }
    }
    a.with_excess(0.01)
}

fn diagonal(n: usize) -> Entries {
    let draws = numbers(n, 4);
    let mut a = Entries::new(n);
    (0..n).for_each(|i| a.put(i, i, 0.1 + 100.0 * draws[i]));
    a
}

fn parts() -> Entries {
    let mut a = Entries::new(90);
    for i in (0..89).filter(|i| i % 10 != 9 && *i < 70) {
        a.join(i, i + 1, 1.0);
    }
    a.with_excess(1e-3)
}

/// Positive entries beside the diagonal, and rows without any.
fn positive(n: usize) -> Entries {
    let mut a = Entries::new(n);
    for i in 0..n - 3 {
        a.join(i, i + 1, if i % 2 == 0 { -0.7 } else { 1.0 });
        if i % 5 == 0 {
            a.join(i, i + 3, -0.3);
        }
    }
    a.with_excess(0.05)
}

fn cases() -> Vec<(&'static str, Entries)> {
    vec![
        ("none", Entries::new(0)),
        ("one", Entries::new(1).with(0, 0, 4.0)),
        ("odd", grid([7, 1, 1], [1.0; 3], 0.1)),
        ("plane", grid([33, 40, 1], [1.0, 1.0, 1.0], 1e-3)),
        ("space", grid([11, 12, 13], [1.0; 3], 1e-3)),
        ("slanted", grid([40, 41, 1], [1.0, 0.01, 1.0], 1e-4)),
        ("graph", graph(900, 3, 1e-3, 3)),
        ("full rows", graph(400, 60, 1e-2, 5)),
        ("hub first", star(2500, 0)),
        ("hub last", star(1200, 1199)),
        ("hub between", star(1201, 600)),
        ("diagonal", diagonal(777)),
        ("parts", parts()),
        ("positive", positive(600)),
    ]
}

fn block<D: Sparse>(dev: &D, rows: usize, cols: usize, values: &[f64]) -> D::Mat<'static> {
    if rows * cols == 0 {
        return dev.blank(rows, cols).unwrap();
    }
    let x = faer::MatRef::from_column_major_slice(values, rows, cols);
    dev.load_temporary(x, Part::All).unwrap()
}

fn fetch<D: Sparse>(dev: &D, x: &D::Mat<'static>) -> Mat<f64> {
    let (rows, cols) = dev.shape(x);
    let mut all = vec![0.0; rows * cols];
    if rows * cols > 0 {
        dev.read(x, MatMut::from_column_major_slice_mut(&mut all, rows, cols))
            .unwrap();
    }
    Mat::from_fn(rows, cols, |i, j| all[j * rows + i])
}

fn of(n: usize, columns: usize, v: &[f64]) -> Mat<f64> {
    Mat::from_fn(n, columns, |i, j| v[j * n + i])
}

fn dense(rows: &Rows) -> Mat<f64> {
    let n = rows.starts.len() - 1;
    let mut a = Mat::zeros(n, n);
    for i in 0..n {
        let at = rows.starts[i] as usize..rows.starts[i + 1] as usize;
        assert!(rows.index[at.clone()].windows(2).all(|w| w[0] < w[1]));
        for e in at {
            a[(i, rows.index[e] as usize)] = rows.values[e];
        }
    }
    a
}

fn close(name: &str, x: &Mat<f64>, y: &Mat<f64>, scale: f64) {
    assert_eq!(x.shape(), y.shape(), "{name}");
    if x.nrows() == 0 {
        return;
    }
    let off = (x - y).norm_max();
    assert!(off <= 1e-12 * scale, "{name}: off by {off:e}, {scale:e}");
}

fn what_is_stored_becomes_all<D: Sparse>(dev: &D) {
    for (name, a) in cases() {
        let mut kinds = [Stored::All, Stored::Lower, Stored::Upper]
            .map(|stored| dev.sparse_read(&a.try_load(dev, stored).unwrap()).unwrap())
            .into_iter();
        let all = kinds.next().unwrap();
        let (starts, index, values) = a.columns(Stored::All);
        assert!(all.starts == starts && all.index == index && all.values == values);
        assert!(kinds.all(|other| other == all), "{name}");
        let own = dev.sparse_diagonal(&a.load(dev)).unwrap();
        let wanted = a.dense();
        assert!((0..a.n).all(|i| own[i] == wanted[(i, i)]), "{name}");
    }
    // What is outside the triangle is not read.
    let (starts, index, values) = (
        vec![0, 2, 4],
        vec![0, 1, 0, 1],
        vec![2.0, 1.0, f64::NAN, 3.0],
    );
    let a = dev
        .sparse_load(Columns {
            starts: &starts,
            index: &index,
            values: &values,
            stored: Stored::Lower,
        })
        .unwrap();
    let all = dev.sparse_read(&a).unwrap();
    assert_eq!(all.values, [2.0, 1.0, 1.0, 3.0]);
}

/// What is done to the parts of a matrix.
type Change<'c> = &'c dyn Fn(&mut Vec<i32>, &mut Vec<i32>, &mut Vec<f64>);

fn faults_are_found<D: Sparse>(dev: &D) {
    let good = grid([9, 9, 1], [1.0; 3], 0.1);
    let with = |change: Change| {
        let (mut starts, mut index, mut values) = good.columns(Stored::All);
        change(&mut starts, &mut index, &mut values);
        dev.sparse_load(Columns {
            starts: &starts,
            index: &index,
            values: &values,
            stored: Stored::All,
        })
        .err()
    };
    assert_eq!(with(&|_, _, _| ()), None);
    let dimension = |e: Option<Error>| matches!(e, Some(Error::Dimension { .. }));
    assert!(dimension(with(&|starts, _, _| starts[0] = 1)));
    assert!(dimension(with(&|starts, _, _| starts[5] = 400)));
    assert!(dimension(with(&|_, index, _| index[7] = 81)));
    assert!(dimension(with(&|_, index, _| index[0] = -1)));
    assert!(dimension(with(&|_, index, _| index.swap(3, 4))));
    assert!(dimension(with(&|_, _, values| values.truncate(9))));
    for bad in [f64::NAN, f64::INFINITY] {
        let e = with(&|_, _, values| values[20] = bad);
        assert_eq!(e, Some(Error::NonFiniteIn { argument: "A" }));
    }
    let asymmetric = Some(Error::NotSymmetric { argument: "A" });
    assert_eq!(with(&|_, _, values| values[1] = -0.5), asymmetric);
    // An entry without an image: fine if it is zero.
    let alone = |v: f64| {
        dev.sparse_load(Columns {
            starts: &[0, 2, 3],
            index: &[0, 1, 1],
            values: &[1.0, v, 1.0],
            stored: Stored::All,
        })
        .err()
    };
    assert_eq!(alone(0.0), None);
    assert_eq!(alone(0.5), asymmetric);
}

fn products_and_steps<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let (n, a) = (made.n, made.dense());
        let csr = made.load(dev);
        let scale = 1.0 + a.norm_max() * n as f64;
        let relaxed = |i: usize| {
            let sum: f64 = (0..n).map(|j| a[(i, j)].abs()).sum();
            f64::max(a[(i, i)], sum / 2.0)
        };
        let d: Vec<f64> = (0..n).map(relaxed).collect();
        for columns in [1, 2, 4, 9] {
            let draw = |seed| numbers(n * columns, seed);
            let (b, x, p) = (draw(2), draw(3), draw(4));
            let [db, dx] = [&b, &x].map(|v| block(dev, n, columns, v));
            let mut dp = block(dev, n, columns, &p);
            let mut out = dev.blank(n, columns).unwrap();
            let (b, x, p) = (of(n, columns, &b), of(n, columns, &x), of(n, columns, &p));
            dev.sparse_residual(&csr, None, &dx, &mut out).unwrap();
            close(name, &fetch(dev, &out), &(&a * &x), scale);
            dev.sparse_residual(&csr, Some(&db), &dx, &mut out).unwrap();
            close(name, &fetch(dev, &out), &(&b - &a * &x), scale);
            let scaled = |r: &Mat<f64>| Mat::from_fn(n, columns, |i, j| 0.7 * r[(i, j)] / d[i]);
            let step = Step {
                rate: 0.7,
                momentum: 0.3,
            };
            dev.sparse_relax(&csr, &db, Some(&dx), step, &mut dp, &mut out)
                .unwrap();
            let wanted = Mat::from_fn(n, columns, |i, j| 0.3 * p[(i, j)]) + scaled(&(&b - &a * &x));
            close(name, &fetch(dev, &dp), &wanted, scale);
            close(name, &fetch(dev, &out), &(&x + &wanted), scale);
            // Without momentum, and without x, nothing of p is read.
            let unread = vec![f64::NAN; n * columns];
            let mut dp = block(dev, n, columns, &unread);
            dev.sparse_relax(&csr, &db, None, step, &mut dp, &mut out)
                .unwrap();
            close(name, &fetch(dev, &dp), &scaled(&b), scale);
            close(name, &fetch(dev, &out), &scaled(&b), scale);
        }
    }
}

fn aggregates_are_pairs_and_what_joins<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let csr = made.load(dev);
        let found = dev.sparse_aggregate(&csr).unwrap();
        let (count, of) = (
            dev.sparse_count(&found),
            dev.sparse_members(&found).unwrap(),
        );
        assert_eq!(of.len(), made.n);
        let a = made.dense();
        let mut sizes = vec![0; count];
        for i in 0..made.n {
            let others = (0..made.n).filter(|j| *j != i).map(|j| a[(i, j)].abs());
            let apart = others.sum::<f64>() <= a[(i, i)] / 8.0;
            assert_eq!(of[i] < 0, apart, "{name} {i}");
            if of[i] >= 0 {
                sizes[of[i] as usize] += 1;
            }
        }
        assert!(sizes.iter().all(|s| *s > 0), "{name}");
        // Numbers follow the first rows of pairs.
        let most = of.iter().max().copied().unwrap_or(-1);
        assert_eq!(most + 1, count as i32);
        if ["plane", "space", "graph", "slanted"].contains(&name) {
            assert!(2 * count <= made.n + 1, "{name}: {count} of {}", made.n);
            assert!(sizes.iter().all(|s| (1..=9).contains(s)), "{name}");
        }
        if name == "diagonal" {
            assert_eq!(count, 0);
        }
    }
}

fn coarser_matrices_are_products<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let csr = made.load(dev);
        let first = dev.sparse_aggregate(&csr).unwrap();
        let middle = dev.sparse_coarsen(&csr, &first, 1.0).unwrap();
        let second = dev.sparse_aggregate(&middle).unwrap();
        let last = dev.sparse_coarsen(&middle, &second, 0.5).unwrap();
        let both = dev.sparse_compose(&first, &second).unwrap();
        let (n, count) = (made.n, dev.sparse_count(&both));
        assert_eq!(count, dev.sparse_order(&last));
        let of = dev.sparse_members(&both).unwrap();
        let p = Mat::from_fn(n, count, |i, k| f64::from(u8::from(of[i] == k as i32)));
        let a = made.dense();
        let scale = 1.0 + a.norm_max() * n as f64;
        // A row that is apart in the second pass alone is in the middle matrix, and of no aggregate of both.
        let wanted = faer::Scale(0.5) * (p.transpose() * &a * &p);
        close(
            name,
            &dense(&dev.sparse_read(&last).unwrap()),
            &wanted,
            scale,
        );
        let x = numbers(n * 5, 6);
        let mut down = dev.blank(count, 5).unwrap();
        dev.sparse_restrict(&both, &block(dev, n, 5, &x), &mut down)
            .unwrap();
        let x = Mat::from_fn(n, 5, |i, j| x[j * n + i]);
        close(name, &fetch(dev, &down), &(p.transpose() * x), n as f64);
        // Prolongation adds.
        let mut out = block(dev, n, 5, &vec![2.0; n * 5]);
        dev.sparse_prolong(&both, &down, &mut out).unwrap();
        let wanted = &p * fetch(dev, &down) + Mat::from_fn(n, 5, |_, _| 2.0);
        close(name, &fetch(dev, &out), &wanted, n as f64);
    }
}

fn approximate_inverses_are_symmetric<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let n = made.n;
        let m = Algebraic::new(dev, made.load(dev)).unwrap();
        let x: Vec<f64> = numbers(n * 4, 3).iter().map(|v| v - 0.5).collect();
        let mut out = dev.blank(n, 4).unwrap();
        if n == 0 {
            continue;
        }
        m.apply(&block(dev, n, 4, &x), &mut out).unwrap();
        let products = of(n, 4, &x).transpose() * fetch(dev, &out);
        let scale = products.norm_max();
        for i in 0..4 {
            assert!(products[(i, i)] > 0.0, "{name}");
            for j in 0..i {
                let off = (products[(i, j)] - products[(j, i)]).abs();
                assert!(off < 1e-10 * scale, "{name}: {off:e} {scale:e}");
            }
        }
    }
}

const STOP: Stopping = Stopping {
    tol: 1e-9,
    maxit: 500,
};

fn solved<D: Sparse>(dev: &D, a: &Entries, made: Made, b: &[f64]) -> (Solution<()>, Mat<f64>) {
    let columns = b.len().checked_div(a.n).unwrap_or(1);
    let b = block(dev, a.n, columns, b);
    let found = pcg_resident(dev, a.load(dev), made, &b, None, STOP).unwrap();
    let x = fetch(dev, &found.x);
    let rest = Solution {
        x: (),
        iterations: found.iterations,
        history: found.history,
        residuals: found.residuals,
        ends: found.ends,
    };
    (rest, x)
}

fn systems_of_any_shape_are_solved<D: Sparse>(dev: &D) {
    for (name, a) in cases() {
        let b = numbers(a.n, 8);
        for made in [Made::Multigrid, Made::Jacobi, Made::None] {
            let (found, x) = solved(dev, &a, made, &b);
            found.verdict().unwrap();
            if a.n == 0 {
                continue;
            }
            let off = (of(a.n, 1, &b) - a.dense() * x).norm_l2() / of(a.n, 1, &b).norm_l2();
            let slow = made != Made::Multigrid || name == "positive";
            assert!(slow || found.converged()[0], "{name}: {:?}", found.ends);
            assert!(slow || off <= 1.01e-9, "{name}: {off:e}");
            if ["plane", "space", "slanted", "parts"].contains(&name) && made == Made::Multigrid {
                let most = if name == "slanted" { 60 } else { 35 };
                assert!(
                    found.iterations[0] <= most,
                    "{name}: {:?}",
                    found.iterations
                );
            }
        }
    }
}

fn many_columns_are_solved<D: Sparse>(dev: &D) {
    let a = grid([40, 30, 1], [1.0; 3], 1e-3);
    for columns in 1..=9 {
        let mut b = numbers(a.n * columns, 11);
        // A column of zeros has the solution zero.
        b[..a.n].fill(0.0);
        let (found, x) = solved(dev, &a, Made::Multigrid, &b);
        assert!(found.converged().iter().all(|c| *c));
        assert_eq!(found.iterations[0], 0);
        assert!((0..a.n).all(|i| x[(i, 0)] == 0.0));
        let off = of(a.n, columns, &b) - a.dense() * &x;
        assert!(off.norm_l2() <= 2e-9 * of(a.n, columns, &b).norm_l2().max(1.0));
    }
    let none = pcg_resident(
        dev,
        a.load(dev),
        Made::Multigrid,
        &dev.blank(a.n, 0).unwrap(),
        None,
        STOP,
    );
    assert!(none.unwrap().iterations.is_empty());
    let wrong = [1.0, f64::NAN].repeat(a.n / 2);
    let found = pcg_resident(
        dev,
        a.load(dev),
        Made::Multigrid,
        &block(dev, a.n, 1, &wrong),
        None,
        STOP,
    );
    assert_eq!(found.err(), Some(Error::NonFiniteIn { argument: "b" }));
}

fn what_is_not_definite_ends<D: Sparse>(dev: &D) {
    let shifted = |by: f64| {
        let mut a = grid([40, 30, 1], [1.0; 3], 0.0);
        a.entries
            .iter_mut()
            .filter(|(i, j, _)| i == j)
            .for_each(|(_, _, v)| *v -= by);
        a
    };
    let zero = Entries::new(300).with(3, 4, 1.0).with(5, 5, 1.0);
    for (a, made) in [
        (shifted(0.5), Made::Multigrid),
        (shifted(0.5), Made::None),
        (shifted(3.0), Made::Multigrid),
        (shifted(20.0), Made::Multigrid),
        (zero, Made::Multigrid),
    ] {
        let (found, _) = solved(dev, &a, made, &numbers(a.n, 5));
        let e = found.verdict().unwrap_err();
        assert!(matches!(e, Error::Indefinite { .. }), "{e:?}");
    }
    let jacobi = pcg_resident(
        dev,
        shifted(20.0).load(dev),
        Made::Jacobi,
        &block(dev, 1200, 1, &numbers(1200, 5)),
        None,
        STOP,
    );
    let e = jacobi.err();
    assert!(matches!(e, Some(Error::NotPositiveDefinite { .. })));
}

fn answers_are_the_same_twice<D: Sparse>(dev: &D) {
    for (name, a) in cases() {
        let b = numbers(a.n * 2, 21);
        let [one, two] = [0, 1].map(|_| solved(dev, &a, Made::Multigrid, &b).1);
        let same = |i: usize, j: usize| one[(i, j)].to_bits() == two[(i, j)].to_bits();
        assert!((0..a.n).all(|i| same(i, 0) && same(i, 1)), "{name}");
    }
}
