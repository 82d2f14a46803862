//! Lower triangles that are hard to divide by.

use super::common::matrices::{self, Random};
use super::positive::{orthogonal, rising, shuffled, Range};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::lapack::Lapack;
use cudafactor::device::memory::Memory;
use faer::Mat;

/// Kahan's matrix, transposed: no entry of its diagonal is small, and its condition is near
/// `condition` all the same.
pub fn kahan(n: usize, condition: f64) -> Mat<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let c: f64 = (low + high) / 2.0;
        let s = (1.0 - c * c).sqrt();
        let growth = (n as f64 - 2.0) * c.ln_1p() - (n as f64 - 1.0) * s.ln();
        if growth < condition.ln() {
            low = c;
        } else {
            high = c;
        }
    }
    let c: f64 = if n < 3 { 0.5 } else { low };
    let s = (1.0 - c * c).sqrt();
    Mat::from_fn(n, n, |i, j| {
        let row = s.powi(j as i32);
        match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => row,
            std::cmp::Ordering::Greater => -c * row,
        }
    })
}

/// Rows at which to place a tiny diagonal entry: neither first nor last in a block of any order
/// from 4 to 128, in the first, the second and the last block of 64.
pub fn places(n: usize) -> Vec<usize> {
    let mut all = vec![21, 64 + 38, n / 64 * 64 + 26];
    all.retain(|&p| p < n);
    all.dedup();
    all
}

/// A random triangle of which `width` diagonals are not zero. Its inverse is small, but for what
/// comes of the diagonal at `places`, which is `gap`; there are entries of order one below each and
/// beside it.
pub fn gapped(n: usize, width: usize, gap: f64, places: &[usize]) -> Mat<f64> {
    let mut random = Random::new(11);
    let spread = 0.5 / (width.min(n) as f64).sqrt();
    let mut l = Mat::zeros(n, n);
    for j in 0..n {
        let tiny = places.contains(&j);
        l[(j, j)] = if tiny { gap } else { 1.0 };
        for i in j + 1..n.min(j + width) {
            let x = random.normal();
            l[(i, j)] = if tiny || places.contains(&i) {
                0.5 * x.signum()
            } else {
                x * spread
            };
        }
    }
    l
}

/// A triangle under its name, made when it is asked for.
pub struct Hard {
    pub name: String,
    make: Box<dyn Fn(usize) -> Mat<f64>>,
}

impl Hard {
    fn new(name: String, make: impl Fn(usize) -> Mat<f64> + 'static) -> Self {
        Hard {
            name,
            make: Box::new(make),
        }
    }

    /// Lower, zero above the diagonal.
    pub fn make(&self, n: usize) -> Mat<f64> {
        (self.make)(n)
    }
}

/// Triangles of order `n`: all that there are where that takes no time, and fewer beyond.
pub fn hard<T: Scalar>(n: usize) -> Vec<Hard> {
    let mut range = Range::of::<T>();
    if n > 129 {
        range.conditions = vec![range.conditions[range.conditions.len() - 3]];
    }
    let mut all = vec![
        // Of a condition about 1e10 at any order: its inverse grows by a factor of e^24 from one
        // end to the other.
        Hard::new("random".into(), |n| {
            let r = matrices::random::<f64>(n, n, 12);
            let spread = 12.0 / (n as f64).sqrt();
            Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => spread * r.at(i, j),
            })
        }),
        // Exact for substitution, and all but singular.
        Hard::new("Moler".into(), |n| {
            Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => -1.0,
            })
        }),
    ];
    for &condition in &range.conditions {
        all.push(Hard::new(
            format!("tiny pivots {:e}", 1.0 / condition),
            move |n| gapped(n, n, 1.0 / condition, &places(n)),
        ));
        all.push(Hard::new(
            format!("two {:e}", condition.powf(-0.5)),
            move |n| gapped(n, n, condition.powf(-0.5), &[21, 45]),
        ));
        all.push(Hard::new(format!("geometric {condition:e}"), move |n| {
            triangle_of(n, condition)
        }));
        all.push(Hard::new(format!("Kahan {condition:e}"), move |n| {
            kahan(n, condition.max(1.1))
        }));
    }
    all.extend(scaled(range.octaves / 2.0));
    let step = n / 130;
    if step > 1 {
        all = all.into_iter().skip(n % step).step_by(step).collect();
    }
    all
}

fn scaled(octaves: f64) -> Vec<Hard> {
    let grade = move |name: &str, n: usize| match name {
        "rising" => rising(n, octaves),
        "falling" => rising(n, -octaves),
        _ => shuffled(rising(n, octaves)),
    };
    let mut all = vec![];
    for name in ["rising", "falling", "shuffled"] {
        for rows in [true, false] {
            let title = format!("{} {name}", if rows { "rows" } else { "columns" });
            all.push(Hard::new(title, move |n| {
                let d = grade(name, n);
                let m = gapped(n, n, 1e-2, &places(n));
                Mat::from_fn(n, n, |i, j| d[if rows { i } else { j }] * m[(i, j)])
            }));
        }
    }
    all
}

/// `L` of `LQ` for a matrix with singular values from 1 down to `1 / condition` and random singular
/// vectors.
fn triangle_of(n: usize, condition: f64) -> Mat<f64> {
    let q = orthogonal(n);
    let last = n.saturating_sub(1).max(1) as f64;
    let d = |i: usize| condition.powf(-(i as f64) / last);
    let cpu = CpuDevice::new(1);
    let a = Mat::from_fn(n, n, |i, j| d(i) * q[(j, i)]);
    let mut factor: <CpuDevice as Memory<f64>>::Mat<'_> =
        cpu.load_temporary(a.as_ref(), Part::All).unwrap();
    Lapack::<f64>::geqrf(&cpu, &mut factor).unwrap();
    let mut r = Mat::zeros(n, n);
    cpu.read(&factor, r.as_mut()).unwrap();
    Mat::from_fn(n, n, |i, j| if i < j { 0.0 } else { r[(j, i)] })
}
