//! Reductions, against compensated sums.

use crate::common::{edge_shapes, for_each_device, matrices, Host};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::functions::{Fold, Lines};

for_each_device!(
    folds,
    folds_of_odd_numbers,
    folds_are_repeatable,
    sums_are_accurate,
);

fn rounded<T: Scalar>(x: f64) -> f64 {
    T::from_f64(x).into()
}

const LINES: [Lines; 3] = [Lines::All, Lines::Rows, Lines::Columns];

/// The numbers of each line.
fn lines<T: Scalar>(lines: Lines, a: &Host<T>) -> Vec<Vec<f64>> {
    let column = |j: usize| (0..a.rows).map(move |i| a.at(i, j));
    match lines {
        Lines::All => vec![(0..a.cols).flat_map(column).collect()],
        Lines::Rows => (0..a.rows)
            .map(|i| (0..a.cols).map(|j| a.at(i, j)).collect())
            .collect(),
        Lines::Columns => (0..a.cols).map(|j| column(j).collect()).collect(),
    }
}

/// By compensated sums; NaN as the contract has it.
fn fold_of(f: Fold, skip: bool, x: &[f64]) -> f64 {
    let kept: Vec<f64> = x
        .iter()
        .copied()
        .filter(|v| !(skip && v.is_nan()))
        .collect();
    let nan = kept.iter().any(|v| v.is_nan());
    let sum = |x: &mut dyn Iterator<Item = f64>| {
        let (mut s, mut c) = (0.0f64, 0.0f64);
        for v in x {
            let t = s + v;
            c += if s.abs() >= v.abs() {
                (s - t) + v
            } else {
                (v - t) + s
            };
            s = t;
        }
        if s.is_finite() {
            s + c
        } else {
            s
        }
    };
    match f {
        Fold::Count => kept.iter().filter(|v| !v.is_nan()).count() as f64,
        _ if nan => f64::NAN,
        Fold::Sum => sum(&mut kept.into_iter()),
        Fold::Squares => sum(&mut kept.into_iter().map(|v| v * v)),
        Fold::Magnitudes => sum(&mut kept.into_iter().map(f64::abs)),
        Fold::Min => kept.into_iter().fold(f64::INFINITY, f64::min),
        Fold::Max => kept.into_iter().fold(f64::NEG_INFINITY, f64::max),
        Fold::Largest => kept.into_iter().fold(0.0, |m, v| m.max(v.abs())),
    }
}

fn assert_folds<T: Scalar, D: Elementwise<T>>(device: &D, a: &Host<T>) {
    let there = device.load(a.view()).unwrap();
    for (_, f) in Fold::NAMES {
        for along in LINES {
            for skip in [false, true] {
                let got = device.fold(f, along, skip, &there).unwrap();
                let all = lines(along, a);
                assert_eq!(got.len(), all.len(), "{f:?} {along:?}");
                for (got, line) in got.into_iter().zip(all) {
                    let want = fold_of(f, skip, &line);
                    // Sums in pairs: an error grows with the logarithm of their length.
                    let room = match f {
                        Fold::Sum => line
                            .iter()
                            .filter(|v| v.is_finite())
                            .map(|v| v.abs())
                            .sum::<f64>(),
                        Fold::Magnitudes | Fold::Squares => want,
                        _ => 0.0,
                    };
                    let fits = got == want || (got - want).abs() <= 64.0 * f64::EPSILON * room;
                    assert!(
                        fits || got.is_nan() && want.is_nan(),
                        "{f:?} {along:?} {skip} of {} x {}: {got}, not {want}",
                        a.rows,
                        a.cols
                    );
                }
            }
        }
    }
}

fn folds<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in edge_shapes() {
        assert_folds(device, &matrices::random::<T>(m, n, 46).with_gap(1));
    }
    // Long enough to be cut on a GPU, with ends that do not fill a slice.
    for (m, n) in [(70_001, 3), (3, 70_001), (1500, 1500)] {
        assert_folds(device, &matrices::random::<T>(m, n, 47));
    }
}

fn folds_of_odd_numbers<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in [(1, 1), (33, 40), (700, 9), (9, 700)] {
        let mut a = matrices::random::<T>(m, n, 48);
        a.set(m - 1, n - 1, f64::NAN);
        assert_folds(device, &a);
        a.set(m / 2, n / 2, f64::INFINITY);
        assert_folds(device, &a);
        a.set(0, n - 1, f64::NEG_INFINITY);
        assert_folds(device, &a);
        assert_folds(device, &Host::<T>::from_fn(m, n, |_, _| f64::NAN));
    }
}

/// Bit for bit, with any number of threads.
fn folds_are_repeatable<T: Scalar, D: Elementwise<T>>(device: &D) {
    use cudafactor::backend::cpu::CpuDevice;
    let a = matrices::random::<T>(3001, 1000, 49);
    let there = device.load(a.view()).unwrap();
    for along in LINES {
        let first = device.fold(Fold::Sum, along, false, &there).unwrap();
        for _ in 0..3 {
            assert_eq!(
                device.fold(Fold::Sum, along, false, &there).unwrap(),
                first,
                "{along:?}"
            );
        }
        let on = |threads| {
            let cpu = CpuDevice::new(threads);
            let a = cudafactor::device::memory::Memory::<T>::load(&cpu, a.view()).unwrap();
            cpu.fold(Fold::Sum, along, false, &a).unwrap()
        };
        assert_eq!(on(1), on(2), "{along:?}");
    }
}

/// A running sum of a million tenths in double precision is wrong by 1e-11 of it, in single
/// precision by 1e-3.
fn sums_are_accurate<T: Scalar, D: Elementwise<T>>(device: &D) {
    let tenth = rounded::<T>(0.1);
    for (m, n) in [(1_000_000, 1), (1, 1_000_000), (1000, 1000)] {
        let a = Host::<T>::from_fn(m, n, |_, _| 0.1);
        let there = device.load(a.view()).unwrap();
        for along in LINES {
            let got = device.fold(Fold::Sum, along, false, &there).unwrap();
            let want = tenth * (1e6 / got.len() as f64);
            for got in got {
                assert!(
                    (got - want).abs() <= 2e-14 * want,
                    "{along:?} {m} {n}: {got}"
                );
            }
        }
    }
}
