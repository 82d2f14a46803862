//! Factors of products, with entries of very different size.

use super::common::matrices::{self, Random};
use super::common::{few, Host};
use cudafactor::base::scalar::Scalar;

pub fn shapes() -> Vec<(usize, usize, usize)> {
    if few() {
        return vec![(65, 33, 40)];
    }
    vec![
        (1, 1, 1),
        (1, 300, 1),
        (63, 65, 129),
        (65, 129, 63),
        (129, 257, 65),
        (200, 64, 200),
        (33, 5000, 17),
        (5, 5000, 70),
    ]
}

/// Factors in double precision, of which those under test are the multiples by these powers of two.
pub struct Pair {
    pub name: String,
    pub a: Host<f64>,
    pub b: Host<f64>,
    pub powers: (i32, i32),
}

/// `x 2^power` without an overflow on the way.
pub fn shifted(x: f64, power: i32) -> f64 {
    let half = power / 2;
    x * 2f64.powi(half) * 2f64.powi(power - half)
}

pub fn spread(rows: usize, cols: usize, phi: f64, seed: u64) -> Host<f64> {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..rows * cols)
        .map(|_| random.next() * (phi * random.normal()).exp())
        .collect();
    Host::from_fn(rows, cols, |i, j| values[j * rows + i])
}

/// One of -1, 0 and 1.
fn signs(n: usize, seed: u64) -> Vec<i32> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| (1.5 * random.next()).round() as i32)
        .collect()
}

pub fn pairs<T: Scalar>(m: usize, k: usize, n: usize) -> Vec<Pair> {
    let (digits, bottom, top) = if T::EPS > 1e-10 {
        (24, -74, 58)
    } else {
        (53, -537, 500)
    };
    let random = |r, c, seed| matrices::random::<f64>(r, c, seed);
    let pair = |name: &str, a, b, powers| Pair {
        name: name.into(),
        a,
        b,
        powers,
    };
    let (a, b) = (random(m, k, 1), random(k, n, 2));
    let mut all: Vec<Pair> = [0.5, 1.0, 2.0, 4.0, 8.0]
        .into_iter()
        .map(|phi| {
            let (a, b) = (spread(m, k, phi, 3), spread(k, n, phi, 4));
            pair(&format!("spread {phi}"), a, b, (0, 0))
        })
        .collect();
    let inner = signs(k, 5);
    let (left, right) = (signs(m * k, 6), signs(k * n, 7));
    let scaled = |x: f64, s: i32| x * 2f64.powi(digits * s);
    all.extend([
        // Terms of equal size, from entries that are not: what is small beside its row must not be
        // dropped.
        pair(
            "balanced",
            Host::from_fn(m, k, |i, p| scaled(a.at(i, p), inner[p])),
            Host::from_fn(k, n, |p, j| scaled(b.at(p, j), -inner[p])),
            (0, 0),
        ),
        pair(
            "far apart",
            Host::from_fn(m, k, |i, p| scaled(a.at(i, p), left[p * m + i])),
            Host::from_fn(k, n, |p, j| scaled(b.at(p, j), right[j * k + p])),
            (0, 0),
        ),
        // Terms that cancel in pairs, up to a change in the last digits.
        pair(
            "cancelling",
            Host::from_fn(m, k, |i, p| {
                a.at(i, p / 2) * (1.0 + 4.0 * T::EPS * (p % 2) as f64)
            }),
            Host::from_fn(k, n, |p, j| b.at(p / 2, j) * (1.0 - 2.0 * (p % 2) as f64)),
            (0, 0),
        ),
        pair("products underflow", a.clone(), b.clone(), (bottom, bottom)),
        pair("near overflow", a, b, (top, top)),
    ]);
    all
}

/// The factors of a pair in the precision under test, and in double what they are without the
/// powers of two.
pub fn rounded<T: Scalar>(pair: &Pair) -> [(Host<T>, Host<f64>); 2] {
    let round = |x: &Host<f64>, power: i32| {
        let x = Host::<T>::from_fn(x.rows, x.cols, |i, j| x.at(i, j));
        let plain = Host::<f64>::from_fn(x.rows, x.cols, |i, j| x.at(i, j));
        let x = Host::<T>::from_fn(x.rows, x.cols, |i, j| shifted(plain.at(i, j), power));
        (x, plain)
    };
    [round(&pair.a, pair.powers.0), round(&pair.b, pair.powers.1)]
}

/// The gap between subnormal numbers, seen without the powers of two.
pub fn grain<T: Scalar>(pair: &Pair) -> f64 {
    let smallest = if T::EPS > 1e-10 { -149 } else { -1074 };
    shifted(1.0, smallest - pair.powers.0 - pair.powers.1)
}
