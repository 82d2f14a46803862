//! Rows and columns taken out of a Cholesky factor, and put in.

use crate::common::{for_each_device, matrices, residual, same, Host};
use cudafactor::algo::update::rows::{with, with_resident, without, without_resident};
use cudafactor::base::error::{Error, Result};
use cudafactor::base::matrix::{Part, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::update::FactorUpdate;
use faer::Mat;

for_each_device!(
    rows_go,
    rows_come,
    what_goes_comes_back,
    says_which_minor_is_lost,
    what_does_not_fit_is_refused,
);

const ORDERS: [usize; 7] = [1, 2, 17, 33, 64, 129, 200];

/// A definite matrix whose entries, and those of whose factor, are known: the factor with `NaN`
/// where nothing may be read.
fn factor<T: Scalar>(n: usize) -> Host<T> {
    let r = matrices::random::<f64>(n, n, 71);
    Host::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => r.at(i, j) / (n as f64).sqrt(),
        std::cmp::Ordering::Equal => 1.5 + r.at(i, j).abs(),
        std::cmp::Ordering::Greater => f64::NAN,
    })
}

fn product<T: Scalar>(r: &Host<T>) -> Mat<f64> {
    let n = r.rows;
    let r = Mat::from_fn(n, n, |i, j| if i <= j { r.at(i, j) } else { 0.0 });
    residual::product(r.transpose(), r.as_ref())
}

fn transposed<T: Scalar>(r: &Host<T>) -> Host<T> {
    Host::from_fn(r.cols, r.rows, |i, j| r.at(j, i))
}

fn chosen(n: usize) -> Vec<Vec<usize>> {
    let every = |step| (0..n).step_by(step).collect::<Vec<_>>();
    let mut all = vec![vec![], vec![0], vec![n - 1], every(1), every(3)];
    if n > 8 {
        all.push(vec![3, 4, 5]);
        all.push(vec![1, 6, 7, n - 2]);
        all.push((n / 2..n).collect());
    }
    all
}

fn is_factor<T: Scalar>(r: &Host<T>, of: &Host<f64>, what: &str) {
    for j in 0..r.cols {
        assert!(r.at(j, j) > 0.0, "{what}: diagonal {j}");
        assert!((j + 1..r.rows).all(|i| r.at(i, j) == 0.0), "{what}: below");
    }
    let wide = Host::<f64>::from_fn(r.rows, r.cols, |i, j| r.at(i, j));
    let error = residual::cholesky(of, &wide) * f64::EPSILON / T::EPS;
    assert!(error < 10.0 * residual::BACKWARD, "{what}: {error}");
}

fn read<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D, a: &D::Mat<'_>) -> Host<T> {
    let (rows, cols) = dev.shape(a);
    let mut found = Host::<T>::from_fn(rows, cols, |_, _| 7e30);
    dev.read(a, found.view_mut()).unwrap();
    found
}

/// The smaller factor, the same on all ways to it.
fn smaller<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    r: &Host<T>,
    rows: &[usize],
) -> Host<T> {
    let left = r.rows - rows.len();
    let fresh = || Host::<T>::from_fn(left, left, |_, _| 7e30).with_gap(2);
    let (before, lower) = (r.clone(), transposed(r));
    let mut out = fresh();
    without(dev, Uplo::Upper, r.view(), rows, out.view_mut()).unwrap();
    assert!(same(&before, r), "input was changed");
    let mut low = fresh();
    without(dev, Uplo::Lower, lower.view(), rows, low.view_mut()).unwrap();
    let there = dev.load_temporary(r.view(), Part::All).unwrap();
    let held = read(
        dev,
        &without_resident(dev, Uplo::Upper, &there, rows).unwrap(),
    );
    assert!(same(&held, &out) && same(&transposed(&low), &out));
    assert!(same(&read(dev, &there), r), "input was changed");
    out
}

/// The larger one.
fn larger<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    r: &Host<T>,
    at: usize,
    x: &Host<T>,
) -> Result<(Host<T>, f64)> {
    let size = x.rows;
    let fresh = || Host::<T>::from_fn(size, size, |_, _| 7e30).with_gap(2);
    let (before, lower) = (r.clone(), transposed(r));
    let (mut out, mut low) = (fresh(), fresh());
    let done = with(dev, Uplo::Upper, r.view(), at, x.view(), out.view_mut());
    assert!(same(&before, r), "input was changed");
    let below = with(dev, Uplo::Lower, lower.view(), at, x.view(), low.view_mut());
    let on = |a: &Host<T>| dev.load_temporary(a.view(), Part::All).unwrap();
    let (r, x) = (on(r), on(x));
    let there = with_resident(dev, Uplo::Upper, &r, at, &x);
    assert_eq!(done, below);
    match there {
        Err(e) => assert_eq!(done.as_ref().err(), Some(&e)),
        Ok((there, margin)) => {
            assert_eq!(done, Ok(margin));
            assert!(same(&read(dev, &there), &out) && same(&transposed(&low), &out));
        }
    }
    done.map(|margin| (out, margin))
}

fn rows_go<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    for n in ORDERS {
        let r = factor::<T>(n);
        let a = product(&r);
        for rows in chosen(n) {
            let left: Vec<usize> = (0..n).filter(|i| !rows.contains(i)).collect();
            let m = left.len();
            let want = Host::<f64>::from_fn(m, m, |i, j| a[(left[i], left[j])]);
            let what = format!("{n} without {rows:?}");
            is_factor(&smaller(dev, &r, &rows), &want, &what);
        }
    }
    let empty = Host::<T>::from_fn(0, 0, |_, _| 0.0);
    assert_eq!(smaller(dev, &empty, &[]).rows, 0);
}

/// A matrix, its factor without some rows that follow one another, and the columns that bring them.
fn parts<T: Scalar>(n: usize, at: usize, m: usize) -> (Host<f64>, Host<T>, Host<T>) {
    let whole = product(&factor::<T>(n));
    // Numbers that the type has.
    let of = |i: usize, j: usize| Into::<f64>::into(T::from_f64(whole[(i.min(j), i.max(j))]));
    let a = Host::<f64>::from_fn(n, n, of);
    let row = |i: usize| if i < at { i } else { i + m };
    let mut r = Mat::from_fn(n - m, n - m, |i, j| of(row(i), row(j)));
    for j in 0..n - m {
        for i in 0..=j {
            let sum: f64 = (0..i).map(|k| r[(k, i)] * r[(k, j)]).sum();
            let rest = r[(i, j)] - sum;
            r[(i, j)] = if i == j {
                rest.sqrt()
            } else {
                rest / r[(i, i)]
            };
        }
    }
    let r = Host::from_fn(
        n - m,
        n - m,
        |i, j| if i <= j { r[(i, j)] } else { f64::NAN },
    );
    // Of the new block the lower triangle does not count.
    let x = Host::from_fn(n, m, |i, j| {
        let below = i > at + j && i < at + m;
        if below {
            7.0
        } else {
            of(i, at + j)
        }
    });
    (a, r, x)
}

fn rows_come<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    for n in ORDERS {
        for (at, m) in [
            (0, 1),
            (n - 1, 1),
            (n / 2, 1),
            (0, n),
            (n / 3, n / 3),
            (n / 2, n - n / 2),
            (n, 0),
        ] {
            let (a, r, x) = parts::<T>(n, at, m);
            let what = format!("{n}: {m} at {at}");
            let (out, margin) = larger(dev, &r, at, &x).unwrap();
            is_factor(&out, &a, &what);
            assert!(margin > 0.0 && margin <= 1.0, "{what}: {margin}");
        }
    }
}

fn what_goes_comes_back<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 70;
    let start = factor::<T>(n);
    let a = product(&start);
    let mut r = start.clone();
    let rounds = 20;
    for round in 0..rounds {
        let (at, m) = (round * 7 % (n - 4), 1 + round % 4);
        let rows: Vec<usize> = (at..at + m).collect();
        let x = Host::<T>::from_fn(n, m, |i, j| a[(i.min(at + j), i.max(at + j))]);
        r = larger(dev, &smaller(dev, &r, &rows), at, &x).unwrap().0;
    }
    for j in 0..n {
        for i in 0..=j {
            let error = (r.at(i, j) - start.at(i, j)).abs();
            assert!(error < 1e3 * rounds as f64 * T::EPS, "{i} {j}: {error}");
        }
    }
}

fn says_which_minor_is_lost<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 40;
    let r = Host::<T>::from_fn(n, n, |i, j| if i == j { 2.0 } else { 0.0 });
    let at = 9;
    let lost = |entries: &[(usize, usize, f64)], m: usize| {
        let mut x = Host::<T>::from_fn(n + m, m, |_, _| 0.0);
        (0..m).for_each(|j| x.set(at + j, j, 1.0));
        entries.iter().for_each(|(i, j, v)| x.set(*i, *j, *v));
        larger(dev, &r, at, &x).err()
    };
    let order = |order| Some(Error::NotPositiveDefinite { order });
    assert_eq!(lost(&[], 2), None);
    // By what is before, by itself, by what follows.
    assert_eq!(lost(&[(3, 0, 2.1)], 2), order(10));
    assert_eq!(lost(&[(3, 1, 2.1)], 2), order(11));
    assert_eq!(lost(&[(9, 1, 1.5)], 2), order(11));
    assert_eq!(lost(&[(11, 0, 2.1)], 2), order(12));
    assert_eq!(lost(&[(41, 1, 2.1)], 2), order(42));
}

fn what_does_not_fit_is_refused<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 6;
    let r = factor::<T>(n);
    let go = |r: &Host<T>, rows: &[usize]| {
        let mut out = Host::<T>::from_fn(n - 2, n - 2, |_, _| 0.0);
        without(dev, Uplo::Upper, r.view(), rows, out.view_mut())
    };
    for rows in [[2, 2], [3, 1], [1, 6]] {
        assert!(matches!(go(&r, &rows), Err(Error::Dimension { .. })));
    }
    let come = |r: &Host<T>, at, x: &Host<T>| {
        let mut out = Host::<T>::from_fn(n + 1, n + 1, |_, _| 0.0);
        with(dev, Uplo::Upper, r.view(), at, x.view(), out.view_mut())
    };
    let x = Host::<T>::from_fn(n + 1, 1, |i, _| f64::from(u8::from(i == 2)));
    assert!(come(&r, 2, &x).is_ok());
    assert!(matches!(come(&r, 7, &x), Err(Error::Dimension { .. })));
    let short = Host::<T>::from_fn(n, 1, |_, _| 1.0);
    assert!(matches!(come(&r, 2, &short), Err(Error::Dimension { .. })));
    let (mut wrong, mut zero, mut bad) = (r.clone(), r.clone(), x.clone());
    wrong.set(0, 5, f64::INFINITY);
    zero.set(3, 3, 0.0);
    bad.set(1, 0, f64::NAN);
    let refused = Error::NonFiniteIn { argument: "r" };
    assert_eq!(come(&wrong, 2, &x), Err(refused.clone()));
    assert_eq!(go(&wrong, &[1, 2]), Err(refused));
    assert_eq!(come(&zero, 2, &x), Err(Error::Singular { index: 4 }));
    assert_eq!(go(&zero, &[1, 2]), Err(Error::Singular { index: 4 }));
    assert_eq!(come(&r, 2, &bad), Err(Error::NonFiniteIn { argument: "x" }));
}
