//! Larger matrices, checked by products with vectors of signs. A GPU gets the largest ones.

use super::common::matrices::random;
use super::common::Host;
use super::ALLOWED;
use cudafactor::algo::dense::{eigen, svd};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::processor::Processor;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::spectral::SingularValues;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

/// `large_on!(body, ...)`: tests of `body<D>(&D)` on both processors, in double precision.
macro_rules! large_on {
    ($($body:ident),* $(,)?) => {$(
        mod $body {
            #[test]
            fn cpu_f64() {
                super::$body(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_f64() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body(&gpu);
                }
            }
        }
    )*};
}

large_on!(symmetric_matrices, a_tall_matrix);

/// Four vectors of signs.
fn signs(n: usize) -> Mat<f64> {
    let base = random::<f64>(n, 4, 31);
    Mat::from_fn(n, 4, |i, j| if base.at(i, j) < 0.5 { -1.0 } else { 1.0 })
}

fn times(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul(&mut c, Accum::Replace, a, b, 1.0, Par::rayon(2));
    c
}

/// `diag(d) x`.
fn scaled(d: &[f64], x: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| d[i] * x[(i, j)])
}

/// Asserts on such vectors that `A = left diag(d) right'` with orthonormal columns of both.
fn is_right(
    name: &str,
    a: MatRef<'_, f64>,
    d: &[f64],
    left: MatRef<'_, f64>,
    right: MatRef<'_, f64>,
) {
    let n = right.nrows();
    let unit = ALLOWED * n as f64 * f64::EPSILON;
    let s = signs(d.len());
    let largest = d.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    let size = s.norm_l2();
    let error = times(a, times(right, s.as_ref()).as_ref()) - times(left, scaled(d, &s).as_ref());
    let residual = error.norm_l2() / (largest * size);
    assert!(residual <= unit, "{name}: residual {residual:e}");
    for side in [left, right] {
        let there = times(side, s.as_ref());
        let loss = (times(side.transpose(), there.as_ref()) - &s).norm_l2() / size;
        assert!(loss <= unit, "{name}: orthogonality {loss:e}");
    }
    assert!(d.windows(2).all(|d| d[0] >= d[1]), "{name}: order");
}

fn symmetric_matrices<D: Elementwise<f64> + SingularValues<f64>>(dev: &D) {
    let orders: &[usize] = match dev.processor() {
        Processor::Cpu if super::common::few() => &[200],
        Processor::Cpu => &[1000],
        Processor::Cuda(_) => &[1000, 4097],
    };
    for &n in orders {
        let base = random::<f64>(n, n, 32);
        let grade = |i: usize| 10f64.powf(-10.0 * i as f64 / n as f64);
        let entry = |i: usize, j: usize| base.at(i.max(j), i.min(j));
        let wilkinson = |i: usize, j: usize| match i.abs_diff(j) {
            0 => (i as f64 - (n as f64 - 1.0) / 2.0).abs(),
            1 => 1.0,
            _ => 0.0,
        };
        let rank_one = |i: usize, j: usize| f64::from(i == j) + entry(i, 0) * entry(j, 0);
        let kinds: [(&str, Host<f64>); 5] = [
            ("random", Host::from_fn(n, n, entry)),
            ("tiny", Host::from_fn(n, n, |i, j| 1e-300 * entry(i, j))),
            (
                "graded",
                Host::from_fn(n, n, |i, j| grade(i) * grade(j) * entry(i, j)),
            ),
            ("Wilkinson", Host::from_fn(n, n, wilkinson)),
            ("all equal but one", Host::from_fn(n, n, rank_one)),
        ];
        for (name, a) in &kinds {
            let name = format!("{name}, {n}");
            let mut z = Host::from_fn(n, n, |_, _| f64::NAN);
            let w: Vec<f64> = eigen::symmetric(dev, a.view(), Some(z.view_mut())).unwrap();
            let by = if name.starts_with("tiny") { 1e300 } else { 1.0 };
            let wide = Mat::from_fn(n, n, |i, j| a.at(i, j) * by);
            let d: Vec<f64> = w.iter().map(|w| w * by).collect();
            is_right(&name, wide.as_ref(), &d, z.view(), z.view());
            let alone: Vec<f64> = eigen::symmetric::<_, f64, _>(dev, a.view(), None).unwrap();
            let size = w[0].abs().max(w[n - 1].abs());
            let unit = ALLOWED * n as f64 * f64::EPSILON * size;
            assert!(
                alone.iter().zip(&w).all(|(x, y)| (x - y).abs() <= unit),
                "{name}: values"
            );
        }
    }
}

fn a_tall_matrix<D: Elementwise<f64> + SingularValues<f64>>(dev: &D) {
    let m = match dev.processor() {
        Processor::Cpu if super::common::few() => 2000,
        Processor::Cpu => 100_000,
        Processor::Cuda(_) => 1_000_000,
    };
    let n = 50;
    let base = random::<f64>(m, n, 33);
    // Of a small condition, and of a large one.
    for ratio in [1.0, 0.5f64] {
        let a = Host::<f64>::from_fn(m, n, |i, j| base.at(i, j) * ratio.powi(j as i32));
        decomposes(dev, &a);
    }
}

fn decomposes<D: Elementwise<f64> + SingularValues<f64>>(dev: &D, a: &Host<f64>) {
    let (m, n) = (a.rows, a.cols);
    let (mut u, mut v) = (
        Host::from_fn(m, n, |_, _| 0.0),
        Host::from_fn(n, n, |_, _| 0.0),
    );
    let host = CpuDevice::new(1);
    let d: Vec<f64> = svd::svd(
        dev,
        Some(&host),
        a.view(),
        Some(u.view_mut()),
        Some(v.view_mut()),
    )
    .unwrap();
    is_right("tall", a.view(), &d, u.view(), v.view());
}
