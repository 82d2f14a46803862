//! Every kind of vectors makes the same of a block.

use faer::{Mat, MatMut};

use crate::backend::cpu::update::kernels::*;

/// A block of all rows, by one kind of vectors; in its own order of operations each.
fn changed<T: Scalar, S: Simd>(simd: S, change: Change, r: &Mat<T>, v: &Mat<T>) -> Mat<T> {
    let (mut r, mut v) = (r.clone(), v.clone());
    let each = Parts::new(v.ncols(), held_by(S::REGISTER_COUNT))
        .map(|part| part.len())
        .sum();
    let n = r.nrows();
    let mut coefficients = vec![T::from_f64(0.0); n * each];
    fn columns<T: Scalar>(a: MatMut<'_, T>) -> ColumnsMut<'_, T> {
        a.try_as_col_major_mut().unwrap()
    }
    // A corner of odd order, then what is right of it.
    let first = (n / 3) | 1;
    let (left, right) = r.as_mut().split_at_col_mut(first);
    let (v, mut rest) = v.as_mut().split_at_row_mut(first);
    let (own, others) = coefficients.split_at_mut(first * each);
    let corner = columns(left.subrows_mut(0, first));
    simd.vectorize(block(change, each, own, corner, columns(v)))
        .unwrap();
    let (above, below) = right.split_at_row_mut(first);
    simd.vectorize(Follow {
        coefficients: own,
        each,
        r: columns(above),
        v: columns(rest.as_mut()),
    });
    simd.vectorize(block(change, each, others, columns(below), columns(rest)))
        .unwrap();
    r
}

fn block<'a, T: Scalar>(
    change: Change,
    each: usize,
    coefficients: &'a mut [T],
    r: ColumnsMut<'a, T>,
    v: ColumnsMut<'a, T>,
) -> Lead<'a, T> {
    Lead {
        change,
        coefficients,
        each,
        r,
        v,
    }
}

fn all_vectors_agree<T: Scalar>() {
    for (n, k) in [(1, 1), (23, 2), (97, 3), (130, 11)] {
        let number = |i: usize, j: usize| ((7 * i + 13 * j + i * j) % 29) as f64 / 29.0 - 0.5;
        let r = Mat::from_fn(n, n, |i, j| {
            T::from_f64(match i.cmp(&j) {
                std::cmp::Ordering::Less => number(i, j),
                std::cmp::Ordering::Equal => 4.0 + number(i, j),
                std::cmp::Ordering::Greater => f64::NAN,
            })
        });
        let v = Mat::from_fn(n, k, |i, j| T::from_f64(number(j, i) / 4.0));
        for change in [Change::Up, Change::Down] {
            let want = changed(pulp::Scalar, change, &r, &v);
            let near = |got: Mat<T>| {
                for j in 0..n {
                    for i in 0..n {
                        let (got, want): (f64, f64) = (got[(i, j)].into(), want[(i, j)].into());
                        let far = (got - want).abs() > 100.0 * n as f64 * T::EPS;
                        assert!(
                            !far && got.is_nan() == (i > j),
                            "{n} {k} {i} {j}: {got} {want}"
                        );
                    }
                }
            };
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(simd) = pulp::x86::V3::try_new() {
                    near(changed(simd, change, &r, &v));
                }
                #[cfg(feature = "avx512")]
                if let Some(simd) = pulp::x86::V4::try_new() {
                    near(changed(simd, change, &r, &v));
                }
            }
            near(want.clone());
        }
    }
}

#[test]
fn all_vectors_agree_in_double_precision() {
    all_vectors_agree::<f64>();
}

#[test]
fn all_vectors_agree_in_single_precision() {
    all_vectors_agree::<f32>();
}
