//! Matrices to test with: easy, graded, ill-conditioned, deficient, at the ends of the range.

use super::Host;
use cudafactor::base::scalar::Scalar;

/// Numbers that look random and are the same every time (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (-1, 1).
    pub fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Normal with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let angle = std::f64::consts::PI * self.next();
        let radius = (-2.0 * (self.next().abs() + f64::MIN_POSITIVE).ln()).sqrt();
        radius * angle.cos()
    }
}

/// Independent uniform entries.
pub fn random<T: Scalar>(rows: usize, cols: usize, seed: u64) -> Host<T> {
    let mut r = Random::new(seed.wrapping_mul(1_000_003) + (rows * 4099 + cols) as u64);
    let values: Vec<f64> = (0..rows * cols).map(|_| r.next()).collect();
    Host::from_fn(rows, cols, |i, j| values[j * rows + i])
}

/// Small integers: sums of their products are exact in either precision.
pub fn integers<T: Scalar>(rows: usize, cols: usize, seed: u64) -> Host<T> {
    let m = random::<f64>(rows, cols, seed);
    Host::from_fn(rows, cols, |i, j| (m.at(i, j) * 4.0).trunc())
}

/// A factor every entry of `a` is multiplied with.
pub fn scaled<T: Scalar>(a: &Host<T>, by: f64) -> Host<T> {
    Host::from_fn(a.rows, a.cols, |i, j| a.at(i, j) * by)
}

/// Factors that bring squares of entries near to overflow and underflow in this precision.
pub fn extreme_scales<T: Scalar>() -> [f64; 2] {
    if T::EPS > 1e-10 {
        [1e-30, 1e30]
    } else {
        [1e-300, 1e300]
    }
}

/// Rectangular matrices of several kinds, each with a name for the failure message.
pub fn rectangular<T: Scalar>(rows: usize, cols: usize) -> Vec<(String, Host<T>)> {
    let base = random::<T>(rows, cols, 1);
    let size = rows.min(cols).max(1);
    let rank = size.div_ceil(2);
    let (left, right) = (random::<f64>(rows, rank, 2), random::<f64>(rank, cols, 3));
    let [tiny, huge] = extreme_scales::<T>();
    let steps = if T::EPS > 1e-10 { 6.0 } else { 14.0 };
    vec![
        ("random".into(), base.clone()),
        (
            "graded columns".into(),
            Host::from_fn(rows, cols, |i, j| {
                base.at(i, j) * 10f64.powf(-steps * j as f64 / cols as f64)
            }),
        ),
        (
            "graded rows".into(),
            Host::from_fn(rows, cols, |i, j| {
                base.at(i, j) * 10f64.powf(-steps * i as f64 / rows as f64)
            }),
        ),
        (
            "Hilbert".into(),
            Host::from_fn(rows, cols, |i, j| 1.0 / (i + j + 1) as f64),
        ),
        (
            "deficient".into(),
            Host::from_fn(rows, cols, |i, j| {
                (0..rank.min(8))
                    .map(|k| left.at(i, k) * right.at(k, j))
                    .sum()
            }),
        ),
        (
            "zero columns".into(),
            Host::from_fn(
                rows,
                cols,
                |i, j| if j % 3 == 0 { 0.0 } else { base.at(i, j) },
            ),
        ),
        (
            "upper triangular".into(),
            Host::from_fn(
                rows,
                cols,
                |i, j| if i > j { 0.0 } else { base.at(i, j) + 2.0 },
            ),
        ),
        ("zero".into(), Host::from_fn(rows, cols, |_, _| 0.0)),
        ("tiny".into(), scaled(&base, tiny)),
        ("huge".into(), scaled(&base, huge)),
    ]
}

/// Symmetric positive definite matrices of several kinds.
pub fn positive<T: Scalar>(n: usize) -> Vec<(String, Host<T>)> {
    let base = random::<f64>(n, n, 4);
    // Diagonally dominant, then its rows and columns scaled: condition numbers far beyond 1/eps
    // that Cholesky stands.
    let dominant = move |i: usize, j: usize| {
        if i == j {
            2.0 * n as f64
        } else {
            base.at(i.min(j), i.max(j))
        }
    };
    let grade = move |i: usize| 10f64.powf(-6.0 * i as f64 / n as f64);
    let [tiny, huge] = extreme_scales::<T>();
    vec![
        ("dominant".into(), Host::from_fn(n, n, &dominant)),
        (
            "graded".into(),
            Host::from_fn(n, n, |i, j| dominant(i, j) * grade(i) * grade(j)),
        ),
        (
            "Lehmer".into(),
            Host::from_fn(n, n, |i, j| (i.min(j) + 1) as f64 / (i.max(j) + 1) as f64),
        ),
        (
            "diagonal".into(),
            Host::from_fn(n, n, |i, j| if i == j { (i + 1) as f64 } else { 0.0 }),
        ),
        (
            "tiny".into(),
            Host::from_fn(n, n, |i, j| dominant(i, j) * tiny),
        ),
        (
            "huge".into(),
            Host::from_fn(n, n, |i, j| dominant(i, j) * huge * 1e-3),
        ),
    ]
}
