//! Matrices with special spectra.

use super::common::matrices::{random, scaled};
use super::common::Host;
use cudafactor::base::scalar::Scalar;

/// `Q diag(w) Q'` with a product Q of two reflections.
pub fn with_values<T: Scalar>(w: &[f64]) -> Host<T> {
    let n = w.len();
    let mut a = vec![0.0; n * n];
    (0..n).for_each(|i| a[i * n + i] = w[i]);
    for seed in [11, 12] {
        let u = random::<f64>(n, 1, seed);
        let square: f64 = (0..n).map(|i| u.at(i, 0).powi(2)).sum();
        for _ in 0..2 {
            // The columns, then of the transpose the rows.
            for j in 0..n {
                let dot: f64 = (0..n).map(|i| u.at(i, 0) * a[j * n + i]).sum();
                (0..n).for_each(|i| a[j * n + i] -= 2.0 * dot / square * u.at(i, 0));
            }
            a = (0..n * n).map(|k| a[(k % n) * n + k / n]).collect();
        }
    }
    Host::from_fn(n, n, |i, j| a[i.max(j) + i.min(j) * n])
}

/// The scale of entries at the ends of the range.
fn extremes<T: Scalar>() -> Vec<f64> {
    match T::EPS > 1e-10 {
        true => vec![1e-36, 1e-12, 1e12, 1e36],
        false => vec![1e-300, 1e-160, 1e-16, 1e12, 1e160, 1e300],
    }
}

/// Symmetric matrices of order n.
pub fn symmetric<T: Scalar>(n: usize) -> Vec<(String, Host<T>)> {
    let base = random::<f64>(n, n, 21);
    let goe = Host::<T>::from_fn(n, n, |i, j| base.at(i.min(j), i.max(j)));
    let wide = T::EPS < 1e-10;
    let at = move |i: usize| i as f64 / n as f64;
    let grade = move |i: usize| 10f64.powf(if wide { -10.0 } else { -4.0 } * at(i));
    let geometric: Vec<f64> = (0..n).map(|i| 10f64.powf(-16.0 * at(i))).collect();
    let clusters: Vec<f64> = (0..n).map(|i| (i % 10) as f64 - 3.0).collect();
    let one: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { 1e-8 }).collect();
    let wilkinson = |i: usize, j: usize| match i.abs_diff(j) {
        0 => (i as f64 - (n as f64 - 1.0) / 2.0).abs(),
        1 => 1.0,
        _ => 0.0,
    };
    // Copies of Wilkinson's matrix of order 21, joined by small numbers.
    let glued = |i: usize, j: usize| match (i.abs_diff(j), i.max(j) % 21) {
        (0, k) => (k as f64 - 10.0).abs(),
        (1, 0) => 1e-10,
        (1, _) => 1.0,
        _ => 0.0,
    };
    let identity = |i: usize, j: usize| f64::from(i == j);
    let product = |i: usize, j: usize| grade(i) * grade(j) * base.at(i.min(j), i.max(j));
    let mut all = vec![
        ("random".into(), goe.clone()),
        ("graded".into(), Host::from_fn(n, n, product)),
        ("geometric".into(), with_values(&geometric)),
        ("clustered".into(), with_values(&clusters)),
        ("one large".into(), with_values(&one)),
        ("all ones".into(), Host::from_fn(n, n, |_, _| 1.0)),
        ("Wilkinson".into(), Host::from_fn(n, n, wilkinson)),
        ("glued Wilkinson".into(), Host::from_fn(n, n, glued)),
        ("identity".into(), Host::from_fn(n, n, identity)),
        ("zero".into(), Host::from_fn(n, n, |_, _| 0.0)),
    ];
    for by in extremes::<T>() {
        all.push((format!("random times {by:e}"), scaled(&goe, by)));
    }
    all
}

/// Rectangular matrices of several kinds.
pub fn rectangular<T: Scalar>(m: usize, n: usize) -> Vec<(String, Host<T>)> {
    let mut all = super::common::matrices::rectangular::<T>(m, n);
    let base = random::<T>(m, n, 22);
    for by in extremes::<T>() {
        all.push((format!("random times {by:e}"), scaled(&base, by)));
    }
    all.push(("all ones".into(), Host::from_fn(m, n, |_, _| 1.0)));
    all.push((
        "identity".into(),
        Host::from_fn(m, n, |i, j| f64::from(i == j)),
    ));
    all.push((
        "positive".into(),
        Host::from_fn(m, n, |i, j| base.at(i, j).abs() + 1e-3),
    ));
    if m == n {
        all.extend(in_steps(n));
    }
    all
}

/// Square matrices whose singular values lie in ranges far apart.
fn in_steps<T: Scalar>(n: usize) -> Vec<(String, Host<T>)> {
    let of = |name: &str, value: &dyn Fn(usize) -> f64| {
        let w: Vec<f64> = (0..n).map(value).collect();
        let a = with_values::<T>(&w);
        // With its columns reversed the matrix is not symmetric.
        let turned = Host::from_fn(n, n, |i, j| a.at(i, n - 1 - j));
        (name.to_owned(), turned)
    };
    let at = |i: usize| i as f64 / n as f64;
    // The power method from the vector that `svd/leading.rs` starts with misses the largest value.
    let start = |i: usize| 1.0 + 0.5 * ((i * i + 1) as f64).sin();
    let first = |i: usize| {
        let other = if i % 2 == 0 { i + 1 } else { i - 1 };
        let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
        if other < n {
            sign * start(other)
        } else {
            0.0
        }
    };
    let norm = |v: &dyn Fn(usize) -> f64| (0..n).map(|i| v(i).powi(2)).sum::<f64>().sqrt();
    let (of_first, of_start) = (norm(&first).max(1e-3), norm(&start));
    let hidden = Host::from_fn(n, n, |i, j| {
        let large = first(i) * first(j) / of_first / of_first;
        large + 0.8 * start(i) * start(j) / of_start / of_start
    });
    vec![
        ("hidden from the start".into(), hidden),
        of("half of the rank", &|i| f64::from(2 * i < n)),
        of("one large value", &|i| if i == 0 { 1.0 } else { 0.01 }),
        of("two large values", &|i| [1.0, 1e-3, 1e-6][i.min(2)]),
        of("just in range", &|i| if i == 0 { 1.0 } else { 1.0 / 31.9 }),
        of("two values", &|i| if 3 * i < 2 * n { 1.0 } else { 1e-3 }),
        of("three values", &|i| [1.0, 1e-7, 1e-12][3 * i / n]),
        of("to zero", &|i| 1.0 - at(i)),
        of("slow, then geometric", &|i| match 2 * i < n {
            true => 1.0 - at(i),
            false => 10f64.powf(-30.0 * at(i) + 14.0),
        }),
    ]
}

/// The power of two that brings the largest entry to `[1, 2)`: residuals can then be formed.
pub fn unit<T: Scalar>(a: &Host<T>) -> f64 {
    let entries = (0..a.cols).flat_map(|j| (0..a.rows).map(move |i| (i, j)));
    let largest = entries.map(|(i, j)| a.at(i, j).abs()).fold(0.0, f64::max);
    match largest > 0.0 {
        true => largest.log2().floor(),
        false => 0.0,
    }
}

/// `x 2^-e` in two steps, since one factor may overflow.
pub fn down(x: f64, e: f64) -> f64 {
    let half = (e / 2.0).floor();
    x * (-half).exp2() * (half - e).exp2()
}

/// Numbers between -1 and 1 without a pattern.
pub fn scattered<T: Scalar>(m: usize, n: usize, seed: usize) -> Host<T> {
    Host::from_fn(m, n, |i, j| {
        let mut z = ((seed * m + i) * n + j) as u64;
        for by in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9] {
            z = (z ^ (z >> 29)).wrapping_add(1).wrapping_mul(by);
        }
        (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    })
}
