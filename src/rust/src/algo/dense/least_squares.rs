//! Least squares `min ||y - x b||` by QR, as `stats::lm.fit` reports it.
//!
//! With `x P = Q R` and rank k: effects `Q'y`, coefficients `R_k^-1 (Q'y)[0..k]` in pivoted order,
//! residuals `Q (0, (Q'y)[k..])`. Q is applied, never formed. LINPACK `dqrls`.

use crate::device::batched::Batched;
use crate::device::lapack::Lapack;
use std::ops::Range;

use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::algo::dense::qr::{self, QrObject};
use crate::base::error::Result;
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::{narrow, try_zeroed, Scalar};
use crate::device::batched::{ProblemShape, Problems, Ranks};

/// Where the parts of a fit go: `qr` as x; `effects` and `residuals` as y; `coefficients` of
/// `ncol(x)` rows, zero beyond the rank.
pub struct Fit<'a, T> {
    pub qr: MatMut<'a, T>,
    pub effects: MatMut<'a, T>,
    pub residuals: MatMut<'a, T>,
    pub coefficients: MatMut<'a, T>,
}

/// Fits every column of `y`.
pub fn fit<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    y: MatRef<'_, T>,
    tol: f64,
    out: Fit<'_, T>,
) -> Result<QrObject> {
    let Fit {
        qr: mut factor,
        mut effects,
        residuals,
        mut coefficients,
    } = out;
    let zero = T::from_f64(0.0);
    let (mut a, info) = qr::factor_limited(dev, x, tol, factor.rb_mut())?;
    let k = info.rank;
    let reflectors = &info.tau[..k];

    let mut qty = dev.load_into(y, Part::All, effects.rb_mut())?;
    dev.ormqr(Trans::Yes, &a, reflectors, &mut qty)?;
    dev.store(qty)?;

    coefficients.fill(zero);
    if k > 0 {
        let top = effects.rb().get(..k, ..);
        let mut b = dev.load_into(top, Part::All, coefficients.rb_mut().get_mut(..k, ..))?;
        let left = Side::Left;
        dev.trsm(left, Uplo::Upper, Trans::No, Diag::NonUnit, k, &a, &mut b)?;
        dev.store(b)?;
    }

    let (m, q) = (y.nrows(), y.ncols());
    let mut tail = try_zeroed::<T>(m * q)?;
    let mut tail = MatMut::from_column_major_slice_mut(&mut tail, m, q);
    tail.rb_mut()
        .get_mut(k.., ..)
        .copy_from(effects.rb().get(k.., ..));
    let mut rest = dev.load_into(tail.rb(), Part::All, residuals)?;
    dev.ormqr(Trans::No, &a, reflectors, &mut rest)?;
    dev.store(rest)?;

    let mut linpack = qr::to_linpack(dev, &mut a, &info.tau)?;
    dev.store(a)?;
    qr::last_qraux(factor.rb(), &mut linpack.qraux);
    // Only the first k reflectors made the effects.
    for row in linpack.turned.into_iter().filter(|&row| row < k) {
        for v in effects.rb_mut().row_mut(row).iter_mut() {
            *v = -*v;
        }
    }
    Ok(QrObject {
        qraux: linpack.qraux,
        rank: k,
        jpvt: info.jpvt,
    })
}

/// Where the parts of many fits go, problem after problem: each part of one is as in [`Fit`], and
/// `qraux` has a number for each of its columns. In R's doubles.
pub struct Fits<'a> {
    pub qr: &'a mut [f64],
    pub effects: &'a mut [f64],
    pub residuals: &'a mut [f64],
    pub coefficients: &'a mut [f64],
    pub qraux: &'a mut [f64],
}

impl Fits<'_> {
    /// The places of some of the problems.
    fn part(&mut self, ProblemShape { m, n, q }: ProblemShape, some: &Range<usize>) -> Fits<'_> {
        let of = |each: usize| some.start * each..some.end * each;
        Fits {
            qr: &mut self.qr[of(m * n)],
            effects: &mut self.effects[of(m * q)],
            residuals: &mut self.residuals[of(m * q)],
            coefficients: &mut self.coefficients[of(n * q)],
            qraux: &mut self.qraux[of(n)],
        }
    }
}

/// Fits `count` problems of one shape, whose matrices stand one after the other in `x` and `y`.
pub fn fit_batch<T: Scalar, D: Lapack<T> + Batched<T>>(
    dev: &D,
    shape: ProblemShape,
    count: usize,
    (x, y): (&[f64], &[f64]),
    tol: f64,
    mut out: Fits<'_>,
) -> Result<Ranks> {
    let ProblemShape { m, n, q } = shape;
    let mut ranks = Ranks::zeros(n, count)?;
    if m == 0 {
        out.coefficients.fill(0.0);
        out.qraux.fill(0.0);
        for (j, column) in ranks.jpvt.iter_mut().enumerate() {
            *column = (j % n) as i32;
        }
        return Ok(ranks);
    }
    let together = dev.takes(shape);
    let each = size_of::<T>() * (m * n + 2 * m * q + n * q + n).max(1);
    let step = if together {
        (dev.batch_bytes(each.saturating_mul(count))? / each).max(1)
    } else {
        1
    };
    for first in (0..count).step_by(step) {
        let some = first..count.min(first + step);
        let x = T::borrow_host(&x[some.start * m * n..some.end * m * n])?;
        let y = T::borrow_host(&y[some.start * m * q..some.end * m * q])?;
        let places = out.part(shape, &some);
        let found = if together {
            solve_together(dev, shape, some.len(), (&x, &y), tol, places)?
        } else {
            solve_alone(dev, shape, (&x, &y), tol, places)?
        };
        ranks.jpvt[some.start * n..some.end * n].copy_from_slice(&found.jpvt);
        ranks.rank[some].copy_from_slice(&found.rank);
    }
    Ok(ranks)
}

fn place<T>(data: &mut [T], rows: usize, cols: usize) -> MatMut<'_, T> {
    MatMut::from_column_major_slice_mut(data, rows, cols)
}

fn solve_together<T: Scalar, D: Batched<T>>(
    dev: &D,
    shape: ProblemShape,
    count: usize,
    (x, y): (&[T], &[T]),
    tol: f64,
    out: Fits<'_>,
) -> Result<Ranks> {
    let ProblemShape { m, n, q } = shape;
    fill(out, |qr, effects, residuals, coefficients, qraux| {
        let x = MatRef::from_column_major_slice(x, m, n * count);
        let y = MatRef::from_column_major_slice(y, m, q * count);
        let mut x = dev.load_into(x, Part::All, place(qr, m, n * count))?;
        let mut y = dev.load_into(y, Part::All, place(effects, m, q * count))?;
        let mut residuals = dev.output(place(residuals, m, q * count))?;
        let mut coefficients = dev.output(place(coefficients, n, q * count))?;
        let mut qraux = dev.output(place(qraux, n, count))?;
        let problems = Problems {
            shape,
            count,
            x: &mut x,
            y: &mut y,
            residuals: &mut residuals,
            coefficients: &mut coefficients,
            qraux: &mut qraux,
        };
        let ranks = dev.qrls_batched(tol, problems)?;
        for part in [x, y, residuals, coefficients, qraux] {
            dev.store(part)?;
        }
        Ok(ranks)
    })
}

fn solve_alone<T: Scalar, D: Lapack<T>>(
    dev: &D,
    shape: ProblemShape,
    (x, y): (&[T], &[T]),
    tol: f64,
    out: Fits<'_>,
) -> Result<Ranks> {
    let ProblemShape { m, n, q } = shape;
    fill(out, |qr, effects, residuals, coefficients, qraux| {
        let x = MatRef::from_column_major_slice(x, m, n);
        let y = MatRef::from_column_major_slice(y, m, q);
        let out = Fit {
            qr: place(qr, m, n),
            effects: place(effects, m, q),
            residuals: place(residuals, m, q),
            coefficients: place(coefficients, n, q),
        };
        let object = fit(dev, x, y, tol, out)?;
        narrow(&object.qraux, qraux)?;
        Ok(Ranks {
            jpvt: object.jpvt.iter().map(|&j| j as i32).collect(),
            rank: vec![object.rank as i32],
        })
    })
}

/// Runs `with` on memory whose contents end in the five parts of `out`.
fn fill<T: Scalar, R>(
    out: Fits<'_>,
    with: impl FnOnce(&mut [T], &mut [T], &mut [T], &mut [T], &mut [T]) -> Result<R>,
) -> Result<R> {
    T::fill_host(out.qr, |qr| {
        T::fill_host(out.effects, |effects| {
            T::fill_host(out.residuals, |residuals| {
                T::fill_host(out.coefficients, |coefficients| {
                    T::fill_host(out.qraux, |qraux| {
                        with(qr, effects, residuals, coefficients, qraux)
                    })
                })
            })
        })
    })
}
