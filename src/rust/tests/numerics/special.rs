//! Products of numbers at the end of the range and of what is no number.

use super::common::calls::{cross, multiply};
use super::common::matrices::{self, Random};
use super::common::residual::product;
use super::common::{for_each_device, Host};
use super::exact::{columns, transposed};
use super::pairs::{shapes, shifted};
use cudafactor::base::matrix::Trans;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(subnormal_numbers_count, what_is_no_number_propagates);

/// Integers times the smallest number there is: exact, unless subnormal numbers are taken for zero.
fn subnormal_numbers_count<T: Scalar, D: Device<T>>(device: &D) {
    let smallest = if T::EPS > 1e-10 { -149 } else { -1074 };
    for (m, k, n) in shapes() {
        let (a, b) = (
            matrices::integers::<f64>(m, k, 9),
            matrices::integers::<f64>(k, n, 10),
        );
        let want = product(a.wide().as_ref(), b.wide().as_ref());
        let tiny = Host::<T>::from_fn(m, k, |i, j| shifted(a.at(i, j), smallest));
        let whole = Host::<T>::from_fn(k, n, |i, j| b.at(i, j));
        let c = multiply(device, (Trans::No, &tiny), (Trans::No, &whole));
        for j in 0..n {
            for i in 0..m {
                let (got, want) = (c.at(i, j), shifted(want[(i, j)], smallest));
                assert!(got == want, "{m} {k} {n} ({i}, {j}): {got:e}, not {want:e}");
            }
        }
    }
}

/// What the sum of these products is where some of them are infinite or NaN; the sum of the others
/// where none is.
fn special(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        sum += a * b;
    }
    sum
}

fn what_is_no_number_propagates<T: Scalar, D: Device<T>>(device: &D) {
    for (m, k, n) in shapes() {
        for seed in 0..4 {
            // About one in a row and one in a column, so that all kinds of sums occur; zeros for
            // infinities to meet.
            let odd = |rows: usize, cols: usize, seed: u64| {
                let mut random = Random::new(seed);
                let values: Vec<f64> = (0..rows * cols)
                    .map(|_| {
                        let x = random.next();
                        let value = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
                        match (random.next() + 1.0) * k as f64 {
                            at if at < 2.0 => value[(2.0 * at) as usize % 4],
                            at if at < 0.3 * k as f64 => 0.0,
                            _ => x,
                        }
                    })
                    .collect();
                Host::<T>::from_fn(rows, cols, |i, j| values[j * rows + i])
            };
            let (a, b) = (odd(m, k, 20 + seed), odd(k, n, 30 + seed));
            let c = multiply(device, (Trans::No, &a), (Trans::No, &b));
            let (rows, cols) = (columns(&transposed(&a)), columns(&b));
            for (j, y) in cols.iter().enumerate() {
                for (i, x) in rows.iter().enumerate() {
                    let (got, want) = (c.at(i, j), special(x, y));
                    let same = if want.is_nan() {
                        got.is_nan()
                    } else if want.is_infinite() {
                        got == want
                    } else {
                        let size: f64 = x.iter().zip(y).map(|(x, y)| (x * y).abs()).sum();
                        (got - want).abs() <= (k + 2) as f64 * T::EPS * size
                    };
                    assert!(same, "{m} {k} {n} ({i}, {j}): {got}, not {want}");
                }
            }
            // The same of a cross product, in both triangles.
            let c = cross(device, Trans::No, &a);
            for j in 0..m {
                for i in 0..m {
                    let (got, want) = (c.at(i, j), special(&rows[i], &rows[j]));
                    let same = if want.is_finite() {
                        got.is_finite()
                    } else {
                        got == want || got.is_nan() && want.is_nan()
                    };
                    assert!(same, "cross {m} {k} ({i}, {j}): {got}, not {want}");
                }
            }
        }
    }
}
