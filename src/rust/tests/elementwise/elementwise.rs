//! Arithmetic by entries, against the same in double precision.

use crate::common::{edge_shapes, for_each_device, matrices, same, written, Host};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::{Elementwise, Operand};
use cudafactor::device::functions::{Map, Zip};

for_each_device!(
    exact_functions,
    other_functions,
    functions_at_odd_places,
    arithmetic,
    arithmetic_at_odd_places,
    recycled_operands,
);

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
    for (m, n) in edge_shapes() {
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

/// Within a few units in the last place of the C library's functions, which are themselves within
/// one.
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
    for (m, n) in edge_shapes() {
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
