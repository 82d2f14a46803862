//! Symmetric positive definite matrices that are hard to factor.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::common::matrices::Random;
use super::common::residual::product;
use super::common::Host;
use super::triangles::{gapped, kahan, places};
use cudafactor::base::scalar::Scalar;
use faer::Mat;

/// How far the generators go in a precision.
#[derive(Debug, Clone)]
pub struct Range {
    /// Condition numbers, the last beyond `1 / eps`.
    pub conditions: Vec<f64>,
    /// Powers of two that rows and columns are graded by, from minus to plus this.
    pub octaves: f64,
    /// The same for powers of ten.
    pub decades: f64,
    /// Pivots of the factor that are small beside the entries around them; their squares are above
    /// the rounding of sums.
    pub gaps: Vec<f64>,
    /// Of these, one whose square is far above.
    pub gap: f64,
}

impl Range {
    pub fn of<T: Scalar>() -> Self {
        let powers = |list: &[f64]| list.iter().map(|p| 10f64.powf(*p)).collect();
        if T::EPS > 1e-10 {
            Range {
                conditions: powers(&[0.0, 1.0, 3.0, 4.0, 6.0, 7.0]),
                octaves: 25.0,
                decades: 8.0,
                gaps: powers(&[-1.0, -2.5]),
                gap: 3e-3,
            }
        } else {
            Range {
                conditions: powers(&[0.0, 2.0, 5.0, 8.0, 12.0, 14.0, 16.0]),
                octaves: 200.0,
                decades: 100.0,
                gaps: powers(&[-2.0, -5.0, -6.5]),
                gap: 1e-5,
            }
        }
    }
}

/// A random orthogonal matrix, uniform among all: the product of Householder reflections of normal
/// vectors (Stewart).
pub fn orthogonal(n: usize) -> Arc<Mat<f64>> {
    static MADE: Mutex<BTreeMap<usize, Arc<Mat<f64>>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap();
    let q = made.entry(n).or_insert_with(|| Arc::new(reflections(n)));
    Arc::clone(q)
}

fn reflections(n: usize) -> Mat<f64> {
    let mut random = Random::new(n as u64);
    let mut columns: Vec<Vec<f64>> = (0..n)
        .map(|j| (0..n).map(|i| f64::from(u8::from(i == j))).collect())
        .collect();
    for k in (0..n.saturating_sub(1)).rev() {
        let v: Vec<f64> = (k..n).map(|_| random.normal()).collect();
        let square: f64 = v.iter().map(|v| v * v).sum();
        for column in &mut columns[k..] {
            let x = &mut column[k..];
            let along: f64 = v.iter().zip(&*x).map(|(v, x)| v * x).sum();
            let factor = 2.0 * along / square;
            for (x, v) in x.iter_mut().zip(&v) {
                *x -= factor * v;
            }
        }
    }
    Mat::from_fn(n, n, |i, j| columns[j][i])
}

/// `XX'`, rounded once more to be symmetric.
fn gram(x: &Mat<f64>) -> Mat<f64> {
    let a = product(x.as_ref(), x.transpose());
    Mat::from_fn(x.nrows(), x.nrows(), |i, j| a[(i.max(j), i.min(j))])
}

pub const SPECTRA: [&str; 4] = ["geometric", "one tiny", "half tiny", "arithmetic"];

/// A random matrix with eigenvalues from 1 down to `1 / condition`.
pub fn with_spectrum(n: usize, spectrum: &str, condition: f64) -> Mat<f64> {
    let last = n.saturating_sub(1).max(1) as f64;
    let value = |i: usize| match spectrum {
        "geometric" => condition.powf(-(i as f64) / last),
        "one tiny" if i + 1 < n => 1.0,
        "half tiny" if i < n.div_ceil(2) => 1.0,
        "arithmetic" => 1.0 - i as f64 / last * (1.0 - 1.0 / condition),
        _ => 1.0 / condition,
    };
    let q = orthogonal(n);
    gram(&Mat::from_fn(n, n, |i, j| q[(i, j)] * value(j).sqrt()))
}

/// `DAD`.
pub fn graded(a: &Mat<f64>, d: &[f64]) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| d[i] * a[(i, j)] * d[j])
}

/// Powers of two from the smallest to the largest of the range.
pub fn rising(n: usize, octaves: f64) -> Vec<f64> {
    let step = 2.0 * octaves / n.saturating_sub(1).max(1) as f64;
    (0..n)
        .map(|i| 2f64.powi((step * i as f64 - octaves).round() as i32))
        .collect()
}

pub fn shuffled(mut d: Vec<f64>) -> Vec<f64> {
    let mut random = Random::new(5);
    for i in (1..d.len()).rev() {
        let j = ((random.next().abs() * (i + 1) as f64) as usize).min(i);
        d.swap(i, j);
    }
    d
}

/// Inner products of normal vectors. The one at `at` is, up to `gap`, a combination of those before
/// it, or of all the others where none is before it.
pub fn nearly_dependent(n: usize, at: usize, gap: f64) -> Mat<f64> {
    let mut random = Random::new(7);
    let (m, scale) = (2 * n, 1.0 / (2.0 * n as f64).sqrt());
    let mut rows = Mat::from_fn(n, m, |_, _| 0.0);
    for j in 0..m {
        for i in 0..n {
            rows[(i, j)] = scale * random.normal();
        }
    }
    let others: Vec<usize> = if at > 0 {
        (0..at).collect()
    } else {
        (1..n).collect()
    };
    if !others.is_empty() {
        let share = 1.0 / (others.len() as f64).sqrt();
        let weights: Vec<f64> = others.iter().map(|_| share * random.normal()).collect();
        for j in 0..m {
            let combined: f64 = others
                .iter()
                .zip(&weights)
                .map(|(&i, w)| w * rows[(i, j)])
                .sum();
            rows[(at, j)] = combined + gap * rows[(at, j)];
        }
    }
    gram(&rows)
}

/// A matrix under its name, made when it is asked for.
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

    /// Rounded to the precision under test.
    pub fn make<T: Scalar>(&self, n: usize) -> Host<T> {
        let a = (self.make)(n);
        Host::from_fn(n, n, |i, j| a[(i, j)])
    }
}

/// Matrices of order `n`: all that there are where that takes no time, one of each kind beyond, and
/// few where a residual takes a tenth of a second.
pub fn hard<T: Scalar>(n: usize) -> Vec<Hard> {
    let mut range = Range::of::<T>();
    if n > 129 {
        range.conditions = vec![range.conditions[range.conditions.len() - 3]];
        range.gaps = vec![range.gap];
    }
    let mut all = integers_and_fractions(n, T::EPS);
    all.extend(spectra(&range));
    all.extend(scalings(&range));
    all.extend(dependent(&range, n));
    all.extend(tiny_pivots(&range, n));
    for &gap in &range.gaps {
        all.push(Hard::new(format!("Kahan {gap:e}"), move |n| {
            gram(&kahan(n, 1.0 / gap))
        }));
    }
    let step = n / 100;
    if step > 1 {
        all = all.into_iter().skip(n % step).step_by(step).collect();
    }
    all
}

fn spectra(range: &Range) -> Vec<Hard> {
    let mut all = vec![];
    for spectrum in SPECTRA {
        for &condition in &range.conditions {
            all.push(Hard::new(format!("{spectrum} {condition:e}"), move |n| {
                with_spectrum(n, spectrum, condition)
            }));
        }
    }
    all
}

fn scalings(range: &Range) -> Vec<Hard> {
    let (octaves, decades) = (range.octaves, range.decades);
    let condition = range.conditions[range.conditions.len() / 2];
    let base = move |n| with_spectrum(n, "geometric", condition);
    let gap = range.gap;
    vec![
        Hard::new("rising".into(), move |n| {
            graded(&base(n), &rising(n, octaves))
        }),
        Hard::new("falling".into(), move |n| {
            graded(&base(n), &rising(n, -octaves))
        }),
        Hard::new("shuffled".into(), move |n| {
            graded(&base(n), &shuffled(rising(n, octaves)))
        }),
        Hard::new("shuffled, tiny pivot".into(), move |n| {
            graded(
                &gram(&gapped(n, n, gap, &[n / 2])),
                &shuffled(rising(n, octaves)),
            )
        }),
        Hard::new("badly scaled".into(), move |n| {
            let mut random = Random::new(3);
            let d: Vec<f64> = (0..n)
                .map(|_| 10f64.powf(decades * random.next()))
                .collect();
            graded(&base(n), &d)
        }),
    ]
}

/// The dependence shows at the end, on both sides of the edges of blocks, and within them.
fn dependent(range: &Range, n: usize) -> Vec<Hard> {
    let mut places = vec![1, 30, 64, 65, 92, 128, 129, 150, n];
    places.retain(|&p| p <= n);
    places.dedup();
    let mut all = vec![];
    for &gap in &range.gaps {
        for &p in &places {
            all.push(Hard::new(format!("dependent {gap:e} at {p}"), move |n| {
                nearly_dependent(n, p - 1, gap)
            }));
        }
    }
    all
}

/// `LL'` with one tiny entry on the diagonal of L, and entries of order one below it and beside it.
pub fn tiny_pivot(n: usize, gap: f64, place: usize) -> Mat<f64> {
    gram(&gapped(n, n, gap, &[place]))
}

/// One tiny pivot at a time: two make the matrix singular to working precision.
fn tiny_pivots(range: &Range, n: usize) -> Vec<Hard> {
    let mut all = vec![];
    for &gap in &range.gaps {
        for p in places(n) {
            all.push(Hard::new(format!("tiny pivot {gap:e} at {p}"), move |n| {
                tiny_pivot(n, gap, p)
            }));
            all.push(Hard::new(
                format!("tiny pivot {gap:e} at {p}, banded"),
                move |n| gram(&gapped(n, 90, gap, &[p])),
            ));
        }
    }
    all
}

fn integers_and_fractions(n: usize, eps: f64) -> Vec<Hard> {
    let mut all = vec![
        // Its factor is of ones and minus ones: without inverses there is nothing to round.
        Hard::new("Moler".into(), |n| {
            Mat::from_fn(n, n, |i, j| {
                if i == j {
                    (i + 1) as f64
                } else {
                    i.min(j) as f64 - 1.0
                }
            })
        }),
        Hard::new("Lehmer".into(), |n| {
            Mat::from_fn(n, n, |i, j| (i.min(j) + 1) as f64 / (i.max(j) + 1) as f64)
        }),
    ];
    // Beyond these orders rounding alone makes them indefinite.
    let limit = if eps > 1e-10 { 4 } else { 11 };
    if n <= limit {
        all.push(Hard::new("Hilbert".into(), |n| {
            Mat::from_fn(n, n, |i, j| 1.0 / (i + j + 1) as f64)
        }));
        all.push(Hard::new("Pascal".into(), |n| {
            let mut a = Mat::from_fn(n, n, |_, _| 1.0);
            for i in 1..n {
                for j in 1..n {
                    a[(i, j)] = a[(i - 1, j)] + a[(i, j - 1)];
                }
            }
            a
        }));
    }
    all
}
