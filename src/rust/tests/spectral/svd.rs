//! Singular values.

use super::common::residual::{orthogonality, product};
use super::common::Host;
use super::kinds::{down, rectangular, scattered, unit};
use super::ALLOWED;
use cudafactor::algo::dense::svd::{svd_by, Method};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::spectral::SingularValues;
use faer::{Mat, MatMut, MatRef};

/// A device and its way to singular values.
struct Way<D> {
    device: D,
    method: Method,
    /// What decomposes small matrices for it.
    host: Option<CpuDevice>,
}

impl<D> Way<D> {
    fn direct(device: D) -> Self {
        Way {
            device,
            method: Method::Routine,
            host: None,
        }
    }

    fn levels(device: D) -> Self {
        Way {
            device,
            method: Method::Levels,
            host: Some(CpuDevice::new(1)),
        }
    }

    fn indirect(device: D) -> Self {
        Way {
            device,
            method: Method::Products,
            host: None,
        }
    }

    fn hosted(device: D) -> Self {
        Way {
            device,
            method: Method::Products,
            host: Some(CpuDevice::new(1)),
        }
    }
}

trait Decompose<T: Scalar> {
    fn svd<S: Scalar>(
        &self,
        x: MatRef<'_, S>,
        u: Option<MatMut<'_, T>>,
        v: Option<MatMut<'_, T>>,
    ) -> Result<Vec<S>>;
}

impl<T: Scalar, D: Elementwise<T> + SingularValues<T>> Decompose<T> for Way<D> {
    fn svd<S: Scalar>(
        &self,
        x: MatRef<'_, S>,
        u: Option<MatMut<'_, T>>,
        v: Option<MatMut<'_, T>>,
    ) -> Result<Vec<S>> {
        svd_by(&self.device, self.method, self.host.as_ref(), x, u, v)
    }
}

/// `for_each_way!(body, ...)`: tests of the generic functions
/// `body<T: Scalar, W: Decompose<T>>(&W)`.
macro_rules! for_each_way {
    ($($body:ident),* $(,)?) => {$(
        mod $body {
            use super::{CpuDevice, Way};

            #[test]
            fn cpu_f64() {
                super::$body::<f64, _>(&Way::direct(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_f32() {
                super::$body::<f32, _>(&Way::direct(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_one_thread() {
                super::$body::<f64, _>(&Way::direct(CpuDevice::new(1)));
            }
            #[test]
            fn cpu_levels_f64() {
                super::$body::<f64, _>(&Way::levels(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_levels_f32() {
                super::$body::<f32, _>(&Way::levels(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_indirect_f64() {
                super::$body::<f64, _>(&Way::indirect(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_indirect_f32() {
                super::$body::<f32, _>(&Way::indirect(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_hosted_f64() {
                super::$body::<f64, _>(&Way::hosted(CpuDevice::new(2)));
            }
            #[test]
            fn cpu_hosted_f32() {
                super::$body::<f32, _>(&Way::hosted(CpuDevice::new(2)));
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_f64() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body::<f64, _>(&Way::indirect(gpu));
                }
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_hosted_f64() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body::<f64, _>(&Way::hosted(gpu));
                }
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_hosted_f32() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body::<f32, _>(&Way::hosted(gpu));
                }
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_f32() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body::<f32, _>(&Way::indirect(gpu));
                }
            }
        }
    )*};
}

for_each_way!(
    residuals_are_small,
    parts_agree,
    exact_values,
    doubles_may_be_of_any_size,
    slightly_tall_matrices_have_orthogonal_vectors,
    what_a_large_value_leaves_may_be_tiny,
    an_empty_matrix_has_no_values,
    what_is_not_finite_is_refused,
);

fn shapes() -> Vec<(usize, usize)> {
    let mut all: Vec<_> = super::orders().into_iter().map(|n| (n, n)).collect();
    if !super::common::few() {
        all.extend([
            (1, 7),
            (7, 1),
            (40, 39),
            (300, 20),
            (20, 300),
            (150, 130),
            (130, 150),
        ]);
    }
    all
}

/// With so many columns of U and of V.
fn decompose<T: Scalar, W: Decompose<T>>(
    way: &W,
    a: &Host<T>,
    (nu, nv): (usize, usize),
) -> (Vec<T>, Host<T>, Host<T>) {
    let mut u = Host::from_fn(a.rows, nu, |_, _| f64::NAN);
    let mut v = Host::from_fn(a.cols, nv, |_, _| f64::NAN);
    let left = (nu > 0).then(|| u.view_mut());
    let right = (nv > 0).then(|| v.view_mut());
    let d = way.svd(a.view(), left, right).unwrap();
    (d, u, v)
}

fn residuals_are_small<T: Scalar, W: Decompose<T>>(way: &W) {
    for (m, n) in shapes() {
        let k = m.min(n);
        for (name, a) in rectangular::<T>(m, n) {
            let e = unit(&a);
            let wide = Mat::from_fn(m, n, |i, j| down(a.at(i, j), e));
            let norm = wide.norm_l2().max(f64::MIN_POSITIVE);
            for columns in [(k, k), (m, n)] {
                let (d, u, v) = decompose(way, &a, columns);
                let scaled = Mat::from_fn(m, k, |i, j| u.at(i, j) * down(d[j].to_f64(), e));
                let thin = Mat::from_fn(n, k, |i, j| v.at(i, j));
                let error = &product(scaled.as_ref(), thin.transpose()) - &wide;
                // Small orders leave the rounding of a few operations.
                let residual = error.norm_l2() / (norm * m.max(n).max(8) as f64 * T::EPS);
                assert!(residual <= ALLOWED, "{name} {m} x {n}: residual {residual}");
                for q in [&u, &v] {
                    let loss = orthogonality(q);
                    assert!(
                        loss <= ALLOWED * 4.0,
                        "{name} {m} x {n}: orthogonality {loss}"
                    );
                }
                let ordered = d.windows(2).all(|d| d[0] >= d[1]);
                assert!(
                    ordered && d.iter().all(|d| *d >= T::from_f64(0.0)),
                    "{name}"
                );
            }
        }
    }
}

/// Values alone, and one side alone, are those of all.
fn parts_agree<T: Scalar, W: Decompose<T>>(way: &W) {
    for (m, n) in [
        (1, 1),
        (33, 33),
        (150, 130),
        (130, 150),
        (200, 20),
        (20, 200),
    ] {
        let k = m.min(n);
        for (name, a) in rectangular::<T>(m, n) {
            let (d, ..) = decompose(way, &a, (k, k));
            let size = d[0].to_f64();
            for columns in [(0, 0), (k, 0), (0, k), (m, 0), (0, n)] {
                let (alone, u, v) = decompose(way, &a, columns);
                for (x, y) in alone.iter().zip(&d) {
                    let error = (x.to_f64() - y.to_f64()).abs();
                    let allowed = ALLOWED * m.max(n) as f64 * T::EPS * size;
                    assert!(error <= allowed, "{name} {m} x {n} {columns:?}");
                }
                for q in [&u, &v] {
                    assert!(q.cols == 0 || orthogonality(q) <= ALLOWED * 4.0, "{name}");
                }
            }
        }
    }
}

fn exact_values<T: Scalar, W: Decompose<T>>(way: &W) {
    // Lower triangle of ones: 1 / (2 sin((2 k - 1) pi / (4 n + 2))).
    let n = 150;
    let a = Host::<T>::from_fn(n, n, |i, j| f64::from(i >= j));
    let (d, ..) = decompose(way, &a, (0, 0));
    for (k, d) in d.iter().enumerate() {
        let angle = std::f64::consts::PI * (2 * k + 1) as f64 / (4 * n + 2) as f64;
        let want = 0.5 / angle.sin();
        assert!(
            (d.to_f64() - want).abs() <= 100.0 * n as f64 * T::EPS,
            "{k}"
        );
    }
    let diagonal = Host::<T>::from_fn(3, 2, |i, j| if i == j { [-2.0, 3.0][i] } else { 0.0 });
    let (d, u, v) = decompose(way, &diagonal, (3, 2));
    let near = |x: f64, y: f64| assert!((x - y).abs() <= 16.0 * T::EPS, "{x} {y}");
    near(d[0].to_f64(), 3.0);
    near(d[1].to_f64(), 2.0);
    near(u.at(1, 0), 1.0);
    near(v.at(1, 0), 1.0);
    near(u.at(0, 1), -1.0);
    near(v.at(0, 1), 1.0);
    near(u.at(2, 2), 1.0);
}

/// Their condition is some dozens or hundreds.
fn slightly_tall_matrices_have_orthogonal_vectors<T: Scalar, W: Decompose<T>>(way: &W) {
    for (m, n, count) in [(34, 33, 30), (41, 40, 30), (60, 40, 10), (131, 130, 4)] {
        for seed in 0..count {
            let (_, u, v) = decompose(way, &scattered(m, n, seed), (n, n));
            for q in [&u, &v] {
                let loss = orthogonality(q);
                assert!(loss <= ALLOWED * 4.0, "{m} x {n}, {seed}: {loss}");
            }
        }
    }
}

fn what_a_large_value_leaves_may_be_tiny<T: Scalar, W: Decompose<T>>(way: &W) {
    let tiny = if T::EPS > 1e-10 { 1e-43 } else { 1e-310 };
    for n in [20, 33, 34, 140] {
        let rest = scattered::<f64>(n, n, 1);
        let a = Host::<T>::from_fn(n, n, |i, j| match (i, j) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => 0.0,
            _ => tiny * rest.at(i, j),
        });
        let (d, u, v) = decompose(way, &a, (n, n));
        let (error, rounding) = ((d[0].to_f64() - 1.0).abs(), n as f64 * T::EPS);
        assert!(error <= rounding && d[1].to_f64() <= rounding, "{n}");
        for q in [&u, &v] {
            let loss = orthogonality(q);
            assert!(loss <= ALLOWED * 4.0, "{n}: {loss}");
        }
    }
}

/// Also beyond the range of the precision that the device computes in.
fn doubles_may_be_of_any_size<T: Scalar, W: Decompose<T>>(way: &W) {
    for (m, n) in [(2, 2), (40, 30), (30, 40)] {
        let k = m.min(n);
        let a = &rectangular::<T>(m, n)[0].1;
        let (d, u, v) = decompose(way, a, (k, k));
        for by in [2f64.powi(-900), 2f64.powi(900)] {
            let x = Host::<f64>::from_fn(m, n, |i, j| a.at(i, j) * by);
            let mut left = Host::<T>::from_fn(m, k, |_, _| f64::NAN);
            let mut right = Host::<T>::from_fn(n, k, |_, _| f64::NAN);
            let found = way
                .svd(x.view(), Some(left.view_mut()), Some(right.view_mut()))
                .unwrap();
            assert!(found.iter().zip(&d).all(|(x, y)| *x == y.to_f64() * by));
            assert!(left.wide() == u.wide() && right.wide() == v.wide());
        }
    }
}

fn an_empty_matrix_has_no_values<T: Scalar, W: Decompose<T>>(way: &W) {
    for (m, n) in [(0, 0), (0, 3), (3, 0)] {
        let a = Host::<T>::from_fn(m, n, |_, _| 0.0);
        assert!(way.svd(a.view(), None, None).unwrap().is_empty());
    }
}

fn what_is_not_finite_is_refused<T: Scalar, W: Decompose<T>>(way: &W) {
    for value in [f64::NAN, f64::INFINITY] {
        let a = Host::<T>::from_fn(5, 4, |i, j| if (i, j) == (1, 3) { value } else { 1.0 });
        assert!(matches!(
            way.svd(a.view(), None, None),
            Err(Error::NonFinite)
        ));
    }
}
