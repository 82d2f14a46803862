//! getrf and laswp.

use crate::common::{changed, for_each_device, matrices, residual, same, shapes, Host};
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use cudafactor::device::lapack::LuInfo;

for_each_device!(
    factors_of_every_shape,
    multipliers_are_at_most_one,
    first_of_equal_pivots_wins,
    zero_pivots_are_reported,
    nan_does_not_stop_it,
    same_answer_twice,
    exchanges_and_back,
);

fn factor<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>) -> (Host<T>, LuInfo) {
    changed(device, a, Part::All, |m| device.getrf(m)).unwrap()
}

fn factors_of_every_shape<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for (kind, a) in matrices::rectangular::<T>(m, n) {
            let a = a.with_gap(3);
            let (lu, info) = factor(device, &a);
            assert_eq!(info.ipiv.len(), m.min(n));
            assert!(
                info.ipiv.iter().enumerate().all(|(i, &p)| p >= i && p < m),
                "{kind} {m} {n}"
            );
            let error = residual::lu(&a, &lu, &info.ipiv);
            assert!(error < residual::BACKWARD, "{kind} {m} {n}: {error}");
            let first = (0..m.min(n)).find(|&i| lu.at(i, i) == 0.0);
            assert_eq!(info.zero, first, "{kind} {m} {n}");
        }
    }
}

fn multipliers_are_at_most_one<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        let (lu, _) = factor(device, &matrices::random::<T>(m, n, 21));
        for j in 0..n.min(m) {
            for i in j + 1..m {
                assert!(lu.at(i, j).abs() <= 1.0 + T::EPS, "{m} {n} ({i}, {j})");
            }
        }
    }
}

fn first_of_equal_pivots_wins<T: Scalar, D: Device<T>>(device: &D) {
    // Every column's candidates are equal in magnitude, in exact arithmetic: a Hadamard matrix's
    // first column, and an identity, whose pivots are where they belong.
    for n in [1, 2, 40, 130] {
        let a = Host::<T>::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        let (lu, info) = factor(device, &a);
        assert!(same(&lu, &a));
        assert_eq!(info.ipiv, (0..n).collect::<Vec<_>>());
    }
    let a = Host::<T>::from_fn(300, 1, |i, _| match i {
        0..50 => 1.0,
        _ if i % 2 == 0 => 3.0,
        _ => -3.0,
    });
    assert_eq!(factor(device, &a).1.ipiv, [50]);
    // (1 1; 1 -1) x (1 1; 1 -1) ...: the exchanges of LAPACK's getf2.
    let a = Host::<T>::from_fn(4, 4, |i, j| {
        if (i & j).count_ones() % 2 == 0 {
            1.0
        } else {
            -1.0
        }
    });
    let (lu, info) = factor(device, &a);
    assert_eq!(info.ipiv, [0, 1, 2, 3]);
    assert_eq!(lu.at(3, 3), 4.0);
}

fn zero_pivots_are_reported<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 17, 64, 65, 200] {
        for k in [0, n / 2, n - 1] {
            // Column k is zero; the others are an upper triangle, so U is exact.
            let a = Host::<T>::from_fn(n, n, |i, j| {
                if i > j || j == k {
                    0.0
                } else {
                    f64::from((i + 2 * j) as u32 % 5 + 1)
                }
            });
            let (lu, info) = factor(device, &a);
            assert_eq!(info.zero, Some(k), "{n}");
            assert!(same(&lu, &a), "{n} {k}");
        }
    }
    // The factorization is completed after the zero.
    let a = Host::<T>::from_fn(3, 3, |i, j| {
        [[0.0, 1.0, 2.0], [0.0, 3.0, 4.0], [0.0, 6.0, 5.0]][i][j]
    });
    let (lu, info) = factor(device, &a);
    assert_eq!((info.zero, &info.ipiv[..]), (Some(0), &[0, 2, 2][..]));
    assert_eq!((lu.at(1, 1), lu.at(2, 1), lu.at(2, 2)), (6.0, 0.5, 1.5));
}

fn nan_does_not_stop_it<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 3, 40, 150] {
        let mut a = matrices::random::<T>(n, n, 22);
        a.set(n / 2, n / 2, f64::NAN);
        let (lu, info) = factor(device, &a);
        assert!(lu.at(n - 1, n - 1).is_nan(), "{n}");
        assert_eq!(info.zero, None, "{n}");
    }
}

fn same_answer_twice<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::random::<T>(600, 500, 23);
    let (first, second) = (factor(device, &a), factor(device, &a));
    assert!(same(&first.0, &second.0));
    assert_eq!(first.1, second.1);
}

fn exchanges_and_back<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 100), (300, 33)] {
        let b = matrices::random::<T>(m, n, 24).with_gap(1);
        let mut r = matrices::Random::new(5);
        let ipiv: Vec<usize> = (0..m)
            .map(|i| i + ((r.next().abs() * (m - i) as f64) as usize))
            .collect();
        let mut order: Vec<usize> = (0..m).collect();
        for (i, &p) in ipiv.iter().enumerate() {
            order.swap(i, p);
        }
        let (there, ()) =
            changed(device, &b, Part::All, |x| device.laswp(Trans::No, &ipiv, x)).unwrap();
        for j in 0..n {
            for (i, &from) in order.iter().enumerate() {
                assert_eq!(there.at(i, j), b.at(from, j), "{m} {n} ({i}, {j})");
            }
        }
        let (back, ()) = changed(device, &there, Part::All, |x| {
            device.laswp(Trans::Yes, &ipiv, x)
        })
        .unwrap();
        assert!(same(&back, &b), "{m} {n}");
    }
}
