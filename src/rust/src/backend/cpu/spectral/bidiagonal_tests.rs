//! Singular values by reduction, against exact ones.

use faer::MatRef;

use super::tridiagonal_tests::{random, spectra, ORDERS};
use super::{bidiagonal_values, svd};
use crate::base::scalar::Scalar;

/// The largest error in units of rounding of the largest value.
fn error(found: &[f64], exact: &[f64], eps: f64) -> f64 {
    let mut exact = exact.to_vec();
    exact.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(found.len(), exact.len());
    let largest = found.iter().zip(&exact).map(|(x, y)| (x - y).abs());
    largest.fold(0.0, f64::max) / exact[0].max(f64::MIN_POSITIVE) / eps
}

/// Ones on both diagonals: `2 cos(k pi / (2 n + 1))`.
#[test]
fn bidiagonal_matrices_have_their_exact_values() {
    for n in ORDERS {
        let angle = |k: usize| std::f64::consts::PI * (k + 1) as f64 / (2 * n + 1) as f64;
        let exact: Vec<f64> = (0..n).map(|k| 2.0 * angle(k).cos()).collect();
        for scale in [1.0, 1e-100, 1e100] {
            let (mut d, mut e) = (vec![scale; n], vec![-scale; n - 1]);
            assert!(bidiagonal_values::values(&mut d, &mut e).unwrap(), "{n}");
            d.iter_mut().for_each(|d| *d /= scale);
            let error = error(&d, &exact, f64::EPSILON);
            assert!(error <= 8.0, "{n} {scale}: {error}");
        }
    }
}

/// `(I - 2 u u' / u'u) A` for a random u.
fn reflect(a: &mut [f64], m: usize, seed: u64) {
    let u = random(m, seed);
    let square: f64 = u.iter().map(|u| u * u).sum();
    for column in a.chunks_exact_mut(m) {
        let dot: f64 = column.iter().zip(&u).map(|(a, u)| a * u).sum();
        let factor = 2.0 * dot / square;
        column
            .iter_mut()
            .zip(&u)
            .for_each(|(a, u)| *a -= factor * u);
    }
}

fn transposed(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|k| a[k % n * m + k / n]).collect()
}

/// An m by n matrix with the absolute values of `w` as singular values.
fn with_values(w: &[f64], (m, n): (usize, usize)) -> Vec<f64> {
    let mut a = vec![0.0; m * n];
    w.iter().enumerate().for_each(|(i, w)| a[i * m + i] = *w);
    for seed in [3, 4] {
        reflect(&mut a, m, seed);
        a = transposed(&a, m, n);
        reflect(&mut a, n, seed + 2);
        a = transposed(&a, n, m);
    }
    a
}

fn of_reduction<T: Scalar>(a: &[f64], (m, n): (usize, usize), threads: usize) -> Vec<f64> {
    let a: Vec<T> = a.iter().map(|x| T::from_f64(*x)).collect();
    let a = MatRef::from_column_major_slice(&a, m, n);
    let mut d = vec![T::from_f64(f64::NAN); m.min(n)];
    assert!(svd::by_reduction(a, &mut d, threads).unwrap());
    d.iter().map(|d| d.to_f64()).collect()
}

fn known_values<T: Scalar>() {
    for n in ORDERS {
        let more = [n + n / 3 + 1, 2 * n];
        let shapes = match n {
            1000 => vec![(n, n)],
            _ => vec![
                (n, n),
                (more[0], n),
                (n, more[0]),
                (more[1], n),
                (n, more[1]),
            ],
        };
        for shape in shapes {
            for (name, w) in spectra(n) {
                let exact: Vec<f64> = w.iter().map(|w| w.abs()).collect();
                let found = of_reduction::<T>(&with_values(&w, shape), shape, 1);
                let error = error(&found, &exact, T::EPS);
                // faer's QR decomposition of graded columns in single precision is less accurate.
                let allowed = match shape.0.max(shape.1) >= 2 * n {
                    true => 3.0 * n as f64 + 8.0,
                    false => 4.0 * (n as f64).sqrt() + 4.0,
                };
                assert!(error <= allowed, "{name} {shape:?}: {error}");
            }
        }
    }
}

#[test]
fn known_values_f64() {
    known_values::<f64>();
}

#[test]
fn known_values_f32() {
    known_values::<f32>();
}

#[test]
fn bits_do_not_depend_on_threads() {
    for shape in [(65, 65), (300, 200), (700, 650), (650, 700)] {
        let a = random(shape.0 * shape.1, 9);
        let once = of_reduction::<f64>(&a, shape, 1);
        for threads in [1, 2, 5] {
            assert!(once == of_reduction::<f64>(&a, shape, threads), "{shape:?}");
        }
    }
}

#[test]
fn what_is_not_finite_gives_up() {
    for bad in [f64::NAN, f64::INFINITY] {
        for at in 0..3 {
            let (mut d, mut e) = (vec![1.0; 3], vec![1.0; 2]);
            d[at] = bad;
            assert_eq!(bidiagonal_values::values(&mut d, &mut e), Ok(false));
        }
    }
}
