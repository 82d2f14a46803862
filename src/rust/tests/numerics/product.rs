//! gemm and syrk where the entries of a matrix are of very different size.

use super::common::calls::{cross, multiply, BOTH};
use super::common::{changed, for_each_device, Host};
use super::exact::{columns, transposed, Sum};
use super::pairs::{grain, pairs, rounded, shapes, shifted, spread};
use super::{allowed, exact};
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    entries_are_as_good_as_their_products,
    updates_are_as_good,
    cross_products_are_as_good,
);

/// Judges `alpha AB + C`.
struct Check<'a, T> {
    rows: Vec<Vec<T>>,
    columns: Vec<Vec<T>>,
    alpha: f64,
    add: &'a dyn Fn(usize, usize) -> f64,
    /// What an underflow may take from each term.
    grain: f64,
}

impl<T: Scalar> Check<'_, T> {
    /// The worst entry's error beside `(k + 2) eps (|A||B| + |C|)`, which no order of summation
    /// exceeds half of, and the limit: see [`allowed`].
    fn verdict(&self, got: impl Fn(usize, usize) -> f64) -> (f64, f64) {
        exact::tidy_registers();
        let (mut found, mut textbook, mut terms) = (0.0, 0.0, 1);
        for (j, y) in self.columns.iter().enumerate() {
            for (i, x) in self.rows.iter().enumerate() {
                terms = x.len() + 2;
                let c = (self.add)(i, j);
                let (mut sum, mut size, mut plain) = (Sum::from(c), c.abs(), T::from_f64(0.0));
                for (x, y) in x.iter().zip(y) {
                    plain += *x * *y;
                    let (x, y): (f64, f64) = ((*x).into(), (*y).into());
                    sum.add_product(self.alpha * x, y);
                    size += (x * y).abs();
                }
                let plain = T::from_f64(c) + T::from_f64(self.alpha) * plain;
                let unit = terms as f64 * (T::EPS * size + self.grain);
                for (value, worst) in [(got(i, j), &mut found), (plain.into(), &mut textbook)] {
                    let mut error = sum;
                    error.add(-value);
                    let error = error.value().abs();
                    *worst = exact::worst(if error == 0.0 { 0.0 } else { error / unit }, *worst);
                }
            }
        }
        // Each term that underflows is wrong by up to half a grain, which the textbook's sum here
        // does not know.
        let limit = if self.grain > T::EPS {
            0.5
        } else {
            allowed(textbook, terms)
        };
        (found, limit)
    }
}

fn lines<T: Scalar>(x: &Host<f64>) -> Vec<Vec<T>> {
    let entry = |i, j| T::from_f64(x.at(i, j));
    (0..x.cols)
        .map(|j| (0..x.rows).map(|i| entry(i, j)).collect())
        .collect()
}

fn entries_are_as_good_as_their_products<T: Scalar, D: Device<T>>(device: &D) {
    for (at, (m, k, n)) in shapes().into_iter().enumerate() {
        for (index, pair) in pairs::<T>(m, k, n).iter().enumerate() {
            let [(a, wide_a), (b, wide_b)] = rounded::<T>(pair);
            let (ta, tb) = (BOTH[(at + index) % 2], BOTH[(at + index) / 2 % 2]);
            let turn = |t: Trans, x: &Host<T>| if t.is_yes() { transposed(x) } else { x.clone() };
            let c = multiply(device, (ta, &turn(ta, &a)), (tb, &turn(tb, &b)));
            let check = Check {
                rows: lines::<T>(&transposed(&wide_a)),
                columns: lines(&wide_b),
                alpha: 1.0,
                add: &|_, _| 0.0,
                grain: grain::<T>(pair),
            };
            let back = -pair.powers.0 - pair.powers.1;
            let (found, limit) = check.verdict(|i, j| shifted(c.at(i, j), back));
            assert!(
                found <= limit,
                "{} {m} {k} {n} {ta:?} {tb:?}: {found}, allowed {limit}",
                pair.name
            );
        }
    }
}

fn updates_are_as_good<T: Scalar, D: Device<T>>(device: &D) {
    for (m, k, n) in shapes() {
        for pair in pairs::<T>(m, k, n) {
            if pair.powers != (0, 0) {
                continue;
            }
            let [(a, wide_a), (b, wide_b)] = rounded::<T>(&pair);
            let c = spread(m, n, 2.0, 8);
            let c = Host::<T>::from_fn(m, n, |i, j| c.at(i, j));
            let (alpha, beta) = (T::from_f64(-1.0), T::from_f64(1.0));
            let (got, ()) = changed(device, &c, Part::All, |x| {
                let (a, b) = (device.load(a.view())?, device.load(b.view())?);
                device.gemm(alpha, Trans::No, &a, Trans::No, &b, beta, x)
            })
            .unwrap();
            let check = Check {
                rows: lines::<T>(&transposed(&wide_a)),
                columns: lines(&wide_b),
                alpha: -1.0,
                add: &|i, j| c.at(i, j),
                grain: 0.0,
            };
            let (found, limit) = check.verdict(|i, j| got.at(i, j));
            assert!(
                found <= limit,
                "{} {m} {k} {n}: {found}, allowed {limit}",
                pair.name
            );
        }
    }
}

fn cross_products_are_as_good<T: Scalar, D: Device<T>>(device: &D) {
    for (m, k, _) in shapes() {
        for pair in pairs::<T>(m, k, 1) {
            let [(a, wide), _] = rounded::<T>(&pair);
            let rows = lines::<T>(&transposed(&wide));
            let power = pair.powers.0;
            let check = Check {
                rows: rows.clone(),
                columns: rows,
                alpha: 1.0,
                add: &|_, _| 0.0,
                grain: grain::<T>(&pair),
            };
            for trans in BOTH {
                let x = if trans.is_yes() {
                    transposed(&a)
                } else {
                    a.clone()
                };
                let c = cross(device, trans, &x);
                let (found, limit) = check.verdict(|i, j| shifted(c.at(i, j), -2 * power));
                assert!(
                    found <= limit,
                    "{} {m} {k} {trans:?}: {found}, allowed {limit}",
                    pair.name
                );
                let symmetric = (0..m).all(|j| (0..j).all(|i| c.at(i, j) == c.at(j, i)));
                assert!(symmetric, "{} {m} {k} {trans:?}", pair.name);
            }
        }
    }
}

/// That the judgement is worth something: A in fixed point, with as many digits as the precision
/// has below the largest entry of a row, and no other error at all.
#[test]
fn fixed_point_is_found_out() {
    rows_in_fixed_point::<f64>();
    rows_in_fixed_point::<f32>();
}

fn rows_in_fixed_point<T: Scalar>() {
    let (m, k, n) = (20, 65, 30);
    for pair in pairs::<T>(m, k, n) {
        let [(_, a), (_, b)] = rounded::<T>(&pair);
        let fixed: Vec<Vec<f64>> = columns(&transposed(&a))
            .into_iter()
            .map(|row| {
                let unit = row.iter().fold(0.0, |m: f64, x| m.max(x.abs())) * T::EPS / 2.0;
                row.iter().map(|x| (x / unit).round() * unit).collect()
            })
            .collect();
        let columns = columns(&b);
        let check = Check {
            rows: lines::<T>(&transposed(&a)),
            columns: lines(&b),
            alpha: 1.0,
            add: &|_, _| 0.0,
            grain: 0.0,
        };
        let (found, limit) = check.verdict(|i, j| {
            let mut sum = Sum::from(0.0);
            for (x, y) in fixed[i].iter().zip(&columns[j]) {
                sum.add_product(*x, *y);
            }
            sum.value()
        });
        let hard = ["balanced", "spread 8"].contains(&pair.name.as_str());
        assert!(
            !hard || found > limit,
            "{}: {found}, allowed {limit}",
            pair.name
        );
    }
}
