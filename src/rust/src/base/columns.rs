//! Arithmetic of columns of the host: sums and updates of long vectors.
//!
//! The host's blocks of conjugate gradients, the CPU's columns and the vectors of linear programs
//! share it. A sum follows a tree that depends on the length alone. No bit of a column depends on
//! the number of threads, or on the columns that are next to it.

use crate::base::scalar::Scalar;
use crate::base::threads::join;

/// Entries that one thread takes at once.
const CHUNK: usize = 4096;

/// Sums that do not wait for each other.
const LANES: usize = 8;

/// Squares of numbers in this range neither overflow nor lose digits by underflow, nor do their
/// sums.
pub(crate) const PLAIN: std::ops::Range<f64> = 1e-280..1e300;

/// Where to halve vectors: the tree of sums is the same with any number of threads.
fn half(len: usize) -> usize {
    (len / 2).next_multiple_of(CHUNK)
}

/// `x' y` in double precision, of vectors of one length.
pub(crate) fn dot<T: Scalar>(x: &[T], y: &[T], threads: usize) -> f64 {
    if x.len() > CHUNK {
        let at = half(x.len());
        let ((x1, x2), (y1, y2)) = (x.split_at(at), y.split_at(at));
        let (left, right) = join(threads, |t| dot(x1, y1, t), |t| dot(x2, y2, t));
        return left + right;
    }
    let product = |x: T, y: T| -> f64 {
        let (x, y): (f64, f64) = (x.into(), y.into());
        x * y
    };
    let mut sums = [0.0; LANES];
    let ((blocks, rest), (others, tail)) = (
        pulp::as_arrays::<LANES, _>(x),
        pulp::as_arrays::<LANES, _>(y),
    );
    for (x, y) in blocks.iter().zip(others) {
        (0..LANES).for_each(|i| sums[i] += product(x[i], y[i]));
    }
    let rest = rest.iter().zip(tail).map(|(x, y)| product(*x, *y));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// The sum of so many terms, in the order of [`dot`].
pub(crate) fn sum_of(len: usize, term: impl Fn(usize) -> f64) -> f64 {
    fn part(from: usize, len: usize, term: &impl Fn(usize) -> f64) -> f64 {
        if len > CHUNK {
            let at = half(len);
            return part(from, at, term) + part(from + at, len - at, term);
        }
        let mut sums = [0.0; LANES];
        let whole = len / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum += term(from + i + k);
            }
        }
        let rest = (from + whole..from + len).map(term);
        sums.iter().sum::<f64>() + rest.sum::<f64>()
    }
    part(0, len, &term)
}

/// The Euclidean norm, without overflow or underflow.
pub(crate) fn norm(x: &[f64], threads: usize) -> f64 {
    norm_of(dot(x, x, threads), x)
}

/// The norm of x, whose squares have this sum.
pub(crate) fn norm_of(square: f64, x: &[f64]) -> f64 {
    if PLAIN.contains(&square) {
        return square.sqrt();
    }
    // NaN is found by the sum, as a maximum leaves it out.
    let most = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if square.is_nan() || most == 0.0 || most == f64::INFINITY {
        return if square.is_nan() { square } else { most };
    }
    most * x.iter().map(|x| (x / most).powi(2)).sum::<f64>().sqrt()
}

/// `f` of each pair of entries.
pub(crate) fn pairs(x: &[f64], y: &mut [f64], threads: usize, f: &(impl Fn(f64, &mut f64) + Sync)) {
    if threads < 2 || x.len() <= CHUNK {
        x.iter().zip(y).for_each(|(x, y)| f(*x, y));
        return;
    }
    let at = half(x.len());
    let ((x1, x2), (y1, y2)) = (x.split_at(at), y.split_at_mut(at));
    join(threads, |t| pairs(x1, y1, t, f), |t| pairs(x2, y2, t, f));
}

/// Products of pairs of entries.
pub(crate) fn products((x, y): (&[f64], &[f64]), out: &mut [f64], threads: usize) {
    if threads < 2 || out.len() <= CHUNK {
        let both = x.iter().zip(y);
        out.iter_mut().zip(both).for_each(|(o, (x, y))| *o = x * y);
        return;
    }
    let at = half(out.len());
    let ((x1, x2), (y1, y2)) = (x.split_at(at), y.split_at(at));
    let (a, b) = out.split_at_mut(at);
    join(
        threads,
        |t| products((x1, y1), a, t),
        |t| products((x2, y2), b, t),
    );
}

/// `x <- x + step p` and `r <- r - step q`; the sum of squares of r, as [`dot`] has it.
pub(crate) fn advance(
    step: f64,
    (p, x): (&[f64], &mut [f64]),
    (q, r): (&[f64], &mut [f64]),
    threads: usize,
) -> f64 {
    if x.len() <= CHUNK {
        p.iter().zip(x).for_each(|(p, x)| *x += step * p);
        q.iter().zip(r.iter_mut()).for_each(|(q, r)| *r -= step * q);
        return dot(r, r, 1);
    }
    let at = half(x.len());
    let ((p1, p2), (q1, q2)) = (p.split_at(at), q.split_at(at));
    let ((x1, x2), (r1, r2)) = (x.split_at_mut(at), r.split_at_mut(at));
    let (left, right) = join(
        threads,
        |t| advance(step, (p1, x1), (q1, r1), t),
        |t| advance(step, (p2, x2), (q2, r2), t),
    );
    left + right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, seed: u64) -> Vec<f64> {
        let next = |s: &mut u64| {
            *s = s.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            Some((*s >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
        };
        std::iter::repeat(())
            .scan(seed, |s, ()| next(s))
            .take(len)
            .collect()
    }

    /// Bit for bit.
    #[test]
    fn threads_change_no_sum() {
        for len in [0, 1, 7, 8, 4096, 4097, 10_001, 40_000] {
            let (x, y) = (numbers(len, 1), numbers(len, 2));
            let alone = dot(&x, &y, 1);
            assert!([2, 3, 5].iter().all(|t| dot(&x, &y, *t) == alone));
            assert_eq!(sum_of(len, |i| x[i] * y[i]), alone);
            let plain: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            assert!((alone - plain).abs() <= 1e-14 * len as f64);
            let step = |threads| {
                let (mut a, mut b) = (x.clone(), y.clone());
                let square = advance(0.3, (&y, &mut a), (&x, &mut b), threads);
                (square, a, b)
            };
            let one = step(1);
            assert_eq!(one.0, dot(&one.2, &one.2, 1));
            assert!(one == step(2) && one == step(7));
        }
    }

    #[test]
    fn norms_do_not_overflow() {
        for s in [1e-300, 1.0, 1e300] {
            assert!((norm(&[3.0 * s, 4.0 * s], 1) / s - 5.0).abs() < 1e-14);
        }
        assert_eq!(norm(&[], 1), 0.0);
        assert!(norm(&[f64::NAN, 1.0], 1).is_nan());
        assert_eq!(norm(&[f64::INFINITY, 1.0], 1), f64::INFINITY);
    }
}
