//! Values of symmetric matrices by reduction, against exact ones.

use faer::MatRef;

use super::{tridiagonal, tridiagonal_values};
use crate::base::scalar::{widened, Scalar};

pub(super) const ORDERS: [usize; 14] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300, 1000];

/// Random numbers between -1 and 1.
pub(super) fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// `H A H` for two random reflections H.
pub(super) fn turned(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    for seed in [1, 2] {
        let u = random(n, seed);
        let square: f64 = u.iter().map(|u| u * u).sum();
        for _ in 0..2 {
            for column in a.chunks_exact_mut(n) {
                let dot: f64 = column.iter().zip(&u).map(|(a, u)| a * u).sum();
                column
                    .iter_mut()
                    .zip(&u)
                    .for_each(|(a, u)| *a -= 2.0 * dot / square * u);
            }
            a = (0..n * n).map(|k| a[k % n * n + k / n]).collect();
        }
    }
    a
}

fn of_reduction<T: Scalar>(a: &[f64], n: usize, threads: usize) -> Vec<f64> {
    let a: Vec<T> = a.iter().map(|x| T::from_f64(*x)).collect();
    let a = MatRef::from_column_major_slice(&a, n, n);
    let reduced = tridiagonal::reduce(a, threads, false).unwrap();
    let mut d = widened(&reduced.diagonal).unwrap();
    let mut e = widened(&reduced.off).unwrap();
    assert!(tridiagonal_values::values(&mut d, &mut e).unwrap());
    d
}

/// The largest error in units of rounding of the largest value.
fn error(found: &[f64], exact: &[f64], eps: f64) -> f64 {
    let mut exact = exact.to_vec();
    exact.sort_by(f64::total_cmp);
    assert_eq!(found.len(), exact.len());
    let norm = exact.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let largest = found.iter().zip(&exact).map(|(x, y)| (x - y).abs());
    largest.fold(0.0, f64::max) / norm / eps
}

/// Spectra with names.
pub(super) fn spectra(n: usize) -> Vec<(&'static str, Vec<f64>)> {
    let at = |f: &dyn Fn(f64) -> f64| (0..n).map(|i| f(i as f64 / n as f64)).collect::<Vec<_>>();
    vec![
        ("random", random(n, 5)),
        ("even", at(&|x| x - 0.25)),
        ("graded", at(&|x| 10f64.powf(-10.0 * x))),
        ("clustered", at(&|x| (5.0 * x).floor() / 4.0)),
        ("all equal", vec![1.0; n]),
        ("rank deficient", at(&|x| if x < 0.7 { 0.0 } else { x })),
        ("one large", at(&|x| if x == 0.0 { 1.0 } else { 1e-9 * x })),
        ("zero", vec![0.0; n]),
    ]
}

fn known_spectra<T: Scalar>() {
    for n in ORDERS {
        for (name, w) in spectra(n) {
            let mut diagonal = vec![0.0; n * n];
            (0..n).for_each(|i| diagonal[i * n + i] = w[i]);
            let plain = error(&of_reduction::<T>(&diagonal, n, 1), &w, T::EPS);
            assert!(plain <= 1.0, "diagonal, {name} {n}: {plain}");
            let full = error(&of_reduction::<T>(&turned(diagonal, n), n, 1), &w, T::EPS);
            assert!(full <= 4.0 * (n as f64).sqrt() + 4.0, "{name} {n}: {full}");
        }
    }
}

#[test]
fn known_spectra_f64() {
    known_spectra::<f64>();
}

#[test]
fn known_spectra_f32() {
    known_spectra::<f32>();
}

/// Second differences: `4 sin^2(k pi / (2 n + 2))`.
#[test]
fn tridiagonal_matrices_have_their_exact_values() {
    for n in ORDERS {
        let angle = |k: usize| std::f64::consts::PI * (k + 1) as f64 / (2 * n + 2) as f64;
        let exact: Vec<f64> = (0..n).map(|k| 4.0 * angle(k).sin().powi(2)).collect();
        for scale in [1.0, 1e-100, 1e100] {
            let (mut d, mut e) = (vec![2.0 * scale; n], vec![-scale; n - 1]);
            assert!(tridiagonal_values::values(&mut d, &mut e).unwrap());
            d.iter_mut().for_each(|d| *d /= scale);
            let error = error(&d, &exact, f64::EPSILON);
            assert!(error <= 8.0, "{n} {scale}: {error}");
        }
    }
}

/// Wilkinson's matrix has pairs of values that agree to the last digits; their sum and the sum of
/// squares are integers.
#[test]
fn wilkinson_matrices_keep_their_sums() {
    for half in [1, 10, 16, 64, 500] {
        let n = 2 * half + 1;
        let mut d: Vec<f64> = (0..n).map(|i| (i as f64 - half as f64).abs()).collect();
        let trace: f64 = d.iter().sum();
        let squares = d.iter().map(|d| d * d).sum::<f64>() + 2.0 * (n - 1) as f64;
        let mut e = vec![1.0; n - 1];
        assert!(tridiagonal_values::values(&mut d, &mut e).unwrap());
        let (sum, square) = (d.iter().sum::<f64>(), d.iter().map(|d| d * d).sum::<f64>());
        assert!((sum / trace - 1.0).abs() <= 1e-14, "{n}");
        assert!((square / squares - 1.0).abs() <= 1e-14, "{n}");
        if half >= 10 {
            assert!((d[n - 1] - d[n - 2]).abs() <= 1e-13 * d[n - 1], "{n}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for n in [65, 300, 1000] {
        let a = random(n * n, 9);
        let once = of_reduction::<f64>(&a, n, 1);
        assert!(once == of_reduction::<f64>(&a, n, 1), "{n}");
        assert!(once == of_reduction::<f64>(&a, n, 2), "{n}");
        assert!(once == of_reduction::<f64>(&a, n, 5), "{n}");
    }
}

#[test]
fn what_is_not_finite_gives_up() {
    for bad in [f64::NAN, f64::INFINITY] {
        let (mut d, mut e) = (vec![1.0, bad, 1.0], vec![1.0, 1.0]);
        assert_eq!(tridiagonal_values::values(&mut d, &mut e), Ok(false));
    }
}
