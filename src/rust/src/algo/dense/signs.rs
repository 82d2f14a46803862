//! The signs of eigenvectors and singular vectors.
//!
//! The component of largest magnitude in a column is positive: the first one, if several are equal
//! to half of the digits.

use faer::{MatMut, MatRef};

use crate::base::scalar::Scalar;
use crate::base::threads::{join, share, wanted};

/// Multiplications that take as long as the search for one entry's sign.
const COST: f64 = 8.0;

/// The first position of the largest size.
pub(crate) fn first_largest<T: Scalar>(sizes: impl Iterator<Item = f64> + Clone) -> usize {
    let largest = sizes.clone().fold(0.0, f64::max);
    let enough = largest * (1.0 - T::EPS.sqrt());
    let mut sizes = sizes;
    sizes.position(|s| s >= enough).unwrap_or(0)
}

/// Whether the rule turns column j.
pub(crate) fn is_negative<T: Scalar>(q: MatRef<'_, T>, j: usize) -> bool {
    let sizes = (0..q.nrows()).map(|i| q[(i, j)].to_f64().abs());
    q.nrows() > 0 && q[(first_largest::<T>(sizes), j)] < T::from_f64(0.0)
}

fn negate<T: Scalar>(mut q: MatMut<'_, T>, j: usize) {
    (0..q.nrows()).for_each(|i| q[(i, j)] = -q[(i, j)]);
}

/// Gives each column of `q` its sign. The same columns of `follow` turn with them.
pub(crate) fn turn<T: Scalar>(q: MatMut<'_, T>, follow: Option<MatMut<'_, T>>) {
    in_parts(q, follow, &|mut q, mut follow| {
        for j in 0..q.ncols() {
            if is_negative(q.as_ref(), j) {
                negate(q.as_mut(), j);
                if let Some(follow) = &mut follow {
                    negate(follow.as_mut(), j);
                }
            }
        }
    });
}

/// Reverses the order of the columns, and gives each its sign.
pub(crate) fn reverse_and_turn<T: Scalar>(q: MatMut<'_, T>) {
    let n = q.ncols();
    let (left, right) = q.split_at_col_mut(n.div_ceil(2));
    let (left, middle) = left.split_at_col_mut(n / 2);
    turn(middle, None);
    in_parts(left, Some(right.reverse_cols_mut()), &|mut left, right| {
        let Some(mut right) = right else { return };
        for j in 0..left.ncols() {
            let signs = [
                is_negative(left.as_ref(), j),
                is_negative(right.as_ref(), j),
            ];
            let signed = |x: T, negative: bool| if negative { -x } else { x };
            for i in 0..left.nrows() {
                let (x, y) = (left[(i, j)], right[(i, j)]);
                left[(i, j)] = signed(y, signs[1]);
                right[(i, j)] = signed(x, signs[0]);
            }
        }
    });
}

/// Runs `f` on all columns of both matrices, which have equally many, in parts for threads.
fn in_parts<T: Scalar>(
    a: MatMut<'_, T>,
    b: Option<MatMut<'_, T>>,
    f: &(impl Fn(MatMut<'_, T>, Option<MatMut<'_, T>>) + Sync),
) {
    let threads = share(wanted(), COST * a.nrows() as f64 * a.ncols() as f64);
    halves(threads, a, b, f);
}

fn halves<T: Scalar>(
    threads: usize,
    a: MatMut<'_, T>,
    b: Option<MatMut<'_, T>>,
    f: &(impl Fn(MatMut<'_, T>, Option<MatMut<'_, T>>) + Sync),
) {
    if threads < 2 || a.ncols() < 2 {
        return f(a, b);
    }
    let half = a.ncols() / 2;
    let (a, c) = a.split_at_col_mut(half);
    let (b, d) = b.map(|b| b.split_at_col_mut(half)).unzip();
    join(
        threads,
        |threads| halves(threads, a, b, f),
        |threads| halves(threads, c, d, f),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn columns_are_reversed_and_turned() {
        for n in [0, 1, 2, 5, 300] {
            let entry = |i: usize, j: usize| ((7 * i + 3 * j + i * j) % 11) as f64 - 5.0;
            let given = Mat::from_fn(n, n, entry);
            let mut found = given.clone();
            reverse_and_turn(found.as_mut());
            for j in 0..n {
                let from = n - 1 - j;
                let sign = if is_negative(given.as_ref(), from) {
                    -1.0
                } else {
                    1.0
                };
                assert!(
                    (0..n).all(|i| found[(i, j)] == sign * given[(i, from)]),
                    "{n} {j}"
                );
                assert!(!is_negative(found.as_ref(), j));
            }
            let (mut q, mut follow) = (given.clone(), given.clone());
            turn(q.as_mut(), Some(follow.as_mut()));
            assert!(q == follow);
        }
    }
}
