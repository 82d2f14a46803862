//! The algorithms as books have them, in the precision under test, and the one that no book would
//! have.

use super::common::Host;
use cudafactor::base::scalar::Scalar;
use faer::traits::math_utils::sqrt;

/// The upper factor in LAPACK's order without blocks: each entry is one sum, taken from A's at
/// once. Fails with the order of the leading minor whose pivot is not greater than zero.
pub fn cholesky<T: Scalar>(a: &Host<T>) -> Result<Host<T>, usize> {
    let mut columns = upper(a);
    match factor(&mut columns) {
        None => Ok(joined(&columns)),
        Some(order) => Err(order),
    }
}

/// How a blocked factorization divides by its diagonal blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Division {
    Substitution,
    /// By their explicit inverses: the residual then grows with the condition of a block.
    Inverse,
}

/// Cholesky's method in blocks of the order `block`.
pub fn blocked<T: Scalar>(a: &Host<T>, block: usize, division: Division) -> Result<Host<T>, usize> {
    let n = a.rows;
    let mut columns = upper(a);
    for from in (0..n).step_by(block) {
        let to = n.min(from + block);
        // What the rows above take off these rows, the diagonal block and all to its right.
        for j in from..n {
            for i in from..to.min(j + 1) {
                let above = dot(&columns[i][..from], &columns[j][..from]);
                columns[j][i] -= above;
            }
        }
        let mut diagonal: Vec<Vec<T>> = (from..to).map(|j| columns[j][from..=j].to_vec()).collect();
        if let Some(order) = factor(&mut diagonal) {
            return Err(from + order);
        }
        for (j, column) in diagonal.iter().enumerate() {
            columns[from + j][from..].copy_from_slice(column);
        }
        let inverse = inverse(&diagonal);
        for column in &mut columns[to..] {
            let rows = &mut column[from..to];
            match division {
                Division::Substitution => {
                    for (i, r) in diagonal.iter().enumerate() {
                        rows[i] = (rows[i] - dot(&r[..i], &rows[..i])) / r[i];
                    }
                }
                Division::Inverse => {
                    for i in (0..rows.len()).rev() {
                        rows[i] = dot(&inverse[i], &rows[..=i]);
                    }
                }
            }
        }
    }
    Ok(joined(&columns))
}

/// LU with the first largest entry of a column as its pivot.
pub struct Lu<T> {
    pub factor: Host<T>,
    pub ipiv: Vec<usize>,
    pub zero: Option<usize>,
}

/// Row by row and column by column, as LAPACK's `getf2`. As there a NaN is the largest at the head
/// of its column only.
pub fn lu<T: Scalar>(a: &Host<T>) -> Lu<T> {
    let magnitude = |x: &T| Into::<f64>::into(*x).abs();
    let mut columns: Vec<Vec<T>> = (0..a.cols)
        .map(|j| (0..a.rows).map(|i| entry(a, i, j)).collect())
        .collect();
    let mut ipiv = vec![];
    for k in 0..a.rows.min(a.cols) {
        let mut p = k;
        for (i, x) in columns[k].iter().enumerate().skip(k + 1) {
            if magnitude(x) > magnitude(&columns[k][p]) {
                p = i;
            }
        }
        ipiv.push(p);
        eliminate(&mut columns, k, p);
    }
    let factor = Host::from_fn(a.rows, a.cols, |i, j| columns[j][i].into());
    let zero = (0..ipiv.len()).find(|&k| factor.at(k, k) == 0.0);
    Lu { factor, ipiv, zero }
}

/// Step `k` with row `p` for its pivot. A pivot of zero divides nothing.
pub fn eliminate<T: Scalar>(columns: &mut [Vec<T>], k: usize, p: usize) {
    for column in columns.iter_mut() {
        column.swap(k, p);
    }
    let (before, after) = columns.split_at_mut(k + 1);
    let (head, below) = before[k].split_at_mut(k + 1);
    if head[k] != T::from_f64(0.0) {
        for l in below.iter_mut() {
            *l /= head[k];
        }
    }
    for column in after {
        let (head, rest) = column.split_at_mut(k + 1);
        for (x, l) in rest.iter_mut().zip(&*below) {
            *x -= *l * head[k];
        }
    }
}

/// `X` of `MX = B` by substitution, M a triangle of which the rest is zero.
pub fn substitute<T: Scalar>(m: &Host<T>, lower: bool, b: &Host<T>) -> Host<T> {
    let n = m.rows;
    let place = |i: usize| if lower { i } else { n - 1 - i };
    let rows: Vec<Vec<T>> = (0..n)
        .map(|i| (0..=i).map(|j| entry(m, place(i), place(j))).collect())
        .collect();
    solved(&rows, b, place)
}

/// The same by explicit inverses of diagonal blocks of the order `block`.
pub fn multiply_by_inverses<T: Scalar>(
    m: &Host<T>,
    lower: bool,
    block: usize,
    b: &Host<T>,
) -> Host<T> {
    let n = m.rows;
    let place = |i: usize| if lower { i } else { n - 1 - i };
    let mut answer = b.clone();
    for from in (0..n).step_by(block) {
        let to = n.min(from + block);
        // Rows of the lower block are columns of its upper transpose.
        let rows: Vec<Vec<T>> = (from..to)
            .map(|i| (from..=i).map(|j| entry(m, place(i), place(j))).collect())
            .collect();
        let inverse = inverse(&rows);
        for j in 0..b.cols {
            let x: Vec<T> = (0..from).map(|k| entry(&answer, place(k), j)).collect();
            let rest: Vec<T> = (from..to)
                .map(|i| {
                    let row: Vec<T> = (0..from).map(|k| entry(m, place(i), place(k))).collect();
                    entry(b, place(i), j) - dot(&row, &x)
                })
                .collect();
            for (i, row) in inverse.iter().enumerate() {
                answer.set(place(from + i), j, dot(row, &rest[..=i]).into());
            }
        }
    }
    answer
}

fn solved<T: Scalar>(rows: &[Vec<T>], b: &Host<T>, place: impl Fn(usize) -> usize) -> Host<T> {
    let mut answer = b.clone();
    for j in 0..b.cols {
        let mut x: Vec<T> = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            let value = (entry(b, place(i), j) - dot(&row[..i], &x)) / row[i];
            x.push(value);
            answer.set(place(i), j, value.into());
        }
    }
    answer
}

fn entry<T: Scalar>(a: &Host<T>, i: usize, j: usize) -> T {
    T::from_f64(a.at(i, j))
}

/// Column `j` down to the diagonal.
fn upper<T: Scalar>(a: &Host<T>) -> Vec<Vec<T>> {
    (0..a.cols)
        .map(|j| (0..=j).map(|i| entry(a, i, j)).collect())
        .collect()
}

fn joined<T: Scalar>(columns: &[Vec<T>]) -> Host<T> {
    let n = columns.len();
    Host::from_fn(n, n, |i, j| if i <= j { columns[j][i].into() } else { 0.0 })
}

fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    let mut sum = T::from_f64(0.0);
    for (x, y) in x.iter().zip(y) {
        sum += *x * *y;
    }
    sum
}

/// The order of the first leading minor that is not positive, if any.
fn factor<T: Scalar>(columns: &mut [Vec<T>]) -> Option<usize> {
    for j in 0..columns.len() {
        let (before, rest) = columns.split_at_mut(j);
        let column = &mut rest[0];
        for (i, r) in before.iter().enumerate() {
            column[i] = (column[i] - dot(&r[..i], &column[..i])) / r[i];
        }
        let pivot = column[j] - dot(&column[..j], &column[..j]);
        // Not `pivot <= 0`, which NaN would pass.
        let positive = pivot > T::from_f64(0.0);
        if !positive {
            return Some(j + 1);
        }
        column[j] = sqrt(&pivot);
    }
    None
}

/// The inverse of the upper triangle with these columns; column by column, as LAPACK's `trti2` has
/// it.
fn inverse<T: Scalar>(columns: &[Vec<T>]) -> Vec<Vec<T>> {
    let one = T::from_f64(1.0);
    let mut inverse: Vec<Vec<T>> = vec![];
    for (j, column) in columns.iter().enumerate() {
        let corner = one / column[j];
        let mut x: Vec<T> = (0..j)
            .map(|i| {
                let mut sum = T::from_f64(0.0);
                for (k, row) in inverse.iter().enumerate().skip(i) {
                    sum += row[i] * column[k];
                }
                -sum * corner
            })
            .collect();
        x.push(corner);
        inverse.push(x);
    }
    inverse
}
