//! Arithmetic by entries, reductions, transposes, diagonals and parts, against the same in double precision.

mod common;

use common::{for_each_device, matrices, same, written, Host, SIZES};
use cudafactor::elementwise::{Elementwise, Fold, Index, Lines, Map, Operand, Zip};
use cudafactor::error::Error;
use cudafactor::scalar::Scalar;

for_each_device!(
    exact_functions,
    other_functions,
    functions_at_odd_places,
    arithmetic,
    arithmetic_at_odd_places,
    recycled_operands,
    folds,
    folds_of_odd_numbers,
    folds_are_repeatable,
    sums_are_accurate,
    transposes,
    diagonals_are_set,
    parts_are_gathered,
    parts_are_scattered,
    wrong_shapes_are_refused,
);

/// Edges of warps and blocks, empty, long and wide.
fn shapes() -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = SIZES.iter().map(|&n| (n, n)).collect();
    all.extend([
        (0, 3),
        (3, 0),
        (1, 700),
        (700, 1),
        (511, 3),
        (513, 2),
        (33, 257),
        (20_000, 2),
        (2, 20_000),
    ]);
    all
}

type Function = fn(f64) -> f64;

fn rounded<T: Scalar>(x: f64) -> f64 {
    T::from_f64(x).into()
}

fn mapped<T: Scalar, D: Elementwise<T>>(device: &D, f: Map, a: &Host<T>) -> (Host<T>, bool) {
    let there = device.load(a.view()).unwrap();
    let mut made = false;
    let out = written::<T, D>(device, a.rows, a.cols, 2, |out| {
        made = device.map(f, &there, out)?;
        Ok(())
    });
    (out.unwrap(), made)
}

fn exact_functions<T: Scalar, D: Elementwise<T>>(device: &D) {
    let exact: [(Map, Function); 9] = [
        (Map::Copy, |x| x),
        (Map::Negate, |x| -x),
        (Map::Abs, f64::abs),
        (Map::Sign, |x| if x == 0.0 { 0.0 } else { x.signum() }),
        (Map::Sqrt, |x| x.abs().sqrt()),
        (Map::Ceiling, f64::ceil),
        (Map::Floor, f64::floor),
        (Map::Trunc, f64::trunc),
        (Map::Round, f64::round_ties_even),
    ];
    for (m, n) in shapes() {
        let a = Host::<T>::spread(m, n, 1, |i, j| ((i * 7 + j * 5) % 41) as f64 / 4.0 - 5.0);
        for (f, reference) in exact {
            let a = match f {
                Map::Sqrt => Host::from_fn(m, n, |i, j| a.at(i, j).abs()),
                _ => a.clone(),
            };
            let (got, made) = mapped(device, f, &a);
            let want = Host::<T>::from_fn(m, n, |i, j| reference(a.at(i, j)));
            assert!(same(&got, &want) && !made, "{f:?} {m} {n}");
        }
    }
}

/// Within a few units in the last place of the C library's functions, which are themselves within one.
fn other_functions<T: Scalar, D: Elementwise<T>>(device: &D) {
    use std::f64::consts::PI;
    // Each on numbers from..to.
    let all: [(Map, f64, f64, Function); 21] = [
        (Map::Exp, -700.0, 80.0, f64::exp),
        (Map::Expm1, -3.0, 3.0, f64::exp_m1),
        (Map::Log, 1e-3, 1e3, f64::ln),
        (Map::Log1p, -0.9, 5.0, f64::ln_1p),
        (Map::Log10, 1e-3, 1e3, f64::log10),
        (Map::Log2, 1e-3, 1e3, f64::log2),
        (Map::Cos, -100.0, 100.0, f64::cos),
        (Map::Sin, -100.0, 100.0, f64::sin),
        (Map::Tan, -1.5, 1.5, f64::tan),
        (Map::Cospi, -0.4, 0.4, |x| (PI * x).cos()),
        (Map::Sinpi, -0.4, 0.4, |x| (PI * x).sin()),
        (Map::Tanpi, -0.4, 0.4, |x| (PI * x).tan()),
        (Map::Acos, -1.0, 1.0, f64::acos),
        (Map::Asin, -1.0, 1.0, f64::asin),
        (Map::Atan, -50.0, 50.0, f64::atan),
        (Map::Cosh, -50.0, 50.0, f64::cosh),
        (Map::Sinh, -50.0, 50.0, f64::sinh),
        (Map::Tanh, -5.0, 5.0, f64::tanh),
        (Map::Acosh, 2.0, 50.0, f64::acosh),
        (Map::Asinh, 0.1, 50.0, f64::asinh),
        (Map::Atanh, -0.99, 0.99, |x| {
            0.5 * (x.ln_1p() - (-x).ln_1p())
        }),
    ];
    for (f, from, to, reference) in all {
        for (m, n) in [(1, 1), (257, 3), (40, 40)] {
            let a = matrices::random::<T>(m, n, 41);
            let a = Host::<T>::from_fn(m, n, |i, j| {
                from + (to - from) * (a.at(i, j).abs() * 7.0).fract()
            });
            let (got, made) = mapped(device, f, &a);
            assert!(!made, "{f:?}");
            for j in 0..n {
                for i in 0..m {
                    let (x, got) = (a.at(i, j), got.at(i, j));
                    let want = reference(x);
                    let limit =
                        6.0 * f64::EPSILON * want.abs().max(0.1) + T::EPS * want.abs() + 1e-37;
                    assert!(
                        (got - want).abs() <= limit,
                        "{f:?}({x}) = {got}, not {want}"
                    );
                }
            }
        }
    }
}

fn functions_at_odd_places<T: Scalar, D: Elementwise<T>>(device: &D) {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    // What a function gives for 0, -1, infinity and minus infinity.
    for (f, want) in [
        (Map::Copy, [0.0, -1.0, INF, -INF]),
        (Map::Sign, [0.0, -1.0, 1.0, -1.0]),
        (Map::Sqrt, [0.0, NAN, INF, NAN]),
        (Map::Floor, [0.0, -1.0, INF, -INF]),
        (Map::Log, [-INF, NAN, INF, NAN]),
        (Map::Log1p, [0.0, -INF, INF, NAN]),
        (Map::Log2, [-INF, NAN, INF, NAN]),
        (Map::Cospi, [1.0, -1.0, NAN, NAN]),
        (Map::Sinpi, [0.0, 0.0, NAN, NAN]),
        (Map::Tanpi, [0.0, 0.0, NAN, NAN]),
        (Map::Tanh, [0.0, rounded::<T>((-1f64).tanh()), 1.0, -1.0]),
        (Map::Acosh, [NAN, NAN, INF, NAN]),
        (Map::Asinh, [0.0, rounded::<T>((-1f64).asinh()), INF, -INF]),
        (Map::Atanh, [0.0, -INF, NAN, NAN]),
    ] {
        let x = [0.0, -1.0, INF, -INF];
        let (got, made) = mapped(device, f, &Host::<T>::from_fn(4, 1, |i, _| x[i]));
        for (i, want) in want.into_iter().enumerate() {
            let got = got.at(i, 0);
            let fits = (got - want).abs() <= T::EPS || got == want;
            assert!(
                fits || got.is_nan() && want.is_nan(),
                "{f:?}({}) = {got}",
                x[i]
            );
        }
        assert_eq!(made, want.iter().any(|v| v.is_nan()), "{f:?}");
    }
    for (_, f) in Map::NAMES {
        let (got, made) = mapped(device, f, &Host::<T>::from_fn(3, 2, |_, _| NAN));
        assert!(got.all(f64::is_nan) && !made, "{f:?}: NaN");
    }
    let halves = Host::<T>::from_fn(4, 1, |i, _| [0.5, 1.5, -0.5, 0.25][i]);
    for (f, want) in [
        (Map::Cospi, [0.0, 0.0, 0.0, rounded::<T>(0.5f64.sqrt())]),
        (Map::Sinpi, [1.0, -1.0, -1.0, rounded::<T>(0.5f64.sqrt())]),
        (Map::Tanpi, [NAN, NAN, NAN, 1.0]),
        (Map::Round, [0.0, 2.0, 0.0, 0.0]),
    ] {
        let (got, _) = mapped(device, f, &halves);
        for (i, want) in want.into_iter().enumerate() {
            let got = got.at(i, 0);
            let fits = (got - want).abs() <= T::EPS;
            assert!(
                fits || got.is_nan() && want.is_nan(),
                "{f:?} of halves: {got}"
            );
        }
    }
}

fn zipped<T: Scalar, D: Elementwise<T>>(
    device: &D,
    f: Zip,
    a: Operand<'_, D::Mat<'_>>,
    b: Operand<'_, D::Mat<'_>>,
    (m, n): (usize, usize),
) -> Host<T> {
    written::<T, D>(device, m, n, 3, |out| device.zip(f, a, b, out)).unwrap()
}

/// In double precision, by the definitions.
fn reference(f: Zip, x: f64, y: f64) -> f64 {
    let modulo = || {
        let r = x % y;
        if r != 0.0 && (r < 0.0) != (y < 0.0) {
            r + y
        } else {
            r
        }
    };
    match f {
        Zip::Add => x + y,
        Zip::Subtract => x - y,
        Zip::Multiply => x * y,
        Zip::Divide => x / y,
        Zip::Power => x.powf(y),
        Zip::Modulo => modulo(),
        Zip::Quotient => ((x - modulo()) / y).round(),
    }
}

fn close<T: Scalar>(f: Zip, got: f64, want: f64) -> bool {
    if got == want || got.is_nan() && want.is_nan() {
        return true;
    }
    // The two libraries' powers differ by a few units before they are rounded.
    f == Zip::Power && (got - want).abs() <= (4.0 * f64::EPSILON + T::EPS) * want.abs()
}

fn arithmetic<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in shapes() {
        let a = matrices::random::<T>(m, n, 42).with_gap(1);
        let b = matrices::random::<T>(m, n, 43);
        let (x, y) = (
            device.load(a.view()).unwrap(),
            device.load(b.view()).unwrap(),
        );
        for (_, f) in Zip::NAMES {
            // A negative number has no power, but whole ones.
            let third = if f == Zip::Power { 3.0 } else { 1.0 / 3.0 };
            let of_matrices = zipped(device, f, Operand::Matrix(&x), Operand::Matrix(&y), (m, n));
            let of_left = zipped(
                device,
                f,
                Operand::Number(third),
                Operand::Matrix(&y),
                (m, n),
            );
            let of_right = zipped(
                device,
                f,
                Operand::Matrix(&x),
                Operand::Number(third),
                (m, n),
            );
            let t = rounded::<T>(third);
            for j in 0..n {
                for i in 0..m {
                    let (x, y) = (a.at(i, j), b.at(i, j));
                    for (got, x, y) in [
                        (of_matrices.at(i, j), x, y),
                        (of_left.at(i, j), t, y),
                        (of_right.at(i, j), x, t),
                    ] {
                        let want = rounded::<T>(reference(f, x, y));
                        assert!(close::<T>(f, got, want), "{f:?} {x} {y}: {got}, not {want}");
                    }
                }
            }
        }
    }
}

fn arithmetic_at_odd_places<T: Scalar, D: Elementwise<T>>(device: &D) {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let cases = [
        (Zip::Power, 1.0, NAN, 1.0),
        (Zip::Power, NAN, 0.0, 1.0),
        (Zip::Power, NAN, 2.0, NAN),
        (Zip::Power, 2.0, NAN, NAN),
        (Zip::Power, -INF, 3.0, -INF),
        (Zip::Power, -INF, -3.0, 0.0),
        (Zip::Power, -INF, 0.5, NAN),
        (Zip::Power, -2.0, INF, NAN),
        (Zip::Power, -2.0, 0.5, NAN),
        (Zip::Power, -0.0, -1.0, INF),
        (Zip::Power, 0.5, -INF, INF),
        (Zip::Modulo, -5.0, 3.0, 1.0),
        (Zip::Modulo, 5.0, -3.0, -1.0),
        (Zip::Modulo, 5.5, 0.0, NAN),
        (Zip::Modulo, -5.0, INF, INF),
        (Zip::Modulo, INF, 3.0, NAN),
        (Zip::Modulo, NAN, 3.0, NAN),
        (Zip::Quotient, -5.0, 3.0, -2.0),
        (Zip::Quotient, 5.5, 0.0, INF),
        (Zip::Quotient, 0.0, 0.0, NAN),
        (Zip::Quotient, -5.0, INF, -1.0),
        (Zip::Quotient, 3.0, NAN, NAN),
        (Zip::Add, INF, -INF, NAN),
        (Zip::Add, NAN, 1.0, NAN),
        (Zip::Multiply, 0.0, INF, NAN),
        (Zip::Divide, -1.0, 0.0, -INF),
        (Zip::Divide, 0.0, 0.0, NAN),
    ];
    for (f, x, y, want) in cases {
        let a = Host::<T>::from_fn(2, 1, |_, _| x);
        let there = device.load(a.view()).unwrap();
        let got = zipped(
            device,
            f,
            Operand::Matrix(&there),
            Operand::Number(y),
            (2, 1),
        )
        .at(1, 0);
        assert!(
            got == want || got.is_nan() && want.is_nan(),
            "{x} {f:?} {y}: {got}"
        );
    }
}

fn recycled_operands<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 65), (1000, 7), (1, 2000)] {
        let a = matrices::random::<T>(m, n, 44);
        let x = device.load(a.view()).unwrap();
        for (rows, cols) in [
            (1, 1),
            (m, 1),
            (1, n),
            (3, 1),
            (7, 1),
            (2, 5),
            (m, n),
            (m + 1, 1),
        ] {
            let v = matrices::random::<T>(rows, cols, 45).with_gap(1);
            let there = device.load(v.view()).unwrap();
            let right = zipped(
                device,
                Zip::Subtract,
                Operand::Matrix(&x),
                Operand::Recycled(&there),
                (m, n),
            );
            let left = zipped(
                device,
                Zip::Subtract,
                Operand::Recycled(&there),
                Operand::Matrix(&x),
                (m, n),
            );
            for j in 0..n {
                for i in 0..m {
                    let e = (i + j * m) % (rows * cols);
                    let want = rounded::<T>(a.at(i, j) - v.at(e % rows, e / rows));
                    assert_eq!(
                        (right.at(i, j), left.at(i, j)),
                        (want, -want),
                        "{m} {n} {rows} {cols}"
                    );
                }
            }
        }
    }
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
    for (m, n) in shapes() {
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
            let a = cudafactor::device::Device::<T>::load(&cpu, a.view()).unwrap();
            cpu.fold(Fold::Sum, along, false, &a).unwrap()
        };
        assert_eq!(on(1), on(2), "{along:?}");
    }
}

/// A running sum of a million tenths in double precision is wrong by 1e-11 of it, in single precision by 1e-3.
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

fn transposes<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in shapes() {
        let a = matrices::random::<T>(m, n, 50).with_gap(1);
        let there = device.load(a.view()).unwrap();
        let got = written::<T, D>(device, n, m, 2, |out| device.transpose(&there, out)).unwrap();
        assert!(
            same(&got, &Host::from_fn(n, m, |i, j| a.at(j, i))),
            "{m} {n}"
        );
    }
}

fn diagonals_are_set<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in shapes().into_iter().filter(|(m, n)| m * n < 100_000) {
        let a = matrices::random::<T>(m, n, 51);
        let k = m.min(n);
        let many: Vec<T> = (0..k).map(|i| T::from_f64(i as f64 + 0.5)).collect();
        for values in [many, vec![T::from_f64(-3.0)]] {
            let (got, ()) = common::changed(device, &a, cudafactor::matrix::Part::All, |x| {
                device.set_diagonal(&values, x)
            })
            .unwrap();
            let at = |i: usize| -> f64 { values[if values.len() == 1 { 0 } else { i }].into() };
            let want = Host::<T>::from_fn(m, n, |i, j| if i == j { at(i) } else { a.at(i, j) });
            assert!(same(&got, &want), "{m} {n}");
        }
    }
}

/// `count` places below `extent`, all different if there are enough, and none for every seventh.
fn places(count: usize, extent: usize) -> Vec<i32> {
    (0..count)
        .map(|k| {
            if k % 7 == 6 || k >= extent {
                -1
            } else {
                (k * 7919 % extent.max(1)) as i32
            }
        })
        .collect()
}

fn distinct(mut list: Vec<i32>) -> Vec<i32> {
    for k in 0..list.len() {
        if list[..k].contains(&list[k]) {
            list[k] = -1;
        }
    }
    list
}

fn parts_are_gathered<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 65), (600, 40)] {
        let a = matrices::random::<T>(m, n, 52).with_gap(1);
        let there = device.load(a.view()).unwrap();
        for (rows, cols) in [(0, 2), (1, 1), (m, n), (m, 2 * n), (m + 3, 1), (2 * m, n)] {
            let (listed_rows, listed_cols) = (places(rows, m), places(cols, n));
            for (ri, ci) in [
                (Index::List(&listed_rows), Index::List(&listed_cols)),
                (
                    Index::From(m.saturating_sub(rows)),
                    Index::List(&listed_cols),
                ),
                (
                    Index::List(&listed_rows),
                    Index::From(n.saturating_sub(cols)),
                ),
                (Index::From(0), Index::From(0)),
            ] {
                let fits = ri.check(rows, m).is_ok() && ci.check(cols, n).is_ok();
                let got = written::<T, D>(device, rows, cols, 1, |out| {
                    device.gather(ri, ci, T::from_f64(-9.0), &there, out)
                });
                assert_eq!(got.is_ok(), fits, "{m} {n} {rows} {cols}");
                if let Ok(got) = got {
                    let want = Host::<T>::from_fn(rows, cols, |i, j| match (ri.at(i), ci.at(j)) {
                        (Some(i), Some(j)) => a.at(i, j),
                        _ => -9.0,
                    });
                    assert!(same(&got, &want), "{m} {n} {rows} {cols}");
                }
            }
        }
    }
}

fn parts_are_scattered<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 65), (600, 40)] {
        let a = matrices::random::<T>(m, n, 53);
        for (rows, cols) in [(0, 1), (1, 1), (m, n), (m, 1), (m / 2, n / 2 + 1)] {
            let b = matrices::random::<T>(rows, cols, 54).with_gap(2);
            let v = matrices::random::<T>(3, 1, 55);
            let (there, three) = (
                device.load(b.view()).unwrap(),
                device.load(v.view()).unwrap(),
            );
            let (listed_rows, listed_cols) = (distinct(places(rows, m)), distinct(places(cols, n)));
            for (ri, ci) in [
                (Index::List(&listed_rows), Index::List(&listed_cols)),
                (Index::From(m - rows), Index::List(&listed_cols)),
                (Index::From(m - rows), Index::From(n - cols)),
            ] {
                for which in 0..3 {
                    let from = match which {
                        0 => Operand::Matrix(&there),
                        1 => Operand::Number(0.25),
                        _ => Operand::Recycled(&three),
                    };
                    let mut want = a.clone();
                    for j in 0..cols {
                        for i in 0..rows {
                            let value = [b.at(i, j), 0.25, v.at((i + j * rows) % 3, 0)][which];
                            if let (Some(i), Some(j)) = (ri.at(i), ci.at(j)) {
                                want.set(i, j, value);
                            }
                        }
                    }
                    let (got, ()) =
                        common::changed(device, &a, cudafactor::matrix::Part::All, |x| {
                            device.scatter(ri, ci, (rows, cols), from, x)
                        })
                        .unwrap();
                    assert!(same(&got, &want), "{m} {n} {rows} {cols} {which}");
                }
            }
        }
    }
}

fn wrong_shapes_are_refused<T: Scalar, D: Elementwise<T>>(device: &D) {
    let a = matrices::random::<T>(4, 3, 56);
    let there = device.load(a.view()).unwrap();
    let nothing = Host::<T>::from_fn(0, 1, |_, _| 0.0);
    let nothing = device.load(nothing.view()).unwrap();
    let mut out = device.blank(3, 3).unwrap();
    let one = Operand::Number(1.0);
    let refused = [
        device.map(Map::Exp, &there, &mut out).map(|_| ()),
        device.zip(Zip::Add, Operand::Matrix(&there), one, &mut out),
        device.zip(Zip::Add, one, Operand::Recycled(&nothing), &mut out),
        device.transpose(&there, &mut out),
        device.set_diagonal(&[T::from_f64(1.0); 2], &mut out),
        device.gather(
            Index::From(2),
            Index::From(0),
            T::from_f64(0.0),
            &there,
            &mut out,
        ),
        device.scatter(Index::From(0), Index::List(&[3]), (3, 1), one, &mut out),
        device.scatter(
            Index::From(0),
            Index::From(0),
            (3, 3),
            Operand::Matrix(&there),
            &mut out,
        ),
    ];
    for (i, outcome) in refused.into_iter().enumerate() {
        assert!(
            matches!(outcome, Err(Error::Dimension { .. })),
            "{i}: {outcome:?}"
        );
    }
}
