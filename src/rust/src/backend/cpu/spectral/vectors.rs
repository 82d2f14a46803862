//! Eigenvectors of a real Schur form by back substitution, as in EISPACK's `hqr2`.

use super::square::Square;

/// Replaces the upper triangle of the Schur form `t` by its eigenvectors. The norm bounds the size
/// of the perturbation of equal eigenvalues.
///
/// Vectors are scaled before entries overflow, so a defective matrix has nearly parallel vectors.
pub(super) fn substitute(t: &mut Square<'_>, re: &[f64], im: &[f64], norm: f64) {
    if norm == 0.0 {
        return;
    }
    for k in (0..t.n).rev() {
        if im[k] == 0.0 {
            real(t, re, im, k, norm);
        } else if im[k] < 0.0 {
            complex(t, re, im, k, norm);
        }
    }
}

/// `v t` for the upper triangular `t`, in place of `v`.
pub(super) fn multiply(t: &Square<'_>, v: &mut Square<'_>) {
    for j in (0..t.n).rev() {
        for i in 0..t.n {
            let sum = (0..=j).map(|k| v.at(i, k) * t.at(k, j)).sum();
            v.set(i, j, sum);
        }
    }
}

const EPS: f64 = f64::EPSILON;

/// `sum_j t[i, j] x[j]` over `from..=k`, where column `x` of `t` has the vector.
fn row_times(t: &Square<'_>, i: usize, from: usize, k: usize, x: usize) -> f64 {
    (from..=k).map(|j| t.at(i, j) * t.at(j, x)).sum()
}

/// Divides what columns hold from row i on when an entry is large.
fn tame(t: &mut Square<'_>, i: usize, k: usize, columns: std::ops::RangeInclusive<usize>) {
    let largest = columns
        .clone()
        .map(|c| t.at(i, c).abs())
        .fold(0.0, f64::max);
    if EPS * largest * largest > 1.0 {
        for c in columns {
            (i..=k).for_each(|j| t.set(j, c, t.at(j, c) / largest));
        }
    }
}

fn real(t: &mut Square<'_>, re: &[f64], im: &[f64], k: usize, norm: f64) {
    let (p, mut from) = (re[k], k);
    let (mut z, mut s) = (0.0, 0.0);
    t.set(k, k, 1.0);
    for i in (0..k).rev() {
        let w = t.at(i, i) - p;
        let r = row_times(t, i, from, k, k);
        if im[i] < 0.0 {
            (z, s) = (w, r);
            continue;
        }
        from = i;
        if im[i] == 0.0 {
            let w = if w == 0.0 { EPS * norm } else { w };
            t.set(i, k, -r / w);
        } else {
            let (x, y) = (t.at(i, i + 1), t.at(i + 1, i));
            let q = (re[i] - p) * (re[i] - p) + im[i] * im[i];
            let f = (x * s - z * r) / q;
            t.set(i, k, f);
            let next = if x.abs() > z.abs() {
                (-r - w * f) / x
            } else {
                (-s - y * f) / z
            };
            t.set(i + 1, k, next);
        }
        tame(t, i, k, k..=k);
    }
}

/// The vector of the pair in columns k - 1 and k.
fn complex(t: &mut Square<'_>, re: &[f64], im: &[f64], k: usize, norm: f64) {
    let (p, q, mut from) = (re[k], im[k], k - 1);
    let (mut z, mut r, mut s) = (0.0, 0.0, 0.0);
    let put = |t: &mut Square<'_>, i: usize, (x, y): (f64, f64)| {
        t.set(i, k - 1, x);
        t.set(i, k, y);
    };
    let top = if t.at(k, k - 1).abs() > t.at(k - 1, k).abs() {
        (q / t.at(k, k - 1), -(t.at(k, k) - p) / t.at(k, k - 1))
    } else {
        divide((0.0, -t.at(k - 1, k)), (t.at(k - 1, k - 1) - p, q))
    };
    put(t, k - 1, top);
    put(t, k, (0.0, 1.0));
    for i in (0..k - 1).rev() {
        let (ra, sa) = (row_times(t, i, from, k, k - 1), row_times(t, i, from, k, k));
        let w = t.at(i, i) - p;
        if im[i] < 0.0 {
            (z, r, s) = (w, ra, sa);
            continue;
        }
        from = i;
        if im[i] == 0.0 {
            put(t, i, divide((-ra, -sa), (w, q)));
        } else {
            let (x, y) = (t.at(i, i + 1), t.at(i + 1, i));
            let mut vr = (re[i] - p) * (re[i] - p) + im[i] * im[i] - q * q;
            let vi = (re[i] - p) * 2.0 * q;
            if vr == 0.0 && vi == 0.0 {
                vr = EPS * norm * (w.abs() + q.abs() + x.abs() + y.abs() + z.abs());
            }
            let f = divide((x * r - z * ra + q * sa, x * s - z * sa - q * ra), (vr, vi));
            put(t, i, f);
            let next = if x.abs() > z.abs() + q.abs() {
                ((-ra - w * f.0 + q * f.1) / x, (-sa - w * f.1 - q * f.0) / x)
            } else {
                divide((-r - y * f.0, -s - y * f.1), (z, q))
            };
            put(t, i + 1, next);
        }
        tame(t, i, k, k - 1..=k);
    }
}

/// The quotient of complex numbers (Smith).
fn divide((a, b): (f64, f64), (c, d): (f64, f64)) -> (f64, f64) {
    if c.abs() > d.abs() {
        let ratio = d / c;
        let size = c + ratio * d;
        ((a + ratio * b) / size, (b - ratio * a) / size)
    } else {
        let ratio = c / d;
        let size = d + ratio * c;
        ((ratio * a + b) / size, (ratio * b - a) / size)
    }
}
