//! `gpu_chol`, `gpu_chol2inv`.

use extendr_api::prelude::*;

use crate::algo::dense::cholesky;
use crate::algo::tiled::cholesky_host;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::handle::resident;
use crate::r::on_resident::make_resident;
use crate::r::reply::{positions, reply};
use crate::r::target::{on_device, How};

/// out = R with R'R = x, zero below the diagonal
#[extendr]
fn native_chol(x: Robj, n: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let n = args::size(&n)?;
        let x = args::matrix(&x, (n, n))?;
        let mut out = Out::new(&out, (n, n))?;
        factor(&how, x, n, out.slice())
    })
}

/// `out = R` with `R'R = x`, of order `n`.
pub fn factor(how: &How, x: &[f64], n: usize, out: &mut [f64]) -> Result<()> {
    let means = how.means();
    on_device!(how, Work::cholesky(n), |dev, T| {
        let x = T::borrow_host(x)?;
        T::fill_host(out, |out| {
            let (x, out) = (args::view(&x, (n, n)), args::view_mut(out, (n, n)));
            cholesky_host::factor(dev, &means, x, out)
        })
    })
}

/// out = the factors of a batch: an array of matrices, or a list of them and a list of places
#[extendr]
fn native_chol_batch(x: Robj, n: Robj, out: Robj, flops: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, flops) = (args::size(&n)?, args::number(&flops)?);
        if let (Some(xs), Some(mut outs)) = (args::matrices(&x, n)?, args::places(&out, n)?) {
            let mut outs: Vec<&mut [f64]> = outs.iter_mut().map(Out::slice).collect();
            return factor_list(&how, flops, n, &xs, &mut outs);
        }
        let dims = (n, args::doubles(&x)?.len().checked_div(n).unwrap_or(0));
        let x = args::matrix(&x, dims)?;
        let mut out = Out::new(&out, dims)?;
        if how.single && n > 0 {
            // Narrowed part by part, instead of all of it before anything is factored.
            let xs: Vec<&[f64]> = x.chunks_exact(n * n).collect();
            let mut outs: Vec<&mut [f64]> = out.slice().chunks_exact_mut(n * n).collect();
            return factor_list(&how, flops, n, &xs, &mut outs);
        }
        on_device!(&how, Work::cholesky_batch(n, flops), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                cholesky::factor_batch(dev, args::view(&x, dims), args::view_mut(out, dims))
            })
        })
    })
}

fn factor_list(
    how: &How,
    flops: f64,
    n: usize,
    xs: &[&[f64]],
    outs: &mut [&mut [f64]],
) -> Result<()> {
    on_device!(how, Work::cholesky_batch(n, flops), |dev, T| {
        cholesky::factor_list::<T, _>(dev, n, xs, outs)
    })
}

/// out = R with R'R = x[pivot, pivot]
#[extendr]
fn native_chol_pivot(x: Robj, n: Robj, tol: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, tol) = (args::size(&n)?, args::number(&tol)?);
        let x = args::matrix(&x, (n, n))?;
        let mut out = Out::new(&out, (n, n))?;
        let info = on_device!(&how, Work::cholesky_pivoted(n), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                let (x, out) = (args::view(&x, (n, n)), args::view_mut(out, (n, n)));
                cholesky::factor_pivoted(dev, x, tol, out)
            })
        })?;
        Ok(list!(
            pivot = positions(&info.jpvt),
            rank = info.rank as i32
        ))
    })
}

/// out = (R'R)^-1 from the leading `size` rows and columns of x
#[extendr]
fn native_chol2inv(x: Robj, xdim: Robj, size: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (xdim, n) = (args::dims(&xdim)?, args::size(&size)?);
        if n > xdim.0.min(xdim.1) {
            return Err(crate::base::error::Error::Dimension {
                what: "'size' exceeds the dimensions of 'x'".to_owned(),
            });
        }
        let x = args::matrix(&x, xdim)?;
        let mut out = Out::new(&out, (n, n))?;
        on_device!(&how, Work::cholesky_inverse(n), |dev, T| {
            let x = T::borrow_host(x)?;
            T::fill_host(out.slice(), |out| {
                cholesky::inverse(dev, args::view(&x, xdim), args::view_mut(out, (n, n)))
            })
        })
    })
}

/// out = the handle of R with R'R = x
#[extendr]
fn native_resident_chol(x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let x = resident(&x)?;
        let work = Work::cholesky(x.shape().0);
        make_resident!(&how, work, &out, x, |dev, T, x| {
            cholesky::factor_resident(dev, x)
        })
    })
}

/// out = the handle of (R'R)^-1 from the leading `size` rows and columns of x
#[extendr]
fn native_resident_chol2inv(x: Robj, size: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (a, n) = (resident(&x)?, args::size(&size)?);
        let (rows, cols) = a.shape();
        if n > rows.min(cols) {
            return Err(crate::base::error::Error::Dimension {
                what: "'size' exceeds the dimensions of 'x'".to_owned(),
            });
        }
        make_resident!(&how, Work::cholesky_inverse(n), &out, a, |dev, T, x| {
            cholesky::inverse_resident(dev, x, n)
        })
    })
}

extendr_module! {
    mod cholesky;
    fn native_resident_chol;
    fn native_resident_chol2inv;
    fn native_chol;
    fn native_chol_batch;
    fn native_chol_pivot;
    fn native_chol2inv;
}
