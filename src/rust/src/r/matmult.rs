//! `gpu_matmult`, `gpu_crossprod`, `gpu_tcrossprod`.

use extendr_api::prelude::*;

use crate::algo::dense::matmult;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::handle::resident;
use crate::r::on_resident::make_resident;
use crate::r::reply::reply;
use crate::r::target::{on_device, How};

/// How many terms the sums of a product of a matrix and its transpose have, and its order.
fn sums(transposed: Trans, dim: (usize, usize)) -> (usize, usize) {
    match transposed {
        Trans::Yes => dim,
        Trans::No => (dim.1, dim.0),
    }
}

/// out = op(x) op(y)
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_gemm(
    ta: Robj,
    tb: Robj,
    x: Robj,
    xdim: Robj,
    y: Robj,
    ydim: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (ta, tb) = (args::trans(&ta)?, args::trans(&tb)?);
        let (xdim, ydim) = (args::dims(&xdim)?, args::dims(&ydim)?);
        let ((m, k), (k2, n)) = (ta.shape(xdim), tb.shape(ydim));
        if k != k2 {
            return Err(crate::base::error::Error::Dimension {
                what: "non-conformable arguments".to_owned(),
            });
        }
        let (x, y) = (args::matrix(&x, xdim)?, args::matrix(&y, ydim)?);
        let mut out = Out::new(&out, (m, n))?;
        product(&how, (ta, x, xdim), (tb, y, ydim), out.slice())
    })
}

/// A matrix by columns with its dimensions, or its transpose.
pub type Factor<'a> = (Trans, &'a [f64], (usize, usize));

/// `out = op(x) op(y)` of matrices that conform.
pub fn product(
    how: &How,
    (ta, x, xdim): Factor<'_>,
    (tb, y, ydim): Factor<'_>,
    out: &mut [f64],
) -> Result<()> {
    let ((m, k), (_, n)) = (ta.shape(xdim), tb.shape(ydim));
    on_device!(how, Work::product(m, n, k), |dev, T| {
        let (x, y) = (T::borrow_host(x)?, T::borrow_host(y)?);
        T::fill_host(out, |out| {
            let (x, y) = (args::view(&x, xdim), args::view(&y, ydim));
            let out = args::view_mut(out, (m, n));
            matmult::product(dev, (ta, x), (tb, y), how.gpu_memory, out)
        })
    })
}

/// out = x'x or xx'
#[extendr]
fn native_syrk(transposed: Robj, x: Robj, xdim: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let transposed = args::trans(&transposed)?;
        let xdim = args::dims(&xdim)?;
        let (_, n) = sums(transposed, xdim);
        let x = args::matrix(&x, xdim)?;
        let mut out = Out::new(&out, (n, n))?;
        crossproduct(&how, (transposed, x, xdim), out.slice())
    })
}

/// `out = x'x` (`Trans::Yes`) or `xx'`.
pub fn crossproduct(how: &How, (trans, x, dim): Factor<'_>, out: &mut [f64]) -> Result<()> {
    let (k, n) = sums(trans, dim);
    on_device!(how, Work::crossprod(n, k), |dev, T| {
        let x = T::borrow_host(x)?;
        T::fill_host(out, |out| {
            let (x, out) = (args::view(&x, dim), args::view_mut(out, (n, n)));
            matmult::self_product(dev, trans, x, how.gpu_memory, out)
        })
    })
}

/// out = the handle of op(x) op(y)
#[extendr]
fn native_resident_gemm(ta: Robj, tb: Robj, x: Robj, y: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let (ta, tb) = (args::trans(&ta)?, args::trans(&tb)?);
        let (x, y) = (resident(&x)?, resident(&y)?);
        let ((m, k), (_, n)) = (ta.shape(x.shape()), tb.shape(y.shape()));
        let work = Work::product(m, n, k);
        make_resident!(&how, work, &out, x, y, |dev, T, x, y| {
            matmult::product_resident::<T, _>(dev, (ta, x), (tb, y))
        })
    })
}

/// out = the handle of x'x or xx'
#[extendr]
fn native_resident_syrk(transposed: Robj, x: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let transposed = args::trans(&transposed)?;
        let x = resident(&x)?;
        let (k, n) = sums(transposed, x.shape());
        make_resident!(&how, Work::crossprod(n, k), &out, x, |dev, T, x| {
            matmult::self_product_resident::<T, _>(dev, transposed, x)
        })
    })
}

extendr_module! {
    mod matmult;
    fn native_gemm;
    fn native_syrk;
    fn native_resident_gemm;
    fn native_resident_syrk;
}
