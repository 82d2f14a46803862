//! Linear programs for tests, and what must hold of their solutions.

use cudafactor::algo::lp;
use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::normal::dense_constraints::DenseConstraints;
use cudafactor::algo::lp::normal::mixed_precision::MixedConstraints;
use cudafactor::algo::lp::normal::sparse::SparseConstraints;
use cudafactor::algo::lp::problem::Problem;
use cudafactor::algo::lp::solve::{Certificate, LpSolution, Options};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::device::memory::Memory;
use faer::MatRef;

use super::INF;

/// A problem with its matrix by rows.
#[derive(Clone)]
pub struct Lp {
    pub c: Vec<f64>,
    pub a: Vec<Vec<f64>>,
    pub rows: Vec<(f64, f64)>,
    pub columns: Vec<(f64, f64)>,
}

impl Lp {
    pub fn new(c: &[f64], a: &[&[f64]], rows: &[(f64, f64)]) -> Lp {
        Lp {
            c: c.to_vec(),
            a: a.iter().map(|r| r.to_vec()).collect(),
            rows: rows.to_vec(),
            columns: vec![(0.0, INF); c.len()],
        }
    }

    pub fn bounded(mut self, columns: &[(f64, f64)]) -> Lp {
        self.columns = columns.to_vec();
        self
    }

    pub fn by_columns(&self) -> Vec<f64> {
        let column = |j: usize| self.a.iter().map(move |r| r[j]);
        (0..self.c.len()).flat_map(column).collect()
    }

    pub fn with<R>(&self, f: impl FnOnce(&Problem<'_>) -> R) -> R {
        let (rl, ru): (Vec<f64>, Vec<f64>) = self.rows.iter().copied().unzip();
        let (l, u): (Vec<f64>, Vec<f64>) = self.columns.iter().copied().unzip();
        f(&Problem {
            objective: &self.c,
            rows: (&rl, &ru),
            columns: (&l, &u),
        })
    }

    pub fn dense<T: Scalar>(&self, options: &Options) -> Result<LpSolution, Error> {
        let dev = CpuDevice::new(1);
        let values: Vec<T> = self.by_columns().into_iter().map(T::from_f64).collect();
        let view = MatRef::from_column_major_slice(&values, self.a.len(), self.c.len());
        let a = Memory::<T>::load(&dev, view)?;
        self.with(|p| lp::solve::solve(&DenseConstraints::<T, _>::new(&dev, &a), p, options))
    }

    pub fn mixed(&self, options: &Options) -> Result<LpSolution, Error> {
        let dev = CpuDevice::new(1);
        let values = self.by_columns();
        let view = MatRef::from_column_major_slice(&values, self.a.len(), self.c.len());
        let a = Memory::<f64>::load(&dev, view)?;
        let a = MixedConstraints::new(DenseConstraints::<f64, _>::new(&dev, &a));
        self.with(|p| lp::solve::solve(&a, p, options))
    }

    pub fn sparse(&self, options: &Options) -> Result<LpSolution, Error> {
        let dev = CpuDevice::new(1);
        let mut a = Csc::from_dense(self.a.len(), &self.by_columns()).unwrap();
        if self.a.is_empty() {
            a = Csc::new(0, vec![0; self.c.len() + 1], vec![], vec![])?;
        }
        self.with(|p| lp::solve::solve(&SparseConstraints::new(&dev, &a), p, options))
    }

    /// All ways, which agree.
    pub fn solve(&self) -> LpSolution {
        let options = Options::default();
        let dense = self.dense::<f64>(&options).unwrap();
        let sparse = self.sparse(&options).unwrap();
        let mixed = self.mixed(&options).unwrap();
        for s in [&dense, &mixed, &sparse] {
            assert_eq!(s.status, sparse.status);
            if s.status == Status::Optimal {
                let (a, b) = (s.measures.objective, sparse.measures.objective);
                assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{a} and {b}");
                self.check_optimal(s);
            }
            if let Some(proof) = &s.certificate {
                self.check_proof(proof);
            }
        }
        sparse
    }

    /// Within bounds, signs of duals, complementary.
    pub fn check_optimal(&self, s: &LpSolution) {
        let near = 1e-6 * (1.0 + s.measures.objective.abs());
        let check = |x: f64, (l, u): (f64, f64), d: f64, what: &str| {
            assert!(x >= l - near && x <= u + near, "{what}: {x} in {l}, {u}");
            if d > 1e-5 {
                assert!(
                    (x - l) * d.min(1.0) <= 1e-4 * (1.0 + l.abs()),
                    "{what}: {x} over {l}, {d}"
                );
            }
            if d < -1e-5 {
                assert!(
                    (u - x) * (-d).min(1.0) <= 1e-4 * (1.0 + u.abs()),
                    "{what}: {x} under {u}, {d}"
                );
            }
        };
        for (j, x) in s.x.iter().enumerate() {
            check(*x, self.columns[j], s.reduced[j], "variable");
        }
        for (i, x) in s.activity.iter().enumerate() {
            check(*x, self.rows[i], s.y[i], "row");
        }
    }

    pub fn check_proof(&self, proof: &Certificate) {
        // The most that a multiple of something within bounds can be; rounding does not count
        // against infinity.
        let most = |v: f64, (l, u): (f64, f64)| match v {
            v if v.abs() < 1e-7 => 0.0,
            v if v > 0.0 => v * u,
            v => v * l,
        };
        match proof {
            Certificate::Rows(y) => {
                let combined = |j: usize| y.iter().zip(&self.a).map(|(y, r)| y * r[j]).sum::<f64>();
                let reach: f64 = (0..self.c.len())
                    .map(|j| most(combined(j), self.columns[j]))
                    .sum();
                let wanted: f64 = y.iter().zip(&self.rows).map(|(y, r)| -most(-y, *r)).sum();
                assert!(wanted - reach > 0.5, "{wanted} of {reach}");
            }
            Certificate::Ray(x) => {
                let fall: f64 = x.iter().zip(&self.c).map(|(x, c)| x * c).sum();
                assert!((fall + 1.0).abs() < 1e-6);
                let stays = |d: f64, (l, u): (f64, f64)| {
                    assert!(d > -1e-6 || l == -INF, "{d}");
                    assert!(d < 1e-6 || u == INF, "{d}");
                };
                x.iter().zip(&self.columns).for_each(|(d, b)| stays(*d, *b));
                for (row, b) in self.a.iter().zip(&self.rows) {
                    stays(row.iter().zip(x).map(|(a, d)| a * d).sum(), *b);
                }
            }
        }
    }
}

pub fn near(x: &[f64], wanted: &[f64]) {
    assert_eq!(x.len(), wanted.len());
    for (x, w) in x.iter().zip(wanted) {
        assert!((x - w).abs() <= 1e-6 * (1.0 + w.abs()), "{x} is not {w}");
    }
}

/// Numbers from -1 to 1.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn many(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// Feasible on both sides by construction, `m` equations in `n` variables.
pub fn random(m: usize, n: usize, seed: u64) -> Lp {
    let mut r = Random(seed);
    let a: Vec<Vec<f64>> = (0..m).map(|_| r.many(n)).collect();
    let x: Vec<f64> = r.many(n).iter().map(|x| 1.1 + x).collect();
    let z: Vec<f64> = r.many(n).iter().map(|x| 1.1 + x).collect();
    let y = r.many(m);
    let row = |i: usize| a[i].iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
    let rows: Vec<(f64, f64)> = (0..m).map(|i| (row(i), row(i))).collect();
    let cost = |j: usize| z[j] + (0..m).map(|i| a[i][j] * y[i]).sum::<f64>();
    let c: Vec<f64> = (0..n).map(cost).collect();
    let parts: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
    Lp::new(&c, &parts, &rows)
}

/// Observations `y` of `x`'s rows: coefficients first, residuals in two parts behind.
pub fn least_absolute(x: &[Vec<f64>], y: &[f64], least: f64) -> Lp {
    let (n, p) = (x.len(), x[0].len());
    let part = |i: usize, sign: f64| (0..n).map(move |k| if k == i { sign } else { 0.0 });
    let row = |(i, x): (usize, &Vec<f64>)| {
        let x = x.iter().copied();
        x.chain(part(i, 1.0)).chain(part(i, -1.0)).collect()
    };
    let a: Vec<Vec<f64>> = x.iter().enumerate().map(row).collect();
    let parts: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
    let c: Vec<f64> = (0..p + 2 * n).map(|j| f64::from(j >= p)).collect();
    let columns: Vec<(f64, f64)> = (0..p + 2 * n)
        .map(|j| (if j < p { least } else { 0.0 }, INF))
        .collect();
    let rows: Vec<(f64, f64)> = y.iter().map(|y| (*y, *y)).collect();
    Lp::new(&c, &parts, &rows).bounded(&columns)
}
