//! Orthonormal bases from columns that are orthogonal already.

use crate::base::error::Result;
use crate::base::scalar::try_zeroed;

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Columns `p < q` of length `m`.
pub(super) fn pair(a: &mut [f64], m: usize, p: usize, q: usize) -> (&mut [f64], &mut [f64]) {
    let (front, back) = a.split_at_mut(q * m);
    (&mut front[p * m..(p + 1) * m], &mut back[..m])
}

/// The columns of length `m` divided by their norms, and others that complete an orthonormal basis
/// of `count` columns.
///
/// Columns below the rounding error of the longest have no direction, and are replaced.
pub(super) fn completed(
    columns: Vec<f64>,
    norms: &[f64],
    (m, count): (usize, usize),
) -> Result<Vec<f64>> {
    let mut q = columns;
    let rounding = norms.iter().map(|d| d * d).sum::<f64>().sqrt() * 2.0 * f64::EPSILON;
    let usable = norms
        .iter()
        .take_while(|d| **d > rounding.max(f64::MIN_POSITIVE))
        .count();
    for (column, norm) in q.chunks_exact_mut(m).zip(&norms[..usable]) {
        column.iter_mut().for_each(|x| *x /= norm);
    }
    q.truncate(usable * m);
    // The squared norms of the rows: a unit vector keeps `1 - taken[i]` of its squared norm outside
    // the space that the columns span.
    let mut taken: Vec<f64> = try_zeroed(m)?;
    let add = |taken: &mut [f64], column: &[f64]| {
        taken.iter_mut().zip(column).for_each(|(t, x)| *t += x * x);
    };
    q.chunks_exact(m).for_each(|column| add(&mut taken, column));
    let more = count.saturating_sub(usable);
    crate::base::scalar::reserve(&mut q, more * m)?;
    for _ in 0..more {
        let least = (0..m)
            .min_by(|&i, &j| taken[i].total_cmp(&taken[j]))
            .unwrap_or(0);
        let mut next: Vec<f64> = try_zeroed(m)?;
        next[least] = 1.0;
        // Twice is enough (Kahan and Parlett).
        for _ in 0..2 {
            for column in q.chunks_exact(m) {
                let share = dot(column, &next);
                next.iter_mut()
                    .zip(column)
                    .for_each(|(x, c)| *x -= share * c);
            }
        }
        let norm = dot(&next, &next).sqrt();
        next.iter_mut().for_each(|x| *x /= norm);
        add(&mut taken, &next);
        q.extend_from_slice(&next);
    }
    Ok(q)
}
