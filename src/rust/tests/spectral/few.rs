//! A few eigenvalues and singular values, against all of them. `functions` has matrices that are
//! not one, or are less exact than the tolerance.

use super::common::residual::{orthogonality, product};
use super::common::{for_each_device, Host};
use super::kinds::{rectangular, symmetric, with_values};
use cudafactor::algo::dense;
use cudafactor::algo::lanczos::direct;
use cudafactor::algo::lanczos::eigen::symmetric as few_of;
use cudafactor::algo::lanczos::operator::{mirrored, Dense};
use cudafactor::algo::lanczos::svd::largest;
use cudafactor::algo::lanczos::wanted::{Found, Wanted, Which};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::spectral::{SingularValues, SymmetricEigen};
use faer::{Mat, MatRef};

for_each_device!(
    eigenvalues_of_every_kind,
    singular_values_of_every_kind,
    copies_are_all_found,
    late_copies_are_found,
    extremes_by_value,
    bits_repeat,
    what_does_not_converge_says_so,
    what_is_not_symmetric_is_refused,
    what_is_not_finite_is_refused,
    only_the_lower_triangle_is_mirrored,
    a_matrix_and_its_transpose_take_as_many_products,
);

/// Errors of values and residuals, divided by `sqrt(n) eps ||A||`.
const ALLOWED: f64 = 40.0;

fn wanted(k: usize) -> Wanted {
    Wanted::new(k, 1e-13, 300)
}

fn eigen<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &Host<T>,
    which: Which,
    wanted: &Wanted,
) -> Result<Found, Error> {
    let x = dev.load(a.view())?;
    few_of::<T, D, _, _>(dev, &CpuDevice::new(1), &Dense::new(dev, &x), which, wanted)
}

fn svd<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &Host<T>,
    wanted: &Wanted,
) -> Result<Found, Error> {
    let x = dev.load(a.view())?;
    largest::<T, D, _, _>(dev, &CpuDevice::new(1), &Dense::new(dev, &x), wanted)
}

/// As [`eigen`], from all values.
fn eigen_directly<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>>(
    dev: &D,
    a: &Host<T>,
    which: Which,
    wanted: &Wanted,
) -> Result<Found, Error> {
    direct::eigen::<T, D>(dev, &dev.load(a.view())?, which, wanted)
}

/// As [`svd`], from all values.
fn svd_directly<T: Scalar, D: Elementwise<T> + SingularValues<T>>(
    dev: &D,
    a: &Host<T>,
    wanted: &Wanted,
) -> Result<Found, Error> {
    direct::singular::<T, D, _>(dev, &CpuDevice::new(1), &dev.load(a.view())?, wanted)
}

/// All eigenvalues in decreasing order.
fn all<T: Scalar>(a: &Host<T>) -> Vec<f64> {
    let wide = a.wide();
    dense::eigen::symmetric::<_, f64, _>(&CpuDevice::new(2), wide.as_ref(), None).unwrap()
}

fn largest_of(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| v.abs().max(m))
}

/// The unit of errors of values.
fn rounding<T: Scalar>(n: usize, norm: f64) -> f64 {
    ALLOWED * T::EPS * (n as f64).sqrt().max(8.0) * norm
}

fn check<T: Scalar>(name: &str, found: &[f64], expected: &[f64], n: usize, norm: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (x, y) in found.iter().zip(expected) {
        let error = (x - y).abs();
        let most = rounding::<T>(n, norm);
        assert!(error <= most, "{name}: {x:e} instead of {y:e}, {most:e}");
    }
}

fn matrix(values: &[f64], n: usize) -> Host<f64> {
    let k = values.len() / n;
    let x = MatRef::from_column_major_slice(values, n, k);
    Host::from_fn(n, k, |i, j| x[(i, j)])
}

fn is_done<T: Scalar>(name: &str, found: &Found, n: usize) {
    let Found {
        values,
        residuals,
        restarts,
        ..
    } = found;
    let done = found.converged.iter().all(|c| *c);
    assert!(done, "{name}: {values:?} {residuals:?} {restarts}");
    for r in &found.residuals {
        assert!(*r <= rounding::<T>(n, 1.0), "{name}: residual {r:e}");
    }
    for side in [&found.left, &found.right] {
        if !side.is_empty() {
            let k = found.values.len();
            let loss = orthogonality(&matrix(side, side.len() / k));
            let allowed = 32.0 * T::EPS / f64::EPSILON;
            assert!(loss <= allowed, "{name}: orthogonality {loss}");
        }
    }
}

fn eigenvalues_of_every_kind<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>>(dev: &D) {
    for n in [1, 2, 9, 40, 260] {
        for (name, a) in symmetric::<T>(n) {
            let a = Host::<T>::from_fn(n, n, |i, j| a.at(i.max(j), i.min(j)));
            let every = all(&a);
            let norm = largest_of(&every);
            for k in [1, 3, 12, n] {
                // 24 values with distances of 1e-12 are not separated to this tolerance.
                if name.starts_with("glued") && k < n.min(40) {
                    continue;
                }
                let k = k.min(n);
                let name = format!("{name}, order {n}, {k}");
                let mut expected: Vec<f64> = every.iter().map(|v| v.abs()).collect();
                expected.sort_by(|x, y| y.total_cmp(x));
                expected.truncate(k);
                for solve in [eigen, eigen_directly] {
                    let found = solve(dev, &a, Which::Magnitude, &wanted(k)).unwrap();
                    // Which of two values with nearly the same magnitude is taken depends on
                    // rounding.
                    let mut sizes: Vec<f64> = found.values.iter().map(|v| v.abs()).collect();
                    sizes.sort_by(|x, y| y.total_cmp(x));
                    check::<T>(&name, &sizes, &expected, n, norm);
                    assert!(found.values.windows(2).all(|w| w[0] >= w[1]), "{name}");
                    is_done::<T>(&name, &found, n);
                }
            }
        }
    }
}

fn singular_values_of_every_kind<T: Scalar, D: Elementwise<T> + SingularValues<T>>(dev: &D) {
    for (m, n) in [
        (1, 1),
        (1, 7),
        (7, 1),
        (30, 20),
        (400, 190),
        (190, 400),
        (250, 250),
    ] {
        for (name, a) in rectangular::<T>(m, n) {
            let wide = a.wide();
            let every = dense::svd::svd::<_, f64, _, _>(
                &CpuDevice::new(2),
                None::<&CpuDevice>,
                wide.as_ref(),
                None,
                None,
            )
            .unwrap();
            for k in [1, 3, 8, m.min(n)] {
                let k = k.min(m.min(n));
                let name = format!("{name}, {m} x {n}, {k}");
                for solve in [svd, svd_directly] {
                    let found = solve(dev, &a, &wanted(k)).unwrap();
                    check::<T>(&name, &found.values, &every[..k], m.max(n), every[0]);
                    is_done::<T>(&name, &found, m.max(n));
                }
            }
        }
    }
}

/// More copies than a block has columns.
fn copies_are_all_found<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let n = 300;
    for copies in [3, 4, 5, 9, 23] {
        let values: Vec<f64> = (0..n)
            .map(|i| {
                if i < copies {
                    5.0
                } else {
                    4.0 * (n - i) as f64 / n as f64
                }
            })
            .collect();
        let plain = Host::<T>::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 });
        for a in [plain, with_values::<T>(&values)] {
            for k in [3, copies, copies + 2] {
                let name = format!("{copies} copies, {k}");
                let found = eigen(dev, &a, Which::Largest, &wanted(k)).unwrap();
                let mut expected = values.clone();
                expected.sort_by(|x, y| y.total_cmp(x));
                check::<T>(&name, &found.values, &expected[..k], n, 5.0);
                is_done::<T>(&name, &found, n);
                let found = svd(dev, &a, &wanted(k)).unwrap();
                check::<T>(&name, &found.values, &expected[..k], n, 5.0);
            }
        }
    }
}

/// Copies that come up late, since other values are near them.
fn late_copies_are_found<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let n = 1500;
    let value = |i: usize| match i {
        0..8 => 1.35,
        8..68 => 1.3 - (i - 8) as f64 / 600.0,
        _ => 1.0 - 2.0 * (i - 68) as f64 / n as f64,
    };
    let a = Host::<T>::from_fn(n, n, |i, j| if i == j { value(i) } else { 0.0 });
    for k in [6, 9] {
        let found = eigen(dev, &a, Which::Largest, &wanted(k)).unwrap();
        let expected: Vec<f64> = (0..k).map(value).collect();
        check::<T>("late copies", &found.values, &expected, n, 1.35);
    }
}

fn extremes_by_value<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let n = 250;
    let values: Vec<f64> = (0..n).map(|i| (i as f64).powi(2) / 400.0 - 100.0).collect();
    let a = with_values::<T>(&values);
    for k in [1, 5, 200] {
        let found = eigen(dev, &a, Which::Largest, &wanted(k)).unwrap();
        let expected: Vec<f64> = values.iter().rev().copied().take(k).collect();
        check::<T>("largest", &found.values, &expected, n, 100.0);
        let found = eigen(dev, &a, Which::Smallest, &wanted(k)).unwrap();
        let expected: Vec<f64> = values[..k].iter().rev().copied().collect();
        check::<T>("smallest", &found.values, &expected, n, 100.0);
        is_done::<T>("smallest", &found, n);
    }
}

fn bits_repeat<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let a = &symmetric::<T>(260)[0].1;
    let twice = [0, 1].map(|_| svd(dev, a, &wanted(5)).unwrap());
    assert!(twice[0] == twice[1]);
    let twice = [0, 1].map(|_| eigen(dev, a, Which::Magnitude, &wanted(5)).unwrap());
    assert!(twice[0] == twice[1]);
}

fn what_does_not_converge_says_so<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let a = &symmetric::<T>(260)[0].1;
    let a = Host::<T>::from_fn(260, 260, |i, j| a.at(i.max(j), i.min(j)));
    let short = Wanted {
        maxit: 0,
        ..wanted(4)
    };
    let found = eigen(dev, &a, Which::Largest, &short).unwrap();
    assert!(found.converged.iter().any(|c| !c) && found.restarts == 0);
    // The residuals are those of the vectors.
    let v = matrix(&found.right, 260);
    let away = &product(a.wide().as_ref(), v.wide().as_ref())
        - &Mat::from_fn(260, 4, |i, j| v.at(i, j) * found.values[j]);
    for j in 0..4 {
        let norm = away.col(j).norm_l2();
        let told = found.residuals[j] * largest_of(&all(&a));
        assert!(
            (norm - told).abs() <= 0.2 * norm + rounding::<T>(260, 20.0),
            "{norm} {told}"
        );
    }
    let found = svd(dev, &a, &short).unwrap();
    assert!(found.converged.iter().any(|c| !c));
    // A residual that is too large is above its limit, in the same unit.
    for (i, converged) in found.converged.iter().enumerate() {
        assert!(*converged || found.residuals[i] > found.limits[i]);
    }
}

fn what_is_not_symmetric_is_refused<T: Scalar, D: Elementwise<T>>(dev: &D) {
    for n in [40, 260, 600] {
        let upper = Host::<T>::from_fn(n, n, |i, j| if i < j { 1.0 } else { 0.0 });
        match eigen(dev, &upper, Which::Magnitude, &wanted(2)) {
            Err(Error::Asymmetric { relative }) => assert!(relative > 0.1 && relative < 10.0),
            other => panic!("{other:?}"),
        }
        // Rounding is no asymmetry.
        let a = &symmetric::<T>(n)[0].1;
        let near = |i: usize, j: usize| {
            let rounding = if i > j { 1.0 + T::EPS } else { 1.0 };
            a.at(i.max(j), i.min(j)) * rounding
        };
        let near = Host::<T>::from_fn(n, n, near);
        let found = eigen(dev, &near, Which::Largest, &wanted(2)).unwrap();
        is_done::<T>("rounding", &found, n);
    }
}

fn what_is_not_finite_is_refused<T: Scalar, D: Elementwise<T>>(dev: &D) {
    for n in [5, 200] {
        for value in [f64::NAN, f64::INFINITY] {
            let a = Host::<T>::from_fn(n, n, |i, j| if (i, j) == (2, 2) { value } else { 1.0 });
            let refused = eigen(dev, &a, Which::Largest, &wanted(2));
            assert!(matches!(refused, Err(Error::NonFiniteIn { argument: "x" })));
            let refused = svd(dev, &a, &wanted(2));
            assert!(matches!(refused, Err(Error::NonFiniteIn { argument: "x" })));
        }
    }
}

fn only_the_lower_triangle_is_mirrored<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let a = &symmetric::<T>(90)[0].1;
    let half = Host::<T>::from_fn(90, 90, |i, j| if i < j { f64::NAN } else { a.at(i, j) });
    let x = dev.load(half.view()).unwrap();
    let both = mirrored::<T, D>(dev, &x).unwrap();
    let mut back = Host::<T>::from_fn(90, 90, |_, _| 0.0);
    dev.read(&both, back.view_mut()).unwrap();
    assert!((0..90).all(|i| (0..90).all(|j| back.at(i, j) == a.at(i.max(j), i.min(j)))));
}

/// A matrix with few rows or columns is formed from its shorter side.
fn a_matrix_and_its_transpose_take_as_many_products<T: Scalar, D: Elementwise<T>>(dev: &D) {
    for (short, long) in [(1, 300), (70, 2000), (150, 700)] {
        let a = &rectangular::<T>(long, short)[0].1;
        let across = Host::<T>::from_fn(short, long, |i, j| a.at(j, i));
        let tall = svd(dev, a, &wanted(1)).unwrap();
        let wide = svd(dev, &across, &wanted(1)).unwrap();
        let name = format!("{long} x {short}");
        check::<T>(&name, &wide.values, &tall.values, long, tall.values[0]);
        is_done::<T>(&name, &wide, long);
        let formed = short + 3;
        match wanted(1).is_most(short) {
            true => assert_eq!([tall.products, wide.products], [formed; 2], "{name}"),
            false => assert!(wide.products <= 2 * tall.products, "{name}"),
        }
    }
}
