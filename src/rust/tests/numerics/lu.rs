//! getrf on hard matrices.

use super::common::matrices::{integers, random};
use super::common::{changed, few, for_each_device, same, Host};
use super::exact;
use super::positive::shuffled;
use super::{allowed, textbook};
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use cudafactor::device::lapack::LuInfo;

for_each_device!(residuals_are_the_textbooks, growth_costs_what_it_must);

pub fn factor<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>) -> (Host<T>, LuInfo) {
    changed(device, a, Part::All, |m| device.getrf(m)).unwrap()
}

/// Both sides of the widths of panels and blocks; tall and wide.
pub fn shapes() -> Vec<(usize, usize)> {
    if few() {
        return vec![(33, 33), (65, 20)];
    }
    let square = [1, 2, 31, 32, 33, 64, 65, 127, 128, 129, 255, 256, 257, 300];
    let mut all: Vec<_> = square.map(|n| (n, n)).into();
    all.extend([(300, 129), (257, 128), (1000, 33), (4000, 5)]);
    all.extend([(129, 300), (128, 257), (33, 1000), (5, 400)]);
    all
}

/// Powers of two, so that grading rounds nothing, in random order.
fn grades<T: Scalar>(n: usize) -> Vec<f64> {
    let octaves = if T::EPS > 1e-10 { 30.0 } else { 200.0 };
    let place = |i: usize| octaves * (2.0 * i as f64 / n as f64 - 1.0);
    shuffled((0..n).map(|i| 2f64.powi(place(i) as i32)).collect())
}

fn hard<T: Scalar>(m: usize, n: usize) -> Vec<(&'static str, Host<T>)> {
    let base = random::<f64>(m, n, 31);
    let (rows, cols) = (grades::<T>(m), grades::<T>(n));
    // Symmetric and orthogonal where it is square; the growth is about n / 2.
    let order = (m.max(n) + 1) as f64;
    let sine = |i: usize, j: usize| {
        let turn = ((i + 1) * (j + 1)) as f64 / order;
        (2.0 / order).sqrt() * (std::f64::consts::PI * turn).sin()
    };
    // The columns of the second half are sums of two of the first, give or take a few eps.
    let half = n.div_ceil(2);
    let dependent = |i: usize, j: usize| match j.checked_sub(half) {
        Some(k) => base.at(i, k) + base.at(i, (k + 7) % half) + 4.0 * T::EPS * base.at(i, j),
        None => base.at(i, j),
    };
    vec![
        ("random", Host::from_fn(m, n, |i, j| base.at(i, j))),
        ("orthogonal", Host::from_fn(m, n, sine)),
        (
            "graded rows",
            Host::from_fn(m, n, |i, j| base.at(i, j) * rows[i]),
        ),
        (
            "graded columns",
            Host::from_fn(m, n, |i, j| base.at(i, j) * cols[j]),
        ),
        ("nearly dependent", Host::from_fn(m, n, dependent)),
        ("integers", integers(m, n, 32)),
        // Rows that have a large mean, which the first column takes off.
        ("mean", Host::from_fn(m, n, |i, j| 1e3 + base.at(i, j))),
    ]
}

fn residuals_are_the_textbooks<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for (name, a) in hard::<T>(m, n) {
            let (lu, info) = factor(device, &a);
            let want = textbook::lu(&a);
            let found = exact::lu(&a, &lu, &info.ipiv);
            let reference = exact::lu(&a, &want.factor, &want.ipiv);
            let norm = allowed(reference.norm, m.max(n));
            let entries = allowed(reference.entries, m.min(n));
            assert!(
                found.norm <= norm && found.entries <= entries,
                "{name} {m} {n}: {found:?}, the textbook's {reference:?}, allowed {norm:.3} and \
                 {entries:.3}"
            );
        }
    }
}

/// Wilkinson's matrix, whose last column doubles with every step. No row is exchanged: all
/// candidates are as large as the first.
fn wilkinson<T: Scalar>(n: usize, last: impl Fn(usize) -> f64) -> Host<T> {
    Host::from_fn(n, n, |i, j| match i.cmp(&j) {
        _ if j + 1 == n => last(i),
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => -1.0,
    })
}

fn growth_costs_what_it_must<T: Scalar, D: Device<T>>(device: &D) {
    // 2^(n - 1) stays in the range.
    let mut orders = vec![2, 3, 31, 32, 33, 64, 65, 100];
    if T::EPS < 1e-10 {
        orders.extend([127, 128, 129, 257, 300]);
    }
    for n in orders {
        let straight: Vec<usize> = (0..n).collect();
        // Powers of two: nothing is rounded.
        let a = wilkinson::<T>(n, |_| 1.0);
        let (lu, info) = factor(device, &a);
        assert_eq!(info.ipiv, straight, "{n}");
        assert!(same(&lu, &textbook::lu(&a).factor), "{n}");
        assert_eq!(lu.at(n - 1, n - 1), 2f64.powi(n as i32 - 1));
        // Here every step is. The error may have the size of the growth, and |L||U| has it entry by
        // entry.
        let r = random::<f64>(n, 1, 33);
        let a = wilkinson::<T>(n, |i| 1.0 + 0.4 * r.at(i, 0));
        let (lu, info) = factor(device, &a);
        assert_eq!(info.ipiv, straight, "{n}");
        let growth = lu.at(n - 1, n - 1).abs();
        assert!(growth > 0.5 * 2f64.powi(n as i32 - 1), "{n}: {growth:e}");
        let found = exact::lu(&a, &lu, &info.ipiv);
        let want = textbook::lu(&a);
        let reference = exact::lu(&a, &want.factor, &want.ipiv);
        assert!(
            found.norm <= growth && found.entries <= allowed(reference.entries, n),
            "{n}: {found:?}, the textbook's {reference:?}, growth {growth:e}"
        );
    }
}
