//! Q and its products from R's `qr` objects.

use crate::common::{changed, for_each_device, matrices, residual, same, Host};
use cudafactor::algo::dense::qr::{lapack, linpack};
use cudafactor::algo::dense::qr_apply::{apply, form, ReflectorForm, Reflectors};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(both_forms, too_many_reflectors);

fn both_forms<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [
        (0, 3),
        (3, 0),
        (1, 1),
        (1, 4),
        (4, 1),
        (33, 31),
        (31, 33),
        (64, 64),
        (130, 65),
        (65, 130),
        (300, 129),
    ] {
        for (kind, a) in matrices::rectangular::<T>(m, n) {
            for shape in [ReflectorForm::Linpack, ReflectorForm::Lapack] {
                let what = format!("{kind} {m} {n} {shape:?}");
                let mut factor = Host::<T>::from_fn(m, n, |_, _| f64::NAN);
                let object = match shape {
                    ReflectorForm::Linpack => linpack(device, a.view(), 1e-5, factor.view_mut()),
                    ReflectorForm::Lapack => lapack(device, a.view(), factor.view_mut()),
                }
                .unwrap();
                let all = Reflectors {
                    form: shape,
                    matrix: factor.view(),
                    qraux: &object.qraux[..m.min(n)],
                };
                let mut q = Host::<T>::spread(m, m, 1, |_, _| f64::NAN);
                form(device, all, q.view_mut()).unwrap();
                q.assert_padding_untouched();
                let lost = residual::orthogonality(&q);
                assert!(lost < residual::ORTHOGONAL, "{what}: orthogonality {lost}");
                let permuted = Host::<T>::from_fn(m, n, |i, j| a.at(i, object.jpvt[j]));
                let error = residual::qr(&permuted, &q, &factor);
                assert!(error < residual::BACKWARD, "{what}: {error}");
                // Fewer columns are the first ones, and products are those with the reflectors one
                // after the other.
                let mut some = Host::<T>::from_fn(m, m.min(n), |_, _| f64::NAN);
                form(device, all, some.view_mut()).unwrap();
                let y = matrices::random::<T>(m, 3, 61);
                let mut there = Host::<T>::from_fn(m, 3, |_, _| f64::NAN);
                apply(device, Trans::Yes, all, y.view(), there.view_mut()).unwrap();
                let mut back = Host::<T>::from_fn(m, 3, |_, _| f64::NAN);
                apply(device, Trans::No, all, there.view(), back.view_mut()).unwrap();
                let bound = residual::BACKWARD * m as f64 * T::EPS;
                for j in 0..m.min(n) {
                    assert!(
                        (0..m).all(|i| (some.at(i, j) - q.at(i, j)).abs() < bound),
                        "{what}: {j}"
                    );
                }
                for i in 0..m {
                    for j in 0..3 {
                        let sum: f64 = (0..m).map(|l| q.at(l, i) * y.at(l, j)).sum();
                        assert!(
                            (sum - there.at(i, j)).abs() < bound * m as f64,
                            "{what}: Q'y"
                        );
                        assert!((back.at(i, j) - y.at(i, j)).abs() < bound, "{what}: QQ'y");
                    }
                }
            }
        }
    }
}

fn too_many_reflectors<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::random::<T>(3, 2, 62);
    let mut q = Host::<T>::from_fn(3, 3, |_, _| 0.0);
    let reflectors = Reflectors {
        form: ReflectorForm::Lapack,
        matrix: a.view(),
        qraux: &[1.0; 3],
    };
    let got = form(device, reflectors, q.view_mut());
    assert!(matches!(got, Err(Error::Dimension { .. })), "{got:?}");
    // The identity has any shape.
    for (m, n) in [(0, 2), (2, 0), (3, 5), (70, 33)] {
        let a = Host::<T>::from_fn(m, n, |_, _| f64::NAN);
        let (identity, ()) = changed(device, &a, Part::All, |x| device.set_identity(x)).unwrap();
        let expected = Host::<T>::from_fn(m, n, |i, j| f64::from(u8::from(i == j)));
        assert!(same(&identity, &expected), "{m} {n}");
    }
}
