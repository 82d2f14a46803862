//! potrf_batched, and the drivers that cut batches into parts.

use crate::common::{changed, for_each_device, matrices, residual, same, Host, SIZES};
use cudafactor::algo::dense::cholesky::{factor_batch, factor_list};
use cudafactor::base::error::{Error, Result};
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    every_order,
    every_count,
    other_triangle_is_not_read,
    failure_names_the_first_matrix,
    infinite_pivots_go_on,
    same_answer_wherever_it_stands,
    wrong_shapes_are_errors,
    drivers,
    lists_far_apart,
);

/// `count` matrices side by side, the kinds of [`matrices::positive`] in turn.
fn batch<T: Scalar>(n: usize, count: usize) -> Host<T> {
    let kinds = matrices::positive::<T>(n);
    Host::from_fn(n, n * count, |i, j| {
        let (_, a) = &kinds[j / n % kinds.len()];
        a.at(i, j % n)
    })
}

fn one<T: Scalar>(of: &Host<T>, index: usize) -> Host<T> {
    let n = of.rows;
    Host::from_fn(n, n, |i, j| of.at(i, index * n + j))
}

fn factor<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>) -> Result<Host<T>> {
    changed(device, a, Part::All, |m| device.potrf_batched(m)).map(|(r, ())| r)
}

fn check<T: Scalar>(a: &Host<T>, r: &Host<T>) {
    let n = a.rows;
    for index in 0..a.cols / n {
        let (a, r) = (one(a, index), one(r, index));
        let error = residual::cholesky(&a, &r);
        assert!(
            error < residual::BACKWARD,
            "order {n}, matrix {index}: {error}"
        );
        for j in 0..n {
            assert!((j + 1..n).all(|i| r.at(i, j) == 0.0), "{n} {index}: below");
        }
    }
}

fn every_order<T: Scalar, D: Device<T>>(device: &D) {
    let odd = [
        4, 7, 8, 9, 15, 16, 17, 40, 95, 96, 97, 100, 160, 161, 200, 300, 385, 513,
    ];
    for n in SIZES.into_iter().chain(odd) {
        let a = batch::<T>(n, 7);
        let r = factor(device, &a).unwrap_or_else(|e| panic!("{n}: {e}"));
        if n > 0 {
            check(&a, &r);
        }
    }
}

fn every_count<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 8, 13, 32, 33, 65] {
        for count in [0, 1, 2, 3, 4, 5, 15, 16, 17, 1000] {
            if n * n * count > 600_000 {
                continue;
            }
            let a = batch::<T>(n, count);
            let r = factor(device, &a).unwrap_or_else(|e| panic!("{n} {count}: {e}"));
            check(&a, &r);
        }
    }
}

fn other_triangle_is_not_read<T: Scalar, D: Device<T>>(device: &D) {
    for n in [2, 8, 16, 31, 33, 64, 70, 130, 200] {
        let a = batch::<T>(n, 3);
        let spoilt = Host::<T>::from_fn(
            n,
            3 * n,
            |i, j| {
                if i > j % n {
                    f64::NAN
                } else {
                    a.at(i, j)
                }
            },
        );
        let (clean, got) = (factor(device, &a), factor(device, &spoilt));
        assert!(same(&clean.unwrap(), &got.unwrap()), "{n}");
    }
}

fn failure_names_the_first_matrix<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 8, 9, 16, 31, 32, 33, 63, 64, 65, 100, 129, 200] {
        for k in [0, 1, n / 2, n - 1].into_iter().filter(|&k| k < n) {
            for bad in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
                let mut a = batch::<T>(n, 20);
                // Later faults, in the same matrix and in others, must not hide the first.
                for j in k..n {
                    a.set(j, 11 * n + j, bad);
                }
                a.set(0, 13 * n, bad);
                a.set(0, 19 * n, bad);
                let expected = Error::NotPositiveDefiniteIn {
                    index: 12,
                    order: k + 1,
                };
                assert_eq!(factor(device, &a).err(), Some(expected), "{n} {k} {bad}");
            }
        }
    }
    // A NaN off the diagonal reaches the later pivot.
    for (n, row, col) in [
        (16, 3, 9),
        (32, 0, 31),
        (60, 5, 40),
        (60, 33, 50),
        (200, 149, 159),
    ] {
        let mut a = Host::<T>::from_fn(n, 2 * n, |i, j| f64::from(u8::from(i == j % n)));
        a.set(row, n + col, f64::NAN);
        let expected = Error::NotPositiveDefiniteIn {
            index: 2,
            order: col + 1,
        };
        assert_eq!(factor(device, &a).err(), Some(expected), "{n}");
    }
}

fn infinite_pivots_go_on<T: Scalar, D: Device<T>>(device: &D) {
    for n in [3, 8, 16, 32, 64, 70, 150] {
        for k in [0, 1, n - 1] {
            let mut a = Host::<T>::from_fn(n, 3 * n, |i, j| if i == j % n { 4.0 } else { 0.0 });
            a.set(k, n + k, f64::INFINITY);
            let r = factor(device, &a).unwrap();
            for j in 0..3 * n {
                let infinite = j == n + k;
                let expected = if infinite { f64::INFINITY } else { 2.0 };
                assert_eq!(r.at(j % n, j), expected, "{n} {k} {j}");
            }
        }
    }
}

fn same_answer_wherever_it_stands<T: Scalar, D: Device<T>>(device: &D) {
    for n in [5, 12, 30, 50, 110] {
        let kinds = matrices::positive::<T>(n).len();
        let r = factor(device, &batch::<T>(n, 4 * kinds)).unwrap();
        for index in kinds..4 * kinds {
            assert!(
                same(&one(&r, index), &one(&r, index % kinds)),
                "{n} {index}"
            );
        }
    }
}

fn wrong_shapes_are_errors<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::random::<T>(4, 6, 1);
    let got = factor(device, &a).map(drop);
    assert!(matches!(got, Err(Error::Dimension { .. })), "{got:?}");
}

/// The larger batches are more than the CPU takes at once, and the largest matrices come one by
/// one.
fn drivers<T: Scalar, D: Device<T>>(device: &D) {
    for (n, count) in [(3, 0), (3, 1), (20, 50), (64, 600), (1200, 3)] {
        let a = batch::<T>(n, count);
        let mut r = Host::<T>::from_fn(n, n * count, |_, _| f64::NAN);
        factor_batch(device, a.view(), r.view_mut()).unwrap();
        if n < 1000 {
            check(&a, &r);
        }
        if count > 1 {
            let mut bad = a.clone();
            bad.set(n - 1, count * n - 1, -1.0);
            let expected = Error::NotPositiveDefiniteIn {
                index: count,
                order: n,
            };
            let got = factor_batch(device, bad.view(), r.view_mut());
            assert_eq!(got, Err(expected), "{n} {count}");
        }
    }
}

fn lists_far_apart<T: Scalar, D: Device<T>>(device: &D) {
    for (n, count) in [(3, 0), (3, 1), (20, 50), (64, 600), (1200, 2)] {
        let a = batch::<f64>(n, count);
        let values =
            |i: usize| -> Vec<f64> { (0..n * n).map(|e| a.at(e % n, i * n + e / n)).collect() };
        let mut xs: Vec<Vec<f64>> = (0..count).map(values).collect();
        let mut outs = vec![vec![f64::NAN; n * n]; count];
        let run = |xs: &[Vec<f64>], outs: &mut [Vec<f64>]| {
            let xs: Vec<&[f64]> = xs.iter().map(Vec::as_slice).collect();
            let mut outs: Vec<&mut [f64]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
            factor_list::<T, D>(device, n, &xs, &mut outs)
        };
        // Kinds at the ends of the range of doubles are beyond that of single precision.
        if T::EPS > 1e-10 {
            for x in &mut xs {
                x.clear();
                x.extend((0..n * n).map(|e| f64::from(u8::from(e % n == e / n)) * 9.0));
            }
        }
        run(&xs, &mut outs).unwrap();
        for i in (0..count).filter(|_| n < 1000) {
            let x = Host::<T>::from_fn(n, n, |r, c| xs[i][c * n + r]);
            let r = Host::<T>::from_fn(n, n, |r, c| outs[i][c * n + r]);
            check(&x, &r);
        }
        if let Some(last) = xs.last_mut() {
            last[n * n - 1] = f64::NAN;
            let expected = Error::NotPositiveDefiniteIn {
                index: count,
                order: n,
            };
            assert_eq!(run(&xs, &mut outs), Err(expected), "{n} {count}");
        }
    }
}
