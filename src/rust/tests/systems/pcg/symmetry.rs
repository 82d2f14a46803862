//! Whether a stored matrix is symmetric.

use cudafactor::algo::dense::symmetry::{is_symmetric, is_symmetric_resident, triangles_resident};
use cudafactor::base::scalar::Scalar;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::device::elementwise::Elementwise;

use super::problem::{lower, numbers, poisson, sparse, upper};
use crate::common::{for_each_device, Host};

for_each_device!(dense_matrices, triangles);

/// On the host and on the device.
fn both<T: Scalar, D: Elementwise<T>>(dev: &D, a: &Host<T>) -> bool {
    let loaded = dev.load(a.view()).unwrap();
    let here = is_symmetric(a.view()).unwrap();
    assert_eq!(here, is_symmetric_resident(dev, &loaded).unwrap());
    here
}

fn dense_matrices<T: Scalar, D: Elementwise<T>>(dev: &D) {
    for n in [1, 2, 3, 65, 511, 512, 513, 1100] {
        let value = |i: usize, j: usize| ((i.min(j) * 31 + i.max(j) * 17) % 1009) as f64 - 500.0;
        let mut a = Host::<T>::from_fn(n, n, value);
        assert!(both(dev, &a));
        for (i, j) in [(n - 1, 0), (0, n - 1), (n / 2, n / 3), (n - 1, n / 2)] {
            let was = a.at(i, j);
            // By one place of the last digit.
            a.set(i, j, was * (1.0 + 2.0 * T::EPS) + T::EPS);
            assert_eq!(both(dev, &a), i == j, "{n}: [{i}, {j}]");
            a.set(i, j, f64::NAN);
            assert!(!both(dev, &a));
            a.set(i, j, was);
        }
        assert!(both(dev, &a));
    }
    let empty = dev.blank(0, 0).unwrap();
    assert!(is_symmetric_resident(dev, &empty).unwrap());
    let wide = dev.zeros(2, 3).unwrap();
    assert!(!is_symmetric_resident(dev, &wide).unwrap());
}

/// Where there are several threads, enough work for them in the first rows of blocks.
#[test]
fn large_matrices() {
    let n = 2200;
    let mut a = Host::<f64>::from_fn(n, n, |i, j| (i.min(j) + 3 * i.max(j)) as f64);
    assert!(is_symmetric(a.view()).unwrap());
    for (i, j) in [(1, 0), (n - 1, 0), (700, 100), (1300, 3), (n - 1, n - 2)] {
        let was = a.at(i, j);
        a.set(i, j, was + 1.0);
        assert!(!is_symmetric(a.view()).unwrap(), "[{i}, {j}]");
        a.set(i, j, was);
    }
}

/// One entry off the diagonal, wherever that is, and none; the diagonal is of no account.
fn triangles<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let found = |a: &Host<T>| triangles_resident(dev, &dev.load(a.view()).unwrap()).unwrap();
    for n in [1, 2, 3, 65, 512, 513, 514, 1100] {
        let mut a = Host::<T>::from_fn(n, n, |i, j| if i == j { f64::NAN } else { 0.0 });
        assert_eq!(found(&a), (0.0, 0.0));
        let places = [(n - 1, 0), (n / 2, n / 3), (n - 1, n - 1), (1, 0)];
        let far = [(n - 1, n.saturating_sub(2)), (512, 511), (513, 512)];
        for (i, j) in places.into_iter().chain(far) {
            if i >= n || i <= j {
                continue;
            }
            for value in [-3.0, f64::NAN, f64::INFINITY] {
                a.set(i, j, value);
                let (below, above) = found(&a);
                assert!(below == value.abs() || below.is_nan() && value.is_nan());
                assert_eq!(above, 0.0, "{n}: [{i}, {j}]");
                a.set(i, j, 0.0);
                a.set(j, i, value);
                let (below, above) = found(&a);
                assert!(above == value.abs() || above.is_nan() && value.is_nan());
                assert_eq!(below, 0.0, "{n}: [{j}, {i}]");
                a.set(j, i, 0.0);
            }
        }
    }
}

#[test]
fn sparse_matrices() {
    let a = poisson(&[7, 8]);
    assert!(a.is_symmetric().unwrap());
    assert!(!lower(&a).is_symmetric().unwrap());
    assert!(!upper(&a).is_symmetric().unwrap());
    assert!(poisson(&[0]).is_symmetric().unwrap());
    assert!(poisson(&[1]).is_symmetric().unwrap());
    assert!(!Csc::with_rows(3).is_symmetric().unwrap());
    for p in 0..a.values.len() {
        let column = a.starts.partition_point(|s| *s <= p) - 1;
        let mut changed = a.clone();
        changed.values[p] = a.values[p].next_up();
        assert_eq!(changed.is_symmetric().unwrap(), a.index[p] == column);
        changed.values[p] = f64::NAN;
        assert!(!changed.is_symmetric().unwrap());
    }
}

/// Against the entries themselves, with zeros that are stored in one triangle alone.
#[test]
fn random_sparse_matrices() {
    let mut found = [0; 2];
    for seed in 0..3000 {
        let n = 1 + seed as usize % 5;
        let draws = numbers(3 * n * n, seed + 1);
        let mut a = Csc::with_rows(n);
        for j in 0..n {
            let entry = |i: usize| {
                let value = (draws[i * n + j] * 2.0).trunc();
                let mirror = (draws[j * n + i] * 2.0).trunc();
                let value = if draws[2 * n * n] < 0.6 && i > j {
                    mirror
                } else {
                    value
                };
                let stored = value != 0.0 || draws[n * n + i * n + j] > 0.0;
                stored.then_some((i, value))
            };
            a.push((0..n).filter_map(entry).collect());
        }
        let full = super::problem::dense(&a);
        let expected = (0..n).all(|i| (0..n).all(|j| full[(i, j)] == full[(j, i)]));
        assert_eq!(a.is_symmetric().unwrap(), expected, "{full:?}");
        assert_eq!(sparse(&full).is_symmetric().unwrap(), expected);
        found[usize::from(expected)] += 1;
    }
    assert!(found.iter().all(|f| *f > 300), "{found:?}");
}
