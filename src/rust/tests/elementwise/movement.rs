//! Transposes, diagonals and parts, entry by entry; shapes that do not fit.

use crate::common::{edge_shapes, for_each_device, matrices, same, written, Host};
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::{Elementwise, Index, Operand};
use cudafactor::device::functions::{Map, Zip};

for_each_device!(
    transposes,
    diagonals_are_set,
    parts_are_gathered,
    parts_are_scattered,
    wrong_shapes_are_refused,
);

fn transposes<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in edge_shapes() {
        let a = matrices::random::<T>(m, n, 50).with_gap(1);
        let there = device.load(a.view()).unwrap();
        let got = written::<T, D>(device, n, m, 2, |out| device.transpose(&there, out)).unwrap();
        assert!(
            same(&got, &Host::from_fn(n, m, |i, j| a.at(j, i))),
            "{m} {n}"
        );
    }
}

fn diagonals_are_set<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in edge_shapes().into_iter().filter(|(m, n)| m * n < 100_000) {
        let a = matrices::random::<T>(m, n, 51);
        let k = m.min(n);
        let many: Vec<T> = (0..k).map(|i| T::from_f64(i as f64 + 0.5)).collect();
        for values in [many, vec![T::from_f64(-3.0)]] {
            let (got, ()) =
                crate::common::changed(device, &a, cudafactor::base::matrix::Part::All, |x| {
                    device.set_diagonal(&values, x)
                })
                .unwrap();
            let at = |i: usize| -> f64 { values[if values.len() == 1 { 0 } else { i }].into() };
            let want = Host::<T>::from_fn(m, n, |i, j| if i == j { at(i) } else { a.at(i, j) });
            assert!(same(&got, &want), "{m} {n}");
        }
    }
}

/// `count` places below `length`, all different if there are enough, and none for every seventh.
fn places(count: usize, length: usize) -> Vec<i32> {
    (0..count)
        .map(|k| {
            if k % 7 == 6 || k >= length {
                -1
            } else {
                (k * 7919 % length.max(1)) as i32
            }
        })
        .collect()
}

fn distinct(mut list: Vec<i32>) -> Vec<i32> {
    for k in 0..list.len() {
        if list[..k].contains(&list[k]) {
            list[k] = -1;
        }
    }
    list
}

fn parts_are_gathered<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 65), (600, 40)] {
        let a = matrices::random::<T>(m, n, 52).with_gap(1);
        let there = device.load(a.view()).unwrap();
        for (rows, cols) in [(0, 2), (1, 1), (m, n), (m, 2 * n), (m + 3, 1), (2 * m, n)] {
            let (listed_rows, listed_cols) = (places(rows, m), places(cols, n));
            for (ri, ci) in [
                (Index::List(&listed_rows), Index::List(&listed_cols)),
                (
                    Index::From(m.saturating_sub(rows)),
                    Index::List(&listed_cols),
                ),
                (
                    Index::List(&listed_rows),
                    Index::From(n.saturating_sub(cols)),
                ),
                (Index::From(0), Index::From(0)),
            ] {
                let fits = ri.check(rows, m).is_ok() && ci.check(cols, n).is_ok();
                let got = written::<T, D>(device, rows, cols, 1, |out| {
                    device.gather(ri, ci, T::from_f64(-9.0), &there, out)
                });
                assert_eq!(got.is_ok(), fits, "{m} {n} {rows} {cols}");
                if let Ok(got) = got {
                    let want = Host::<T>::from_fn(rows, cols, |i, j| match (ri.at(i), ci.at(j)) {
                        (Some(i), Some(j)) => a.at(i, j),
                        _ => -9.0,
                    });
                    assert!(same(&got, &want), "{m} {n} {rows} {cols}");
                }
            }
        }
    }
}

fn parts_are_scattered<T: Scalar, D: Elementwise<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 65), (600, 40)] {
        let a = matrices::random::<T>(m, n, 53);
        for (rows, cols) in [(0, 1), (1, 1), (m, n), (m, 1), (m / 2, n / 2 + 1)] {
            let b = matrices::random::<T>(rows, cols, 54).with_gap(2);
            let v = matrices::random::<T>(3, 1, 55);
            let (there, three) = (
                device.load(b.view()).unwrap(),
                device.load(v.view()).unwrap(),
            );
            let (listed_rows, listed_cols) = (distinct(places(rows, m)), distinct(places(cols, n)));
            for (ri, ci) in [
                (Index::List(&listed_rows), Index::List(&listed_cols)),
                (Index::From(m - rows), Index::List(&listed_cols)),
                (Index::From(m - rows), Index::From(n - cols)),
            ] {
                for which in 0..3 {
                    let from = match which {
                        0 => Operand::Matrix(&there),
                        1 => Operand::Number(0.25),
                        _ => Operand::Recycled(&three),
                    };
                    let mut want = a.clone();
                    for j in 0..cols {
                        for i in 0..rows {
                            let value = [b.at(i, j), 0.25, v.at((i + j * rows) % 3, 0)][which];
                            if let (Some(i), Some(j)) = (ri.at(i), ci.at(j)) {
                                want.set(i, j, value);
                            }
                        }
                    }
                    let (got, ()) = crate::common::changed(
                        device,
                        &a,
                        cudafactor::base::matrix::Part::All,
                        |x| device.scatter(ri, ci, (rows, cols), from, x),
                    )
                    .unwrap();
                    assert!(same(&got, &want), "{m} {n} {rows} {cols} {which}");
                }
            }
        }
    }
}

fn wrong_shapes_are_refused<T: Scalar, D: Elementwise<T>>(device: &D) {
    let a = matrices::random::<T>(4, 3, 56);
    let there = device.load(a.view()).unwrap();
    let nothing = Host::<T>::from_fn(0, 1, |_, _| 0.0);
    let nothing = device.load(nothing.view()).unwrap();
    let mut out = device.blank(3, 3).unwrap();
    let one = Operand::Number(1.0);
    let refused = [
        device.map(Map::Exp, &there, &mut out).map(|_| ()),
        device.zip(Zip::Add, Operand::Matrix(&there), one, &mut out),
        device.zip(Zip::Add, one, Operand::Recycled(&nothing), &mut out),
        device.transpose(&there, &mut out),
        device.set_diagonal(&[T::from_f64(1.0); 2], &mut out),
        device.gather(
            Index::From(2),
            Index::From(0),
            T::from_f64(0.0),
            &there,
            &mut out,
        ),
        device.scatter(Index::From(0), Index::List(&[3]), (3, 1), one, &mut out),
        device.scatter(
            Index::From(0),
            Index::From(0),
            (3, 3),
            Operand::Matrix(&there),
            &mut out,
        ),
    ];
    for (i, outcome) in refused.into_iter().enumerate() {
        assert!(
            matches!(outcome, Err(Error::Dimension { .. })),
            "{i}: {outcome:?}"
        );
    }
}
