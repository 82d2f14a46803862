//! Where getrf's pivots are: at the first of the largest, whatever is in the way.

use super::common::matrices::{random, Random};
use super::common::{few, for_each_device, same, Host};
use super::lu::{factor, shapes};
use super::positive::shuffled;
use super::{exact, textbook};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use cudafactor::device::lapack::LuInfo;

for_each_device!(
    pivots_are_the_largest,
    the_first_of_equal_pivots_is_taken,
    first_zero_on_the_diagonal_is_reported,
    special_values_go_where_the_textbooks_do,
);

/// A textbook in double precision is led through the pivots found: each is the largest candidate,
/// or so near to it that rounding decides. In double precision, where no candidates of these
/// matrices are that near, they are the textbook's.
fn pivots_are_the_largest<T: Scalar, D: Device<T>>(device: &D) {
    let mut shapes = vec![(1, 1), (5, 5), (32, 32), (65, 65)];
    if !few() {
        shapes.extend([
            (129, 129),
            (256, 256),
            (257, 257),
            (400, 400),
            (400, 100),
            (100, 400),
        ]);
        shapes.extend([(1000, 64), (5000, 33)]);
    }
    for (m, n) in shapes {
        for seed in [41, 42] {
            let a = random::<T>(m, n, seed);
            let (_, LuInfo { ipiv, .. }) = factor(device, &a);
            if T::EPS < 1e-10 {
                assert_eq!(ipiv, textbook::lu(&a).ipiv, "{m} {n} {seed}");
            }
            let slack = 20.0 * ipiv.len() as f64 * T::EPS;
            let mut columns = exact::columns(&a);
            for (k, &p) in ipiv.iter().enumerate() {
                let most = columns[k][k..]
                    .iter()
                    .fold(0.0, |most: f64, x| most.max(x.abs()));
                let taken = columns[k][p].abs();
                assert!(
                    taken >= (1.0 - slack) * most,
                    "{m} {n} {seed}: row {p} at step {k} has {taken}, the largest is {most}"
                );
                textbook::eliminate(&mut columns, k, p);
            }
        }
    }
}

/// Ones of either sign in one run of each row: every minor is 0, 1 or -1, and so is every number on
/// the way.
fn runs<T: Scalar>(
    m: usize,
    n: usize,
    seed: u64,
    run: impl Fn(usize, &mut Random) -> (usize, usize),
) -> Host<T> {
    let mut r = Random::new(seed);
    let mut sign = || if r.next() < 0.0 { -1.0 } else { 1.0 };
    let (rows, cols): (Vec<f64>, Vec<f64>) = (
        (0..m).map(|_| sign()).collect(),
        (0..n).map(|_| sign()).collect(),
    );
    let bounds: Vec<(usize, usize)> = (0..m).map(|i| run(i, &mut r)).collect();
    Host::from_fn(m, n, |i, j| {
        let (from, to) = bounds[i];
        if from <= j && j < to {
            rows[i] * cols[j]
        } else {
            0.0
        }
    })
}

fn below(n: usize, r: &mut Random) -> usize {
    ((r.next().abs() * n as f64) as usize).min(n - 1)
}

/// Runs of any place and length, which are dependent sooner or later.
fn any_runs<T: Scalar>(m: usize, n: usize, seed: u64) -> Host<T> {
    runs(m, n, seed, |_, r| {
        let (x, y) = (below(n, r), below(n, r));
        (x.min(y), x.max(y) + 1)
    })
}

/// Runs that end on the diagonal but for the order of the rows: not singular.
fn regular_runs<T: Scalar>(n: usize, seed: u64) -> Host<T> {
    let order = shuffled((0..n).map(|i| i as f64).collect());
    runs(n, n, seed, |i, r| {
        let end = order[i] as usize + 1;
        (below(end, r), end)
    })
}

/// Bit for bit but for the signs of zeros: nothing on the way is rounded.
fn is_the_textbooks<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>, what: &str) {
    let (lu, info) = factor(device, a);
    let want = textbook::lu(a);
    assert_eq!(info.ipiv, want.ipiv, "{what}");
    assert_eq!(info.zero, want.zero, "{what}");
    assert!(same(&lu, &want.factor), "{what}");
}

fn the_first_of_equal_pivots_is_taken<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for seed in [51, 52, 53] {
            is_the_textbooks(
                device,
                &any_runs::<T>(m, n, seed),
                &format!("runs {m} {n} {seed}"),
            );
            if m == n {
                let a = regular_runs::<T>(n, seed);
                is_the_textbooks(device, &a, &format!("regular runs {n} {seed}"));
                assert_eq!(textbook::lu(&a).zero, None);
            }
        }
    }
    // Minors of up to four columns of ones of either sign are powers of two.
    let rows: &[usize] = if few() {
        &[300]
    } else {
        &[1, 7, 128, 256, 257, 4097, 65_537, 70_001]
    };
    for &m in rows {
        let r = random::<f64>(m, 4, 54);
        let a = Host::<T>::from_fn(m, 4, |i, j| if r.at(i, j) < 0.0 { -1.0 } else { 1.0 });
        is_the_textbooks(device, &a, &format!("ones {m}"));
    }
}

fn first_zero_on_the_diagonal_is_reported<T: Scalar, D: Device<T>>(device: &D) {
    let orders: &[usize] = if few() {
        &[33]
    } else {
        &[2, 32, 33, 128, 129, 257, 300]
    };
    for &n in orders {
        for k in [0, 1, 30, 31, 32, 127, 128, n / 2, n - 1] {
            if k >= n {
                continue;
            }
            // Column k is that before it, or zero.
            let regular = regular_runs::<T>(n, 61);
            let column = |i: usize| if k == 0 { 0.0 } else { regular.at(i, k - 1) };
            let a = Host::<T>::from_fn(
                n,
                n,
                |i, j| if j == k { column(i) } else { regular.at(i, j) },
            );
            is_the_textbooks(device, &a, &format!("{n}, column {k}"));
            assert_eq!(factor(device, &a).1.zero, Some(k), "{n}");
        }
    }
}

fn special_values_go_where_the_textbooks_do<T: Scalar, D: Device<T>>(device: &D) {
    let orders: &[usize] = if few() {
        &[33]
    } else {
        &[1, 2, 33, 65, 129, 200, 300]
    };
    for &n in orders {
        let places = [
            (0, 0),
            (n - 1, 0),
            (0, n - 1),
            (n / 2, n / 2),
            (n - 1, n - 1),
            (n / 3, n / 2),
            (n - 1, n / 3),
        ];
        for (i, j) in places {
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut a = regular_runs::<T>(n, 71);
                a.set(i, j, value);
                is_the_textbooks(device, &a, &format!("{value} at ({i}, {j}) of {n}"));
                // Two in one column, or in one row.
                a.set(n / 2, j, f64::INFINITY);
                is_the_textbooks(
                    device,
                    &a,
                    &format!("{value} at ({i}, {j}), Inf at {} of {n}", n / 2),
                );
                a.set(i, n / 2, f64::NEG_INFINITY);
                is_the_textbooks(device, &a, &format!("{value} at ({i}, {j}), three of {n}"));
            }
        }
    }
}
