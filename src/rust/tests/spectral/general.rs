//! Eigenvalues of matrices that are not symmetric.

use super::common::matrices::{random, scaled};
use super::common::residual::product;
use super::common::Host;
use super::kinds::{down, unit};
use super::{for_each_processor, orders, ALLOWED};
use cudafactor::algo::dense::eigen;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::spectral::GeneralEigen;
use faer::Mat;

for_each_processor!(
    residuals_are_small,
    values_are_ordered_pairs,
    triangular_values_are_exact,
    defective_matrices_have_vectors,
    roots_of_unity,
    entries_may_differ_by_more_than_the_range,
    what_is_not_finite_is_refused,
);

type Found<T> = (Vec<T>, Vec<T>, Host<T>);

fn decompose<T: Scalar, D: GeneralEigen<T>>(device: &D, a: &Host<T>) -> Found<T> {
    let mut v = Host::from_fn(a.rows, a.rows, |_, _| f64::NAN);
    let (re, im) = eigen::general(device, a.view(), Some(v.view_mut())).unwrap();
    (re, im, v)
}

fn kinds<T: Scalar>(n: usize) -> Vec<(String, Host<T>)> {
    let base = random::<T>(n, n, 31);
    let upper = |i: usize, j: usize| if i > j { 0.0 } else { base.at(i, j) };
    let mut all: Vec<(String, Host<T>)> = vec![
        ("random".into(), base.clone()),
        ("triangular".into(), Host::from_fn(n, n, upper)),
        ("all ones".into(), Host::from_fn(n, n, |_, _| 1.0)),
        ("zero".into(), Host::from_fn(n, n, |_, _| 0.0)),
        (
            "identity".into(),
            Host::from_fn(n, n, |i, j| f64::from(i == j)),
        ),
        (
            "cyclic".into(),
            Host::from_fn(n, n, |i, j| f64::from(i == (j + 1) % n)),
        ),
        (
            "graded".into(),
            Host::from_fn(n, n, |i, j| {
                base.at(i, j) * 2f64.powi(i as i32 * 16 / n as i32 - j as i32 * 16 / n as i32)
            }),
        ),
    ];
    let extremes = match T::EPS > 1e-10 {
        true => [1e-30, 1e30],
        false => [1e-300, 1e300],
    };
    for by in extremes {
        all.push((format!("random times {by:e}"), scaled(&base, by)));
    }
    all
}

/// `A V = V D` in units of rounding, relative to the norm of A after balancing by `2^scale`.
fn residual<T: Scalar>(a: &Host<T>, (re, im, v): &Found<T>) -> f64 {
    let (n, e) = (a.rows, unit(a));
    let wide = Mat::from_fn(n, n, |i, j| down(a.at(i, j), e));
    let (re, im): (Vec<f64>, Vec<f64>) = re
        .iter()
        .zip(im)
        .map(|(x, y)| (down(x.to_f64(), e), down(y.to_f64(), e)))
        .unzip();
    let turned = Mat::from_fn(n, n, |i, j| match im[j] {
        y if y > 0.0 => v.at(i, j) * re[j] - v.at(i, j + 1) * y,
        y if y < 0.0 => v.at(i, j) * re[j] - v.at(i, j - 1) * y,
        _ => v.at(i, j) * re[j],
    });
    let error = &product(wide.as_ref(), v.wide().as_ref()) - &turned;
    error.norm_l2() / (wide.norm_l2().max(f64::MIN_POSITIVE) * n as f64 * T::EPS)
}

fn residuals_are_small<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    for n in orders() {
        for (name, a) in kinds::<T>(n) {
            let found = decompose(device, &a);
            let error = residual(&a, &found);
            assert!(error <= 2.0 * ALLOWED, "{name} {n}: residual {error}");
            let (_, im, v) = found;
            for (j, y) in im.iter().enumerate() {
                let square = |j: usize| (0..n).map(|i| v.at(i, j).powi(2)).sum::<f64>();
                let y = y.to_f64();
                let norm = square(j) + if y > 0.0 { square(j + 1) } else { 0.0 };
                let unit = (norm - 1.0).abs() <= ALLOWED * n as f64 * T::EPS;
                assert!(y < 0.0 || unit, "{name} {n}: norm {norm}");
                // The largest component is real and positive.
                if y > 0.0 {
                    let size = |i: usize| v.at(i, j).hypot(v.at(i, j + 1));
                    let largest = (0..n).map(size).fold(0.0, f64::max);
                    let enough = largest * (1.0 - T::EPS.sqrt());
                    let first = (0..n).find(|&i| size(i) >= enough).unwrap();
                    assert!(v.at(first, j) > 0.0 && v.at(first, j + 1) == 0.0);
                }
            }
        }
    }
}

fn values_are_ordered_pairs<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    for n in [1, 2, 33, 129] {
        for (name, a) in kinds::<T>(n) {
            let (re, im) = eigen::general::<T, T, D>(device, a.view(), None).unwrap();
            let size = |i: usize| re[i].to_f64().hypot(im[i].to_f64());
            for j in 1..n {
                assert!(size(j - 1) >= size(j) * (1.0 - 4.0 * T::EPS), "{name} {n}");
            }
            for j in 0..n {
                let paired =
                    im[j] <= T::from_f64(0.0) || (re[j] == re[j + 1] && im[j] == -im[j + 1]);
                assert!(paired, "{name} {n}");
            }
        }
    }
}

/// Also after rows and columns are exchanged.
fn triangular_values_are_exact<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    let n = 40;
    let base = random::<f64>(n, n, 33);
    let place = |i: usize| (i * 17 + 5) % n;
    let entry = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => base.at(i, j),
        std::cmp::Ordering::Equal => (i + 1) as f64,
        std::cmp::Ordering::Greater => 0.0,
    };
    let a = Host::<T>::from_fn(n, n, |i, j| entry(place(i), place(j)));
    let (re, im) = eigen::general::<T, T, D>(device, a.view(), None).unwrap();
    let want: Vec<T> = (0..n).map(|i| T::from_f64((n - i) as f64)).collect();
    assert_eq!(re, want);
    assert!(im.iter().all(|y| *y == T::from_f64(0.0)));
}

/// A Jordan block has one vector.
fn defective_matrices_have_vectors<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    for n in [2, 5, 40, 100] {
        let a = Host::<T>::from_fn(n, n, |i, j| match j.wrapping_sub(i) {
            0 => 0.5,
            1 => 1.0,
            _ => 0.0,
        });
        let found = decompose(device, &a);
        let error = residual(&a, &found);
        assert!(error <= ALLOWED, "{n}: {error}");
        assert!(found.2.all(f64::is_finite));
        // No permutation makes this one triangular.
        let mut full = a.clone();
        full.set(n - 1, 0, T::EPS);
        let found = decompose(device, &full);
        let error = residual(&full, &found);
        assert!(
            error <= ALLOWED && found.2.all(f64::is_finite),
            "{n}: {error}"
        );
    }
}

fn roots_of_unity<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    let n = 12;
    let a = Host::<T>::from_fn(n, n, |i, j| f64::from(i == (j + 1) % n));
    let (re, im) = eigen::general::<T, T, D>(device, a.view(), None).unwrap();
    for (x, y) in re.iter().zip(&im) {
        let (x, y) = (x.to_f64(), y.to_f64());
        let turns = y.atan2(x) / std::f64::consts::TAU * n as f64;
        assert!((x.hypot(y) - 1.0).abs() < 50.0 * T::EPS);
        assert!((turns - turns.round()).abs() < 500.0 * T::EPS);
    }
}

/// Their products are of order one.
fn entries_may_differ_by_more_than_the_range<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    for exponent in [0, 20, 500, 530, -530, 1000] {
        let large = 2f64.powi(exponent);
        let x = Host::<f64>::from_fn(2, 2, |i, j| {
            [1.0, large, large.recip()][i + 2 * j - 3 * i * j]
        });
        let mut v = Host::<T>::from_fn(2, 2, |_, _| f64::NAN);
        let (re, im) = eigen::general(device, x.view(), Some(v.view_mut())).unwrap();
        let near = |x: f64, y: f64| assert!((x - y).abs() <= 8.0 * T::EPS, "{exponent}: {x} {y}");
        near(re[0], 2.0);
        near(re[1], 0.0);
        assert_eq!(im, [0.0; 2]);
        let alone = eigen::general::<f64, T, D>(device, x.view(), None).unwrap();
        near(alone.0[0], 2.0);
        near(alone.0[1], 0.0);
        near(v.at(1, 0), large / large.hypot(1.0));
    }
    let n = 33;
    let a = random::<f64>(n, n, 35);
    let rounded = Host::<T>::from_fn(n, n, |i, j| a.at(i, j));
    let (re, im, v) = decompose(device, &rounded);
    for by in [2f64.powi(-1000), 2f64.powi(1000)] {
        let x = Host::<f64>::from_fn(n, n, |i, j| rounded.at(i, j) * by);
        let mut y = Host::<T>::from_fn(n, n, |_, _| f64::NAN);
        let (same, also) = eigen::general(device, x.view(), Some(y.view_mut())).unwrap();
        assert!(same.iter().zip(&re).all(|(x, y)| *x == y.to_f64() * by));
        assert!(also.iter().zip(&im).all(|(x, y)| *x == y.to_f64() * by));
        assert!(y.wide() == v.wide());
    }
}

fn what_is_not_finite_is_refused<T: Scalar, D: GeneralEigen<T>>(device: &D) {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let a = Host::<T>::from_fn(5, 5, |i, j| if (i, j) == (3, 2) { value } else { 1.0 });
        let refused = eigen::general::<T, T, D>(device, a.view(), None);
        assert!(matches!(refused, Err(Error::NonFinite)));
    }
}
