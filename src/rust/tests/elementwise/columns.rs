//! Columns times numbers, and inner products of columns.

use crate::common::{edge_shapes, for_each_device, matrices, Host};
use cudafactor::algo::krylov::blocks::Blocks;
use cudafactor::algo::krylov::device_blocks::OnDevice;
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::{Elementwise, Scaling};
use faer::Mat;

for_each_device!(
    columns_are_scaled,
    inner_products,
    a_column_is_as_if_it_were_alone,
    norms_of_any_size,
    shapes_must_fit,
);

fn factors(n: usize) -> Vec<f64> {
    (0..n).map(|c| 0.3 * c as f64 - 1.1).collect()
}

fn read<T: Scalar, D: Elementwise<T>>(device: &D, a: &D::Mat<'static>) -> Mat<T> {
    let (m, n) = device.shape(a);
    let mut out = Mat::zeros(m, n);
    device.read(a, out.as_mut()).unwrap();
    out
}

fn columns_are_scaled<T: Scalar, D: Elementwise<T>>(device: &D) {
    let shapes = edge_shapes().into_iter().chain([(70_001, 9), (5, 19)]);
    for (m, n) in shapes.filter(|(m, n)| m * n > 0) {
        let (x, y) = (
            matrices::random::<T>(m, n, 1),
            matrices::random::<T>(m, n, 2),
        );
        let (there, by) = (device.load(x.view()).unwrap(), factors(n));
        for how in [Scaling::Replace, Scaling::Add, Scaling::Onto] {
            let mut out = device.load_temporary(y.view(), Part::All).unwrap();
            device.scale_columns(&there, &by, how, &mut out).unwrap();
            let got = read(device, &out);
            for (i, j) in (0..n).flat_map(|j| (0..m).map(move |i| (i, j))) {
                let (x, y) = (x.at(i, j), y.at(i, j));
                let want = match how {
                    Scaling::Replace => by[j] * x,
                    Scaling::Add => y + by[j] * x,
                    Scaling::Onto => x + by[j] * y,
                };
                // Rounded alike everywhere.
                assert_eq!(got[(i, j)], T::from_f64(want), "{m} x {n}, {i} {j}");
            }
        }
    }
}

fn inner_products<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in edge_shapes().into_iter().chain([(300_007, 3), (2049, 9)]) {
        let (x, y) = (
            matrices::random::<T>(m, n, 3),
            matrices::random::<T>(m, n, 4),
        );
        let (a, b) = (
            device.load(x.view()).unwrap(),
            device.load(y.view()).unwrap(),
        );
        let got = device.column_dots(&a, &b).unwrap();
        assert_eq!(got.len(), n);
        for (j, got) in got.into_iter().enumerate() {
            let products = (0..m).map(|i| x.at(i, j) * y.at(i, j));
            let (want, size) = products.fold((0.0, 0.0), |(s, t), p: f64| (s + p, t + p.abs()));
            assert!(
                (got - want).abs() <= 1e-12 * size,
                "{m} x {n}: {got} {want}"
            );
        }
    }
}

/// Bit by bit, also beside one with NaN.
fn a_column_is_as_if_it_were_alone<T: Scalar, D: Elementwise<T>>(device: &D) {
    let m = 100_003;
    let entry = |i: usize, j: usize| match (i, j) {
        (17, 3) => f64::NAN,
        _ => ((i * 7919 + j * 104_729) % 1000) as f64 / 331.0 - 1.5,
    };
    let x = Host::<T>::from_fn(m, 10, entry);
    let all = device.load(x.view()).unwrap();
    let by = factors(10);
    let mut out = device.zeros(m, 10).unwrap();
    device
        .scale_columns(&all, &by, Scaling::Add, &mut out)
        .unwrap();
    let (scaled, dots) = (read(device, &out), device.column_dots(&all, &all).unwrap());
    for j in 0..10 {
        let column = Host::<T>::from_fn(m, 1, |i, _| entry(i, j));
        let one = device.load(column.view()).unwrap();
        let mut out = device.zeros(m, 1).unwrap();
        device
            .scale_columns(&one, &by[j..j + 1], Scaling::Add, &mut out)
            .unwrap();
        let dot = device.column_dots(&one, &one).unwrap()[0];
        assert_eq!((dots[j].is_nan(), dot.is_nan()), (j == 3, j == 3));
        if j != 3 {
            assert_eq!(dots[j], dot);
            assert_eq!(scaled.as_ref().subcols(j, 1), read(device, &out).as_ref());
        }
    }
}

/// Squares overflow and underflow, of some columns.
fn norms_of_any_size<T: Scalar, D: Elementwise<T>>(device: &D) {
    let (large, small) = if T::SUFFIX == "f64" {
        (1e200, 1e-200)
    } else {
        (1e30, 1e-30)
    };
    let sizes = [1.0, large, small, 0.0];
    let a = Host::<T>::from_fn(3000, 4, |_, j| sizes[j]);
    let there = device.load_temporary(a.view(), Part::All).unwrap();
    let norms = OnDevice::<T, D>::new(device).norms(&there).unwrap();
    for (norm, size) in norms.into_iter().zip(sizes) {
        let want: f64 = T::from_f64(size).into();
        let want = want * 3000f64.sqrt();
        assert!((norm - want).abs() <= 1e-6 * want, "{norm:e} {want:e}");
    }
}

fn shapes_must_fit<T: Scalar, D: Elementwise<T>>(device: &D) {
    let (a, b) = (device.zeros(4, 3).unwrap(), device.zeros(4, 2).unwrap());
    let mut c = device.zeros(4, 3).unwrap();
    assert!(device.column_dots(&a, &b).is_err());
    assert!(device
        .scale_columns(&b, &[1.0; 2], Scaling::Add, &mut c)
        .is_err());
    assert!(device
        .scale_columns(&a, &[1.0; 2], Scaling::Add, &mut c)
        .is_err());
    assert!(device
        .scale_columns(&a, &[1.0; 3], Scaling::Add, &mut c)
        .is_ok());
}
