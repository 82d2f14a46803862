//! Triangular solves with the panel of one front of a multifrontal factor, for a few right-hand
//! sides by columns.

use crate::base::simd::on_widest;

/// Columns of a panel that go over the right-hand sides together, so that what is fetched of these
/// serves as many multiplications.
const GROUP: usize = 4;

/// Partial sums of an inner product.
const LANES: usize = 8;

/// `x_own <- L_own^-1 x_own`, and `L_others x_own` taken off the others. x has columns with a
/// number for each of the `rows` unknowns of the front.
pub(crate) fn forward(panel: &[f64], rows: usize, x: &mut [f64]) {
    on_widest(
        #[inline(always)]
        || {
            for (j, group) in (0..).step_by(GROUP).zip(panel.chunks(GROUP * rows.max(1))) {
                match group.len() / rows {
                    1 => forward_group::<1>(group, rows, j, x),
                    2 => forward_group::<2>(group, rows, j, x),
                    3 => forward_group::<3>(group, rows, j, x),
                    _ => forward_group::<GROUP>(group, rows, j, x),
                }
            }
        },
    )
}

/// `x_own <- L_own^-T (x_own - L_others' x_others)`, of such columns.
pub(crate) fn backward(panel: &[f64], rows: usize, x: &mut [f64]) {
    on_widest(
        #[inline(always)]
        || {
            let groups = panel.chunks(GROUP * rows.max(1));
            for (j, group) in (0..groups.len()).map(|k| k * GROUP).zip(groups).rev() {
                match group.len() / rows {
                    1 => backward_group::<1>(group, rows, j, x),
                    2 => backward_group::<2>(group, rows, j, x),
                    3 => backward_group::<3>(group, rows, j, x),
                    _ => backward_group::<GROUP>(group, rows, j, x),
                }
            }
        },
    )
}

/// Columns of a panel from its diagonal entry in row j on, and the reciprocals of their pivots.
#[inline(always)]
fn columns<const G: usize>(group: &[f64], rows: usize, j: usize) -> ([&[f64]; G], [f64; G]) {
    let l: [&[f64]; G] = std::array::from_fn(|k| &group[k * rows + j..(k + 1) * rows]);
    (l, std::array::from_fn(|k| 1.0 / l[k][k]))
}

#[inline(always)]
fn forward_group<const G: usize>(group: &[f64], rows: usize, j: usize, x: &mut [f64]) {
    let (l, by) = columns::<G>(group, rows, j);
    for x in x.chunks_exact_mut(rows) {
        let (own, rest) = x[j..].split_at_mut(G);
        let mut f = [0.0; G];
        for k in 0..G {
            f[k] = own[k];
            for p in 0..k {
                f[k] -= l[p][k] * f[p];
            }
            f[k] *= by[k];
        }
        own.copy_from_slice(&f);
        let n = rest.len();
        let l = l.map(|l| &l[G..][..n]);
        for i in 0..n {
            let mut sum = l[0][i] * f[0];
            for k in 1..G {
                sum += l[k][i] * f[k];
            }
            rest[i] -= sum;
        }
    }
}

#[inline(always)]
fn backward_group<const G: usize>(group: &[f64], rows: usize, j: usize, x: &mut [f64]) {
    let (l, by) = columns::<G>(group, rows, j);
    for x in x.chunks_exact_mut(rows) {
        let (own, rest) = x[j..].split_at_mut(G);
        let n = rest.len();
        let below = l.map(|l| &l[G..][..n]);
        let mut lanes = [[0.0; LANES]; G];
        let (whole, tail) = pulp::as_arrays::<LANES, _>(rest);
        for (i, x) in whole.iter().enumerate() {
            for k in 0..G {
                let l: &[f64] = &below[k][i * LANES..][..LANES];
                for t in 0..LANES {
                    lanes[k][t] += l[t] * x[t];
                }
            }
        }
        for k in (0..G).rev() {
            let mut sum = own[k];
            for (l, x) in below[k][n - tail.len()..].iter().zip(tail) {
                sum -= l * x;
            }
            for p in k + 1..G {
                sum -= l[k][p] * own[p];
            }
            own[k] = (sum - lanes[k].iter().sum::<f64>()) * by[k];
        }
    }
}
