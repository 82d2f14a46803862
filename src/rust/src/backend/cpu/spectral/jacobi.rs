//! Jacobi's methods in double precision: slow, simple, and without a failure mode of faer's.
//!
//! Golub & Van Loan, 4th ed., sections 8.5 (two-sided) and 8.6.3 (one-sided, Hestenes).

use super::basis::{dot, pair};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::{filled, try_zeroed};

/// Convergence is quadratic, so that about ten sweeps suffice.
const SWEEPS: usize = 60;

/// Values, and vectors by columns.
pub(super) struct Pairs {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
}

/// Eigenvalues of a symmetric matrix in ascending order, and eigenvectors if they are `wanted`.
///
/// Only the lower triangle of `a` is read. Its contents are lost.
pub(super) fn eigen(a: &mut [f64], n: usize, wanted: bool) -> Result<Pairs> {
    for j in 0..n {
        for i in j + 1..n {
            a[i * n + j] = a[j * n + i];
        }
    }
    let mut v = identity(if wanted { n } else { 0 })?;
    let norm = dot(a, a).sqrt();
    let mut converged = false;
    for _ in 0..SWEEPS {
        interrupt::poll()?;
        converged = true;
        for p in 0..n {
            for q in p + 1..n {
                let off = a[q * n + p];
                if off.abs() <= f64::EPSILON * norm / n as f64 {
                    continue;
                }
                converged = false;
                let turn = Turn::new(a[p * n + p], off, a[q * n + q]);
                turn.apply(a, n, p, q);
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    a[k * n + p] = turn.cos * x - turn.sin * y;
                    a[k * n + q] = turn.sin * x + turn.cos * y;
                }
                if wanted {
                    turn.apply(&mut v, n, p, q);
                }
            }
        }
        if converged {
            break;
        }
    }
    if !converged {
        return Err(Error::NotConverged { routine: "dsyevr" });
    }
    let values: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    ordered(&values, v, n, &order)
}

/// As [`eigen`], of the symmetric matrix `[x, xy; xy, y]` by one rotation: small eigenvalues of a
/// graded matrix keep their digits.
pub(super) fn eigen_of_two(x: f64, xy: f64, y: f64) -> Pairs {
    let turn = match xy == 0.0 {
        true => Turn { cos: 1.0, sin: 0.0 },
        false => Turn::new(x, xy, y),
    };
    let change = turn.sin / turn.cos * xy;
    let (first, second) = (x - change, y + change);
    let (left, right) = ([turn.cos, -turn.sin], [turn.sin, turn.cos]);
    let (values, vectors) = match first <= second {
        true => (vec![first, second], [left, right].concat()),
        false => (vec![second, first], [right, left].concat()),
    };
    Pairs { values, vectors }
}

/// Singular values of an m by n matrix with `m >= n` in descending order, and right singular
/// vectors. The columns of `a` become left singular vectors times singular values.
pub(super) fn singular(a: &mut Vec<f64>, (m, n): (usize, usize), count: usize) -> Result<Pairs> {
    let mut v = identity(n)?;
    // Rotations with other columns change a column by this much: shorter ones are rounding.
    let noise = (f64::EPSILON * dot(a, a).sqrt()).powi(2);
    let mut converged = false;
    for _ in 0..SWEEPS {
        interrupt::poll()?;
        converged = true;
        for p in 0..n {
            for q in p + 1..n {
                let (x, y) = pair(a, m, p, q);
                let (xx, xy, yy) = (dot(x, x), dot(x, y), dot(y, y));
                let orthogonal = xy.abs() <= 2.0 * f64::EPSILON * (xx * yy).sqrt();
                if orthogonal || xx.min(yy) <= noise {
                    continue;
                }
                converged = false;
                let turn = Turn::new(xx, xy, yy);
                turn.apply(a, m, p, q);
                turn.apply(&mut v, n, p, q);
            }
        }
        if converged {
            break;
        }
    }
    if !converged {
        return Err(Error::NotConverged { routine: "dgesdd" });
    }
    let norm = |j: usize| dot(&a[j * m..(j + 1) * m], &a[j * m..(j + 1) * m]).sqrt();
    let values: Vec<f64> = (0..count).map(norm).collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    let left = ordered(&values, std::mem::take(a), m, &order)?;
    *a = left.vectors;
    ordered(&values, v, n, &order)
}

fn identity(n: usize) -> Result<Vec<f64>> {
    let mut v = try_zeroed(n * n)?;
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    Ok(v)
}

/// The same values and columns of length `m` in another order; without columns if there are none.
fn ordered(values: &[f64], columns: Vec<f64>, m: usize, order: &[usize]) -> Result<Pairs> {
    let mut vectors = filled(columns.len(), 0.0)?;
    if !columns.is_empty() {
        for (to, &from) in vectors.chunks_exact_mut(m).zip(order) {
            to.copy_from_slice(&columns[from * m..(from + 1) * m]);
        }
    }
    Ok(Pairs {
        values: order.iter().map(|&i| values[i]).collect(),
        vectors,
    })
}

/// The rotation that makes the symmetric matrix `[x, xy; xy, y]` diagonal, by at most 45 degrees.
struct Turn {
    cos: f64,
    sin: f64,
}

impl Turn {
    fn new(x: f64, xy: f64, y: f64) -> Turn {
        let zeta = (y - x) / (2.0 * xy);
        let tan = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
        let cos = 1.0 / tan.hypot(1.0);
        Turn {
            cos,
            sin: cos * tan,
        }
    }

    /// Rotates columns `p < q` of length `m`.
    fn apply(&self, a: &mut [f64], m: usize, p: usize, q: usize) {
        let (x, y) = pair(a, m, p, q);
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (self.cos * *x - self.sin * *y, self.sin * *x + self.cos * *y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::spectral::basis;

    fn entries(n: usize) -> impl Iterator<Item = f64> {
        (0..n).map(|i| ((i * 7919 + i * i % 31) % 211) as f64 / 105.0 - 1.0)
    }

    fn orthonormal(q: &[f64], m: usize, columns: usize) -> bool {
        (0..columns).all(|i| {
            (0..columns).all(|j| {
                let want = f64::from(i == j);
                (dot(&q[i * m..(i + 1) * m], &q[j * m..(j + 1) * m]) - want).abs() < 1e-13
            })
        })
    }

    #[test]
    fn eigenvectors_are_those_of_the_lower_triangle() {
        for n in [1, 2, 3, 20] {
            let a: Vec<f64> = entries(n * n).collect();
            let found = eigen(&mut a.clone(), n, true).unwrap();
            assert!(orthonormal(&found.vectors, n, n));
            let lower = |i: usize, j: usize| a[i.min(j) * n + i.max(j)];
            for (w, z) in found.values.iter().zip(found.vectors.chunks(n)) {
                for i in 0..n {
                    let product: f64 = (0..n).map(|j| lower(i, j) * z[j]).sum();
                    assert!((product - w * z[i]).abs() < 1e-13 * n as f64, "{n}");
                }
            }
            assert!(found.values.windows(2).all(|w| w[0] <= w[1]));
            let alone = eigen(&mut a.clone(), n, false).unwrap();
            assert!(alone.vectors.is_empty() && alone.values == found.values);
        }
    }

    #[test]
    fn two_values_keep_their_digits() {
        let matrices = [
            ([1.0, 1e-16, 1e-16], [1e-16, 1.0]),
            ([1.0, 0.0, 1e-12], [1e-12, 1.0]),
            ([1e-12, 0.0, 1.0], [1e-12, 1.0]),
            ([2.0, 1.0, 2.0], [1.0, 3.0]),
            ([0.0, -1.0, 0.0], [-1.0, 1.0]),
            ([1.0, 1.0, 1.0], [0.0, 2.0]),
            ([1.0, 1e-300, -1.0], [-1.0, 1.0]),
            ([0.0, 0.0, 0.0], [0.0, 0.0]),
        ];
        for ([x, xy, y], want) in matrices {
            let found = eigen_of_two(x, xy, y);
            for (w, want) in found.values.iter().zip(want) {
                assert!((w - want).abs() <= 1e-15 * want.abs(), "{x} {xy} {y}: {w}");
            }
            assert!(orthonormal(&found.vectors, 2, 2));
            for (w, z) in found.values.iter().zip(found.vectors.chunks(2)) {
                assert!((x * z[0] + xy * z[1] - w * z[0]).abs() <= 1e-15);
                assert!((xy * z[0] + y * z[1] - w * z[1]).abs() <= 1e-15);
            }
        }
    }

    #[test]
    fn a_deficient_matrix_has_complete_bases() {
        let (m, n) = (9, 4);
        let first: Vec<f64> = entries(m).collect();
        // Columns 1, 2 and 4 are parallel, and column 3 is zero.
        let a: Vec<f64> = [1.0, -2.0, 0.0, 0.5]
            .iter()
            .flat_map(|s| first.iter().map(move |x| s * x))
            .collect();
        let mut left = a.clone();
        let found = singular(&mut left, (m, n), n).unwrap();
        assert!(found.values[0] > 1.0 && found.values[1] < 1e-15);
        assert!(orthonormal(&found.vectors, n, n));
        let u = basis::completed(left, &found.values, (m, m)).unwrap();
        assert!(orthonormal(&u, m, m));
        for i in 0..m {
            for j in 0..n {
                let sum: f64 = (0..n)
                    .map(|k| u[k * m + i] * found.values[k] * found.vectors[k * n + j])
                    .sum();
                assert!((sum - a[j * m + i]).abs() < 1e-14);
            }
        }
    }
}
