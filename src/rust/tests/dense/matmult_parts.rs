//! Products with room for a part of the operands and of the result.

use crate::common::{for_each_device, matrices, Host};
use cudafactor::algo::dense::matmult_blocks::{product, room, self_product};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::Trans;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;

for_each_device!(
    parts_make_the_whole,
    self_products_are_symmetric,
    missing_values_go_where_they_belong,
    too_little_is_told,
);

const BOTH: [Trans; 2] = [Trans::No, Trans::Yes];

/// What `op(x) op(y)` is, and sums of magnitudes.
fn exact<T: Scalar>(
    tx: Trans,
    x: &Host<T>,
    ty: Trans,
    y: &Host<T>,
) -> (faer::Mat<f64>, faer::Mat<f64>) {
    let op = |t: Trans, a: &Host<T>| match t {
        Trans::No => a.wide(),
        Trans::Yes => a.wide().transpose().to_owned(),
    };
    let size =
        |a: &faer::Mat<f64>| faer::Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)].abs());
    let (a, b) = (op(tx, x), op(ty, y));
    (&a * &b, size(&a) * size(&b))
}

fn check<T: Scalar>(got: &Host<T>, (want, size): &(faer::Mat<f64>, faer::Mat<f64>), terms: usize) {
    for j in 0..got.cols {
        for i in 0..got.rows {
            let bound = T::EPS * (terms + 2) as f64 * size[(i, j)];
            let off = (got.at(i, j) - want[(i, j)]).abs();
            assert!(off <= bound, "({i}, {j}): {off} > {bound}");
        }
    }
}

fn parts_make_the_whole<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    for (m, k, n) in [
        (1, 1, 1),
        (0, 3, 4),
        (3, 0, 4),
        (65, 130, 33),
        (200, 129, 257),
        (7, 900, 5),
        (600, 3, 2),
    ] {
        for tx in BOTH {
            for ty in BOTH {
                let (xs, ys) = (tx.shape((m, k)), ty.shape((k, n)));
                let x = matrices::random::<T>(xs.0, xs.1, 1).with_gap(3);
                let y = matrices::random::<T>(ys.0, ys.1, 2);
                let want = exact(tx, &x, ty, &y);
                for room in [300.0, 5000.0, 40_000.0, 1e7] {
                    let mut out = Host::<T>::from_fn(m, n, |_, _| f64::NAN).with_gap(2);
                    product(dev, (tx, x.view()), (ty, y.view()), room, out.view_mut()).unwrap();
                    check(&out, &want, k);
                    out.assert_padding_untouched();
                }
            }
        }
    }
}

fn self_products_are_symmetric<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    for (m, n) in [(1, 1), (0, 5), (50, 40), (30, 300), (700, 130)] {
        let x = matrices::random::<T>(m, n, 3);
        for trans in BOTH {
            let other = if trans.is_yes() {
                Trans::No
            } else {
                Trans::Yes
            };
            let want = exact(trans, &x, other, &x);
            let (order, terms) = if trans.is_yes() { (n, m) } else { (m, n) };
            for room in [300.0, 6000.0, 50_000.0, 1e7] {
                let mut out = Host::<T>::from_fn(order, order, |_, _| f64::NAN);
                self_product(dev, trans, x.view(), room, out.view_mut()).unwrap();
                check(&out, &want, terms);
                for j in 0..order {
                    assert!((0..j).all(|i| out.at(i, j).to_bits() == out.at(j, i).to_bits()));
                }
            }
        }
    }
}

fn missing_values_go_where_they_belong<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let mut x = matrices::random::<T>(90, 70, 4);
    x.set(40, 69, f64::NAN);
    x.set(3, 0, f64::INFINITY);
    let y = matrices::random::<T>(70, 50, 5);
    let mut out = Host::<T>::from_fn(90, 50, |_, _| 0.0);
    product(
        dev,
        (Trans::No, x.view()),
        (Trans::No, y.view()),
        2000.0,
        out.view_mut(),
    )
    .unwrap();
    for j in 0..50 {
        for i in 0..90 {
            let value = out.at(i, j);
            match i {
                40 => assert!(value.is_nan()),
                3 => assert!(value.is_infinite()),
                _ => assert!(value.is_finite()),
            }
        }
    }
}

fn too_little_is_told<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let x = matrices::random::<T>(30, 30, 6);
    let mut out = Host::<T>::from_fn(30, 30, |_, _| 0.0);
    let failed = product(
        dev,
        (Trans::No, x.view()),
        (Trans::No, x.view()),
        2.0,
        out.view_mut(),
    );
    assert!(matches!(failed, Err(Error::Argument { .. })), "{failed:?}");
    // A device asks for parts where its memory is limited, the host never does.
    let wanted = room::<T, D>(dev, 1e4, 1e6);
    assert_eq!(wanted.is_some(), dev.has_own_memory());
    assert!(wanted.is_none_or(|numbers| numbers * size_of::<T>() as f64 <= 1e4));
    assert_eq!(room::<T, D>(dev, f64::INFINITY, 1e9), None);
}
