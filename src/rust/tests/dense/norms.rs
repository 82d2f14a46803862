//! norm1, column_norms, diagonal, and what memory verbs promise.

use crate::common::{changed, for_each_device, matrices, same, written, Host, SIZES};
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    one_norms,
    column_norms,
    column_norms_at_the_ends_of_the_range,
    diagonals,
    parts_are_copied,
    identities,
    copies_are_read_back,
);

/// Close up to rounding of a sum of `n` terms.
fn close<T: Scalar>(x: f64, y: f64, n: usize) -> bool {
    approx::relative_eq!(
        x,
        y,
        max_relative = T::EPS * (n as f64 + 4.0),
        epsilon = 0.0
    )
}

fn one_norms<T: Scalar, D: Device<T>>(device: &D) {
    let norm = |a: &Host<T>| device.norm1(&device.load(a.view()).unwrap()).unwrap();
    for n in SIZES {
        for (m, n) in [(n, n), (n, 3), (3, n)] {
            let a = matrices::random::<T>(m, n, 31).with_gap(2);
            let want = (0..n)
                .map(|j| (0..m).map(|i| a.at(i, j).abs()).sum())
                .fold(0.0, f64::max);
            let got = norm(&a);
            assert!(close::<T>(got, want, m), "{m} {n}: {got}, not {want}");
        }
    }
    for at in [0, 50, 99] {
        let mut a = matrices::random::<T>(70, 100, 32);
        a.set(at % 70, at, f64::INFINITY);
        assert_eq!(norm(&a), f64::INFINITY);
        a.set(7, 5, f64::NAN);
        assert!(norm(&a).is_nan());
    }
}

fn column_norms<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES.into_iter().chain([5000]) {
        let mut a = matrices::random::<T>(n, 5, 33).with_gap(1);
        for i in 0..n {
            a.set(i, 2, 0.0);
        }
        let got = device
            .column_norms(&device.load(a.view()).unwrap())
            .unwrap();
        assert_eq!(got.len(), 5);
        for (j, got) in got.into_iter().enumerate() {
            let want = (0..n).map(|i| a.at(i, j).powi(2)).sum::<f64>().sqrt();
            assert!(close::<T>(got, want, n), "{n} {j}: {got}, not {want}");
        }
    }
}

fn column_norms_at_the_ends_of_the_range<T: Scalar, D: Device<T>>(device: &D) {
    for s in matrices::extreme_scales::<T>() {
        let a = Host::<T>::from_fn(100, 3, |i, j| s * f64::from((i + j) as u32 % 7));
        let got = device
            .column_norms(&device.load(a.view()).unwrap())
            .unwrap();
        for (j, got) in got.into_iter().enumerate() {
            let want = (0..100)
                .map(|i| (a.at(i, j) / s).powi(2))
                .sum::<f64>()
                .sqrt();
            assert!(close::<T>(got / s, want, 100), "{s} {j}: {got}");
        }
    }
    let mut a = matrices::random::<T>(100, 3, 34);
    a.set(50, 0, f64::NEG_INFINITY);
    a.set(20, 1, f64::NAN);
    let got = device
        .column_norms(&device.load(a.view()).unwrap())
        .unwrap();
    assert!(got[0] == f64::INFINITY && got[1].is_nan() && got[2].is_finite());
}

fn diagonals<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(0, 0), (0, 4), (1, 1), (5, 3), (3, 5), (200, 200)] {
        let a = matrices::random::<T>(m, n, 35).with_gap(2);
        let got = device.diagonal(&device.load(a.view()).unwrap()).unwrap();
        let want: Vec<f64> = (0..m.min(n)).map(|i| a.at(i, i)).collect();
        assert_eq!(got.into_iter().map(Into::into).collect::<Vec<f64>>(), want);
    }
}

fn parts_are_copied<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [
        (0, 0),
        (1, 1),
        (5, 3),
        (3, 5),
        (64, 65),
        (1000, 30),
        (300, 300),
    ] {
        let mut a = matrices::random::<T>(m, n, 36).with_gap(3);
        if m > 2 && n > 2 {
            a.set(2, 0, f64::NAN);
            a.set(0, 2, f64::INFINITY);
        }
        for part in [Part::All, Part::Upper, Part::Lower] {
            let want = Host::<T>::from_fn(m, n, |i, j| match part {
                Part::Upper if i > j => 0.0,
                Part::Lower if i < j => 0.0,
                _ => a.at(i, j),
            });
            let (got, ()) = changed(device, &a, part, |_| Ok(())).unwrap();
            assert!(same(&got, &want), "{m} {n} {part:?}");
            let temporary = device.load_temporary(a.view(), part).unwrap();
            assert_eq!(device.shape(&temporary), (m, n));
            let mut read = Host::<T>::spread(m, n, 2, |_, _| f64::NAN);
            device.read(&temporary, read.view_mut()).unwrap();
            read.assert_padding_untouched();
            assert!(same(&read, &want), "{m} {n} {part:?}");
            let (again, ()) = changed(device, &matrices::random(m, n, 37), Part::All, |x| {
                device.refill(a.view(), part, x)
            })
            .unwrap();
            assert!(same(&again, &want), "{m} {n} {part:?}");
        }
    }
}

fn identities<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES {
        let got = written::<T, D>(device, n, n, 1, |x| device.set_identity(x)).unwrap();
        for j in 0..n {
            for i in 0..n {
                assert_eq!(got.at(i, j), f64::from(u8::from(i == j)));
            }
        }
    }
}

fn copies_are_read_back<T: Scalar, D: Device<T>>(device: &D) {
    let zeros = device.zeros(33, 20).unwrap();
    let mut out = Host::<T>::spread(33, 20, 1, |_, _| f64::NAN);
    device.read(&zeros, out.view_mut()).unwrap();
    assert!(out.all(|v| v == 0.0));
    let a = matrices::random::<T>(33, 20, 38);
    device
        .read(&device.load(a.view()).unwrap(), out.view_mut())
        .unwrap();
    assert!(same(&out, &a));
}
