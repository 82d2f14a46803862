//! The classical double-shift QR iteration in double precision.
//!
//! EISPACK's `orthes` and `hqr2`; Golub & Van Loan, 4th ed., section 7.5. Vectors are in `vectors`.

use super::square::Square;
use super::vectors;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::try_zeroed;

/// Eigenvalues in the order of the Schur form, and vectors with the layout of
/// [`GeneralEigen::geev`](crate::device::spectral::GeneralEigen::geev).
pub(super) struct Found {
    pub re: Vec<f64>,
    pub im: Vec<f64>,
    pub vectors: Vec<f64>,
}

/// Steps for one eigenvalue.
const STEPS: usize = 120;

/// Eigenvalues of a matrix of order n by columns, whose contents are lost; with vectors if they are
/// `wanted`.
pub(super) fn eigen(a: &mut [f64], n: usize, wanted: bool) -> Result<Found> {
    let mut vectors = try_zeroed(n * n)?;
    let mut h = Square::new(a, n);
    let mut v = Square::new(&mut vectors, n);
    reduce(&mut h, &mut v)?;
    let (mut re, mut im) = (try_zeroed(n)?, try_zeroed(n)?);
    let norm = (0..n)
        .flat_map(|j| (0..n.min(j + 2)).map(move |i| (i, j)))
        .map(|(i, j)| h.at(i, j).abs())
        .sum::<f64>();
    iterate(&mut h, &mut v, &mut re, &mut im, norm)?;
    if wanted {
        vectors::substitute(&mut h, &re, &im, norm);
        vectors::multiply(&h, &mut v);
    }
    Ok(Found { re, im, vectors })
}

/// Householder reflections to Hessenberg form, and their product in `v`.
fn reduce(h: &mut Square<'_>, v: &mut Square<'_>) -> Result<()> {
    let n = h.n;
    (0..n).for_each(|i| v.set(i, i, 1.0));
    let mut u = try_zeroed::<f64>(n)?;
    for m in 1..n.saturating_sub(1) {
        interrupt::poll()?;
        let scale: f64 = (m + 1..n).map(|i| h.at(i, m - 1).abs()).sum();
        if scale == 0.0 {
            continue;
        }
        let scale = scale + h.at(m, m - 1).abs();
        (m..n).for_each(|i| u[i] = h.at(i, m - 1) / scale);
        let length = u[m..n].iter().map(|x| x * x).sum::<f64>().sqrt();
        let g = if u[m] > 0.0 { -length } else { length };
        let half = length * length - u[m] * g;
        u[m] -= g;
        for j in m - 1..n {
            let f = (m..n).map(|i| u[i] * h.at(i, j)).sum::<f64>() / half;
            (m..n).for_each(|i| h.add(i, j, -f * u[i]));
        }
        h.reflect_columns(m, &u[m..], half);
        v.reflect_columns(m, &u[m..], half);
        h.set(m, m - 1, scale * g);
        (m + 1..n).for_each(|i| h.set(i, m - 1, 0.0));
    }
    Ok(())
}

/// The shifts of a step: their sum is `x + y`, and their product `x y - w`.
#[derive(Clone, Copy)]
struct Shifts {
    x: f64,
    y: f64,
    w: f64,
}

/// The real Schur form in `h`, its transformations in `v`, and the eigenvalues.
fn iterate(
    h: &mut Square<'_>,
    v: &mut Square<'_>,
    re: &mut [f64],
    im: &mut [f64],
    norm: f64,
) -> Result<()> {
    let (mut left, mut steps, mut moved) = (h.n, 0, 0.0);
    while left > 0 {
        let last = left - 1;
        let first = (1..=last)
            .rev()
            .find(|&l| is_small(h, l, norm))
            .unwrap_or(0);
        if first == last {
            h.add(last, last, moved);
            (re[last], im[last]) = (h.at(last, last), 0.0);
            (left, steps) = (left - 1, 0);
        } else if first + 1 == last {
            h.add(last, last, moved);
            h.add(last - 1, last - 1, moved);
            split(h, v, last, re, im);
            (left, steps) = (left - 2, 0);
        } else {
            if steps == STEPS {
                return Err(Error::NotConverged { routine: "dgeev" });
            }
            if steps % 10 == 0 {
                interrupt::poll()?;
            }
            let mut shifts = Shifts {
                x: h.at(last, last),
                y: h.at(last - 1, last - 1),
                w: h.at(last, last - 1) * h.at(last - 1, last),
            };
            // Exceptional shifts break cycles (Wilkinson).
            if steps % 10 == 9 {
                let x = shifts.x;
                moved += x;
                (0..=last).for_each(|i| h.add(i, i, -x));
                let s = h.at(last, last - 1).abs() + h.at(last - 1, last - 2).abs();
                shifts = Shifts {
                    x: 0.75 * s,
                    y: 0.75 * s,
                    w: -0.4375 * s * s,
                };
            }
            steps += 1;
            step(h, v, (first, last), shifts);
        }
    }
    Ok(())
}

/// Whether the entry before the diagonal in row l is zero to rounding.
fn is_small(h: &mut Square<'_>, l: usize, norm: f64) -> bool {
    let s = h.at(l - 1, l - 1).abs() + h.at(l, l).abs();
    let s = if s == 0.0 { norm } else { s };
    // Squares of numbers near the smallest ones are zero.
    let tiny = f64::MIN_POSITIVE / f64::EPSILON * h.n as f64;
    let small = h.at(l, l - 1).abs() <= (f64::EPSILON * s).max(tiny);
    if small {
        h.set(l, l - 1, 0.0);
    }
    small
}

/// The eigenvalues of the two by two block that ends at `last`; a block with real ones becomes
/// triangular.
fn split(h: &mut Square<'_>, v: &mut Square<'_>, last: usize, re: &mut [f64], im: &mut [f64]) {
    let before = last - 1;
    let w = h.at(last, before) * h.at(before, last);
    let p = (h.at(before, before) - h.at(last, last)) / 2.0;
    let (q, x) = (p * p + w, h.at(last, last));
    let root = q.abs().sqrt();
    if q < 0.0 {
        (re[before], re[last]) = (x + p, x + p);
        (im[before], im[last]) = (root, -root);
        return;
    }
    let z = if p >= 0.0 { p + root } else { p - root };
    re[before] = x + z;
    re[last] = if z == 0.0 { re[before] } else { x - w / z };
    (im[before], im[last]) = (0.0, 0.0);
    let below = h.at(last, before);
    let length = below.hypot(z);
    if length == 0.0 {
        return;
    }
    let turn = (below / length, z / length);
    for j in before..h.n {
        let (x, y) = (h.at(before, j), h.at(last, j));
        h.set(before, j, turn.1 * x + turn.0 * y);
        h.set(last, j, turn.1 * y - turn.0 * x);
    }
    h.rotate_columns(last + 1, before, turn);
    v.rotate_columns(v.n, before, turn);
    h.set(last, before, 0.0);
}

/// One double step of QR on rows and columns `first..=last`.
fn step(h: &mut Square<'_>, v: &mut Square<'_>, (first, last): (usize, usize), shifts: Shifts) {
    let Shifts { x, y, w } = shifts;
    let eps = f64::EPSILON;
    let (mut p, mut q, mut r);
    let mut m = last - 2;
    loop {
        let z = h.at(m, m);
        let (a, b) = (x - z, y - z);
        p = (a * b - w) / h.at(m + 1, m) + h.at(m, m + 1);
        q = h.at(m + 1, m + 1) - z - a - b;
        r = h.at(m + 2, m + 1);
        let s = p.abs() + q.abs() + r.abs();
        (p, q, r) = (p / s, q / s, r / s);
        if m == first {
            break;
        }
        let beside = h.at(m - 1, m - 1).abs() + z.abs() + h.at(m + 1, m + 1).abs();
        if h.at(m, m - 1).abs() * (q.abs() + r.abs()) < eps * p.abs() * beside {
            break;
        }
        m -= 1;
    }
    for i in m + 2..=last {
        h.set(i, i - 2, 0.0);
        if i > m + 2 {
            h.set(i, i - 3, 0.0);
        }
    }
    for k in m..last {
        let three = k + 1 != last;
        let mut size = 1.0;
        if k != m {
            p = h.at(k, k - 1);
            q = h.at(k + 1, k - 1);
            r = if three { h.at(k + 2, k - 1) } else { 0.0 };
            size = p.abs() + q.abs() + r.abs();
            if size == 0.0 {
                continue;
            }
            (p, q, r) = (p / size, q / size, r / size);
        }
        let s = (p * p + q * q + r * r).sqrt().copysign(p);
        if s == 0.0 {
            continue;
        }
        if k != m {
            h.set(k, k - 1, -s * size);
        } else if first != m {
            h.set(k, k - 1, -h.at(k, k - 1));
        }
        p += s;
        let (x, y, z) = (p / s, q / s, r / s);
        (q, r) = (q / p, r / p);
        for j in k..h.n {
            let mut f = h.at(k, j) + q * h.at(k + 1, j);
            if three {
                f += r * h.at(k + 2, j);
                h.add(k + 2, j, -f * z);
            }
            h.add(k, j, -f * x);
            h.add(k + 1, j, -f * y);
        }
        let third = three.then_some((z, r));
        h.reflect_few((last + 1).min(k + 4), k, (x, y, q), third);
        v.reflect_few(v.n, k, (x, y, q), third);
    }
}
