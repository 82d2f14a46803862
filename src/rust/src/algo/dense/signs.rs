//! The signs of eigenvectors and singular vectors.
//!
//! The component of largest magnitude in a column is positive: the first one, if several are equal
//! to half of the digits.

use faer::{MatMut, MatRef};

use crate::base::chunks::in_parts_of;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::base::threads::wanted;

/// Multiplications that take as long as the search for one entry's sign.
const COST: f64 = 8.0;

/// The part of the largest magnitude that counts as equal to it.
pub(crate) fn enough<T: Scalar>() -> f64 {
    1.0 - T::EPS.sqrt()
}

/// The first position of the largest size.
pub(crate) fn first_largest<T: Scalar>(sizes: impl Iterator<Item = f64> + Clone) -> usize {
    let largest = sizes.clone().fold(0.0, f64::max);
    let enough = largest * enough::<T>();
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
pub(crate) fn turn<T: Scalar>(q: MatMut<'_, T>, follow: Option<MatMut<'_, T>>) -> Result<()> {
    each_column([q].into_iter().chain(follow).collect(), |parts| {
        for j in 0..parts[0].ncols() {
            if is_negative(parts[0].as_ref(), j) {
                parts.iter_mut().for_each(|part| negate(part.as_mut(), j));
            }
        }
    })
}

/// Reverses the order of the columns, and gives each its sign.
pub(crate) fn reverse_and_turn<T: Scalar>(q: MatMut<'_, T>) -> Result<()> {
    let n = q.ncols();
    let (left, right) = q.split_at_col_mut(n.div_ceil(2));
    let (left, middle) = left.split_at_col_mut(n / 2);
    turn(middle, None)?;
    each_column(vec![left, right.reverse_cols_mut()], |pair| {
        let [left, right] = pair else { return };
        for j in 0..left.ncols() {
            let signs = [&*left, &*right].map(|side| is_negative(side.as_ref(), j));
            let signed = |x: T, negative: bool| if negative { -x } else { x };
            for i in 0..left.nrows() {
                let (x, y) = (left[(i, j)], right[(i, j)]);
                left[(i, j)] = signed(y, signs[1]);
                right[(i, j)] = signed(x, signs[0]);
            }
        }
    })
}

/// Calls `f` with parts of all matrices, which have equally many columns, on several threads.
fn each_column<T: Scalar>(
    all: Vec<MatMut<'_, T>>,
    f: impl Fn(&mut [MatMut<'_, T>]) + Sync,
) -> Result<()> {
    let cost = COST * all.first().map_or(0, |a| a.nrows()) as f64;
    let each = |mut parts: Vec<MatMut<'_, T>>| {
        f(&mut parts);
        Ok(())
    };
    in_parts_of(1, wanted(), all, cost, each, |(), ()| Ok(()))
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
            reverse_and_turn(found.as_mut()).unwrap();
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
            turn(q.as_mut(), Some(follow.as_mut())).unwrap();
            assert!(q == follow);
        }
    }
}
