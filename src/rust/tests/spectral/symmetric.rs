//! Symmetric eigenvalues.

use super::common::residual::{orthogonality, product};
use super::common::{for_each_device, Host};
use super::kinds::{down, symmetric, unit, with_values};
use super::{orders, ALLOWED};
use cudafactor::algo::dense::eigen;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::spectral::SymmetricEigen;
use faer::Mat;

for_each_device!(
    residuals_are_small,
    values_are_those_with_vectors,
    exact_values,
    only_the_lower_triangle_is_read,
    signs_follow_the_rule,
    bits_repeat,
    what_is_not_finite_is_refused,
);

super::for_each_processor!(two_values_keep_their_digits, doubles_may_be_of_any_size);

fn decompose<T: Scalar, D: SymmetricEigen<T>>(device: &D, a: &Host<T>) -> (Vec<T>, Host<T>) {
    let mut z = Host::from_fn(a.rows, a.rows, |_, _| f64::NAN);
    let w = eigen::symmetric(device, a.view(), Some(z.view_mut())).unwrap();
    (w, z)
}

/// Asserts a small residual, orthogonality, and descending values.
pub fn is_right<T: Scalar>(name: &str, a: &Host<T>, w: &[T], z: &Host<T>) {
    let n = a.rows;
    let e = unit(a);
    let wide = Mat::from_fn(n, n, |i, j| down(a.at(i.max(j), i.min(j)), e));
    let scaled = Mat::from_fn(n, n, |i, j| z.at(i, j) * down(w[j].to_f64(), e));
    let error = &product(wide.as_ref(), z.wide().as_ref()) - &scaled;
    let unit = n as f64 * T::EPS;
    let residual = error.norm_l2() / (wide.norm_l2().max(f64::MIN_POSITIVE) * unit);
    assert!(residual <= ALLOWED, "{name} {n}: residual {residual}");
    let loss = orthogonality(z);
    assert!(loss <= ALLOWED * 4.0, "{name} {n}: orthogonality {loss}");
    assert!(w.windows(2).all(|w| w[0] >= w[1]), "{name} {n}: order");
}

fn residuals_are_small<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    for n in orders() {
        for (name, a) in symmetric::<T>(n) {
            let (w, z) = decompose(device, &a);
            is_right(&name, &a, &w, &z);
        }
    }
}

fn values_are_those_with_vectors<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    for n in [1, 2, 33, 129, 300] {
        for (name, a) in symmetric::<T>(n) {
            let alone = eigen::symmetric::<T, T, D>(device, a.view(), None).unwrap();
            let (w, _) = decompose(device, &a);
            let size = w.iter().map(|w| w.to_f64().abs()).fold(0.0, f64::max);
            for (x, y) in alone.iter().zip(&w) {
                let error = (x.to_f64() - y.to_f64()).abs();
                assert!(error <= ALLOWED * n as f64 * T::EPS * size, "{name} {n}");
            }
        }
    }
}

fn exact_values<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    let n = 200;
    // Second differences: 2 - 2 cos(k pi / (n + 1)).
    let a = Host::<T>::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    });
    let (w, _) = decompose(device, &a);
    for (k, w) in w.iter().enumerate() {
        let angle = std::f64::consts::PI * (n - k) as f64 / (n + 1) as f64;
        let want = 2.0 - 2.0 * angle.cos();
        assert!((w.to_f64() - want).abs() <= 4.0 * n as f64 * T::EPS, "{k}");
    }
    let given: Vec<f64> = (0..n).map(|i| i as f64 - 50.0).collect();
    let (w, _) = decompose(device, &with_values::<T>(&given));
    for (w, want) in w.iter().rev().zip(given) {
        assert!(
            (w.to_f64() - want).abs() <= 150.0 * n as f64 * T::EPS,
            "{want}"
        );
    }
}

/// Also if one is much smaller than the other, with and without vectors.
fn two_values_keep_their_digits<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    let small = T::EPS.powi(2);
    let matrices = [
        ([1.0, 0.0, small], [1.0, small]),
        ([small, 0.0, 1.0], [1.0, small]),
        ([1.0, small, small], [1.0, small]),
        ([1.0, T::EPS, 1.5 * small.sqrt()], [1.0, 1.5 * T::EPS]),
        ([-1.0, 0.0, -small], [-small, -1.0]),
    ];
    for by in [1.0, 2f64.powi(70), 2f64.powi(-20)] {
        for ([x, xy, y], want) in matrices {
            let a = Host::<T>::from_fn(2, 2, |i, j| by * [x, xy, y][i + j]);
            let (w, _) = decompose(device, &a);
            let alone = eigen::symmetric::<T, T, D>(device, a.view(), None).unwrap();
            for found in [w, alone] {
                for (w, want) in found.iter().zip(want) {
                    let error = (w.to_f64() / by - want).abs();
                    assert!(error <= 4.0 * T::EPS * want.abs(), "{x} {xy} {y}: {w:?}");
                }
            }
        }
    }
}

/// Also beyond the range of the precision that the device computes in.
fn doubles_may_be_of_any_size<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    let n = 40;
    let a = &symmetric::<T>(n)[0].1;
    let (w, z) = decompose(device, a);
    for by in [2f64.powi(-900), 2f64.powi(900)] {
        let x = Host::<f64>::from_fn(n, n, |i, j| a.at(i, j) * by);
        let mut y = Host::<T>::from_fn(n, n, |_, _| f64::NAN);
        let v = eigen::symmetric(device, x.view(), Some(y.view_mut())).unwrap();
        assert!(v.iter().zip(&w).all(|(v, w)| *v == w.to_f64() * by));
        assert!(y.wide() == z.wide());
    }
}

fn only_the_lower_triangle_is_read<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    for n in [2, 33, 130] {
        let a = &symmetric::<T>(n)[0].1;
        let half = Host::<T>::from_fn(n, n, |i, j| if i < j { f64::NAN } else { a.at(i, j) });
        let (w, z) = decompose(device, a);
        let (v, y) = decompose(device, &half);
        assert!(w == v && z.wide() == y.wide());
    }
}

fn signs_follow_the_rule<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    for (name, a) in symmetric::<T>(40) {
        let (_, z) = decompose(device, &a);
        for j in 0..40 {
            let largest = (0..40).map(|i| z.at(i, j).abs()).fold(0.0, f64::max);
            let enough = largest * (1.0 - T::EPS.sqrt());
            let first = (0..40).find(|&i| z.at(i, j).abs() >= enough).unwrap();
            assert!(z.at(first, j) > 0.0, "{name}");
        }
    }
    // Components of equal size: the first is positive, however they are rounded.
    let pair = Host::<T>::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 1.0 });
    let (w, z) = decompose(device, &pair);
    assert!(
        (w[0].to_f64() - 3.0).abs() < 8.0 * T::EPS && (w[1].to_f64() - 1.0).abs() < 8.0 * T::EPS
    );
    assert!(z.at(0, 0) > 0.0 && z.at(1, 0) > 0.0 && z.at(0, 1) > 0.0 && z.at(1, 1) < 0.0);
}

fn bits_repeat<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    for n in [33, 129, 420] {
        let a = &symmetric::<T>(n)[0].1;
        let (w, z) = decompose(device, a);
        let (v, y) = decompose(device, a);
        assert!(w == v && z.wide() == y.wide(), "{n}");
    }
}

fn what_is_not_finite_is_refused<T: Scalar, D: SymmetricEigen<T>>(device: &D) {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let a = Host::<T>::from_fn(5, 5, |i, j| if (i, j) == (3, 2) { value } else { 1.0 });
        let refused = eigen::symmetric::<T, T, D>(device, a.view(), None);
        assert!(matches!(refused, Err(Error::NonFinite)));
    }
    let none = Host::<T>::from_fn(0, 0, |_, _| 0.0);
    assert!(eigen::symmetric::<T, T, D>(device, none.view(), None)
        .unwrap()
        .is_empty());
}
