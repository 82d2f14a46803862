//! Eigenvectors by divide and conquer, against the definition.

use faer::{Mat, MatMut, MatRef};

use super::tridiagonal_leaf::LEAF;
use super::tridiagonal_tests::{random, spectra, turned};
use super::{divide, secular, tridiagonal};
use crate::base::scalar::{widened, Scalar};

const ORDERS: [usize; 13] = [
    1,
    2,
    3,
    LEAF - 1,
    LEAF,
    LEAF + 1,
    63,
    64,
    65,
    129,
    200,
    257,
    300,
];

/// The residual and the loss of orthogonality, Frobenius norms in units of rounding of the largest
/// value, of a tridiagonal matrix. Asserts that values ascend.
fn errors<T: Scalar>(name: &str, d: &[f64], e: &[f64], threads: usize) -> (f64, f64) {
    let n = d.len();
    let (mut w, mut off) = (d.to_vec(), e.to_vec());
    let mut z = vec![T::from_f64(f64::NAN); n * n];
    let q = MatMut::from_column_major_slice_mut(&mut z, n, n);
    assert!(divide::vectors(&mut w, &mut off, q, threads).unwrap());
    assert!(w.is_sorted(), "{name} {n}");
    let z = widened(&z).unwrap();
    let z = MatRef::from_column_major_slice(&z, n, n);
    let mut largest = f64::MIN_POSITIVE;
    w.iter().for_each(|w| largest = largest.max(w.abs()));
    let residual = Mat::from_fn(n, n, |i, j| {
        let mut sum = (d[i] - w[j]) * z[(i, j)];
        if i > 0 {
            sum += e[i - 1] * z[(i - 1, j)];
        }
        if i + 1 < n {
            sum += e[i] * z[(i + 1, j)];
        }
        sum / largest
    });
    let loss = z.transpose() * z - Mat::<f64>::identity(n, n);
    (residual.norm_l2() / T::EPS, loss.norm_l2() / T::EPS)
}

fn check<T: Scalar>(name: &str, d: &[f64], e: &[f64]) {
    let root = (d.len() as f64).sqrt();
    let (residual, loss) = errors::<T>(name, d, e, 1);
    assert!(residual <= 8.0 * root, "{name} {}: {residual}", d.len());
    assert!(loss <= 16.0 * root, "{name} {}: {loss}", d.len());
}

fn known_spectra<T: Scalar>() {
    for n in ORDERS {
        for (name, w) in spectra(n) {
            check::<T>(name, &w, &vec![0.0; n - 1]);
            let mut diagonal = vec![0.0; n * n];
            (0..n).for_each(|i| diagonal[i * n + i] = w[i]);
            let a: Vec<T> = turned(diagonal, n).into_iter().map(T::from_f64).collect();
            let a = MatRef::from_column_major_slice(&a, n, n);
            let reduced = tridiagonal::reduce(a, 1, false).unwrap();
            let d = widened(&reduced.diagonal).unwrap();
            let e = widened(&reduced.off).unwrap();
            check::<T>(name, &d, &e);
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

fn of_any_scale<T: Scalar>(scale: f64) {
    for n in ORDERS {
        let wilkinson: Vec<f64> = (0..n).map(|i| (i as f64 - n as f64 / 2.0).abs()).collect();
        // Two of them, with a tiny entry between.
        let mut glued = vec![1.0; n - 1];
        if n > 2 {
            glued[n / 2] = 1e-7;
        }
        let alternating: Vec<f64> = (0..n - 1).map(|i| (i % 3) as f64 - 1.0).collect();
        for (name, d, e) in [
            ("second differences", vec![2.0; n], vec![-1.0; n - 1]),
            ("no diagonal", vec![0.0; n], vec![1.0; n - 1]),
            ("wilkinson", wilkinson.clone(), vec![1.0; n - 1]),
            ("glued", wilkinson, glued),
            ("signs", random(n, 4), alternating),
            ("random", random(n, 2), random(n - 1, 3)),
            ("weak", random(n, 2), vec![1e-9; n - 1]),
        ] {
            let [d, e] = [d, e].map(|x| x.iter().map(|x| x * scale).collect::<Vec<_>>());
            check::<T>(name, &d, &e);
        }
    }
}

#[test]
fn matrices_of_any_scale_have_orthonormal_vectors() {
    of_any_scale::<f64>(1.0);
    of_any_scale::<f64>(1e-100);
    of_any_scale::<f64>(1e100);
    of_any_scale::<f32>(1.0);
}

#[test]
fn several_threads_are_as_accurate() {
    let n = 700;
    for threads in [2, 5] {
        let (d, e) = (random(n, 2), random(n - 1, 3));
        let (residual, loss) = errors::<f64>("threads", &d, &e, threads);
        assert!(residual <= 200.0 && loss <= 400.0, "{residual} {loss}");
    }
}

/// `Q T Q' = A` with the reflections that the reduction keeps.
#[test]
fn reflections_turn_back() {
    for n in [1, 2, 3, 9, 64, 150] {
        let a = random(n * n, 8);
        let a = MatRef::from_column_major_slice(&a, n, n);
        let reduced = tridiagonal::reduce(a, 1, true).unwrap();
        let (d, e) = (&reduced.diagonal, &reduced.off);
        let t = Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 => d[i],
            1 => e[i.min(j)],
            _ => 0.0,
        });
        let mut q = Mat::<f64>::identity(n, n);
        reduced.turn_back(q.as_mut(), 1).unwrap();
        let back = &q * &t * q.transpose();
        for j in 0..n {
            for i in j..n {
                let error = (back[(i, j)] - a[(i, j)]).abs();
                assert!(error <= 1e-14 * n as f64, "{n} {i} {j}: {error}");
            }
        }
    }
}

/// Roots lie between the poles, and with the restored weights they are exact.
#[test]
fn roots_lie_between_poles() {
    for n in [1, 2, 3, 8, 9, 50] {
        let d: Vec<f64> = (0..n).map(|i| (i as f64 / 7.0).powi(3)).collect();
        let weights: Vec<f64> = (0..n).map(|i| 10f64.powi(-(i as i32 % 13))).collect();
        let (mut origins, mut offsets) = (vec![0.0; n], vec![0.0; n]);
        secular::roots(&d, &weights, 0, &mut origins, &mut offsets);
        let all: f64 = weights.iter().sum();
        for j in 0..n {
            let x = origins[j] + offsets[j];
            let next = d.get(j + 1).copied().unwrap_or(d[n - 1] + all * 1.01);
            assert!(d[j] <= x && x <= next, "{n} {j}: {x}");
        }
        let mut z: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let given = z.clone();
        secular::restore(&d, &origins, &offsets, 0, &mut z);
        for (z, given) in z.iter().zip(&given) {
            assert!((z / given - 1.0).abs() <= 1e-12, "{n}: {z} {given}");
        }
    }
}

#[test]
fn what_is_not_finite_gives_up() {
    for n in [3, 70] {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut z = vec![0.0; n * n];
            for place in 0..2 {
                let (mut d, mut e) = (vec![1.0; n], vec![1.0; n - 1]);
                [&mut d, &mut e][place][1] = bad;
                let z = MatMut::from_column_major_slice_mut(&mut z, n, n);
                assert_eq!(divide::vectors(&mut d, &mut e, z, 1), Ok(false));
            }
        }
    }
}
