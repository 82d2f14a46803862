//! `gpu_lm_fit`.

use extendr_api::prelude::*;

use crate::algo::dense::least_squares::{self, Fit, Fits};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::device::batched::ProblemShape;
use crate::r::args::{self, Out};
use crate::r::qr::answer;
use crate::r::reply::reply;
use crate::r::target::{on_device, How};

/// The parts of a least-squares fit; see `algo::least_squares`
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_lm(
    x: Robj,
    xdim: Robj,
    y: Robj,
    ydim: Robj,
    tol: Robj,
    out_qr: Robj,
    out_effects: Robj,
    out_residuals: Robj,
    out_coef: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (xdim, ydim, tol) = (args::dims(&xdim)?, args::dims(&ydim)?, args::number(&tol)?);
        let cdim = (xdim.1, ydim.1);
        let (x, y) = (args::matrix(&x, xdim)?, args::matrix(&y, ydim)?);
        let mut qr = Out::new(&out_qr, xdim)?;
        let mut effects = Out::new(&out_effects, ydim)?;
        let mut residuals = Out::new(&out_residuals, ydim)?;
        let mut coefficients = Out::new(&out_coef, cdim)?;
        on_device!(&how, Work::least_squares(xdim, ydim.1, 1), |dev, T| {
            let (x, y) = (T::borrow_host(x)?, T::borrow_host(y)?);
            // Four results, so four buffers where R's memory cannot be used directly.
            T::fill_host(qr.slice(), |qr| {
                T::fill_host(effects.slice(), |effects| {
                    T::fill_host(residuals.slice(), |residuals| {
                        T::fill_host(coefficients.slice(), |coefficients| -> Result<_> {
                            let out = Fit {
                                qr: args::view_mut(qr, xdim),
                                effects: args::view_mut(effects, ydim),
                                residuals: args::view_mut(residuals, ydim),
                                coefficients: args::view_mut(coefficients, cdim),
                            };
                            let (x, y) = (args::view(&x, xdim), args::view(&y, ydim));
                            least_squares::fit(dev, x, y, tol, out)
                        })
                    })
                })
            })
        })
        .map(answer)
    })
}

/// The parts of many least-squares fits of one shape: x has `ydim[0]` rows and `n` columns for each
/// of `count` problems
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_lm_batch(
    x: Robj,
    n: Robj,
    y: Robj,
    ydim: Robj,
    count: Robj,
    tol: Robj,
    out_qr: Robj,
    out_qraux: Robj,
    out_effects: Robj,
    out_residuals: Robj,
    out_coef: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let ((m, q), n) = (args::dims(&ydim)?, args::size(&n)?);
        let (count, tol) = (args::size(&count)?, args::number(&tol)?);
        let shape = ProblemShape { m, n, q };
        let (xdim, ydim, cdim) = (
            (m, n.saturating_mul(count)),
            (m, q.saturating_mul(count)),
            (n, q.saturating_mul(count)),
        );
        let (x, y) = (args::matrix(&x, xdim)?, args::matrix(&y, ydim)?);
        let mut qr = Out::new(&out_qr, xdim)?;
        let mut qraux = Out::new(&out_qraux, (n, count))?;
        let mut effects = Out::new(&out_effects, ydim)?;
        let mut residuals = Out::new(&out_residuals, ydim)?;
        let mut coefficients = Out::new(&out_coef, cdim)?;
        let ranks = on_device!(&how, Work::least_squares((m, n), q, count), |dev, T| {
            let out = Fits {
                qr: qr.slice(),
                effects: effects.slice(),
                residuals: residuals.slice(),
                coefficients: coefficients.slice(),
                qraux: qraux.slice(),
            };
            least_squares::fit_batch::<T, _>(dev, shape, count, (x, y), tol, out)
        })?;
        let pivot: Vec<i32> = ranks.jpvt.iter().map(|j| j + 1).collect();
        Ok(list!(rank = ranks.rank, pivot = pivot))
    })
}

extendr_module! {
    mod lm;
    fn native_lm;
    fn native_lm_batch;
}
