//! Passes over a matrix in host memory, on the threads of the CPU.

use crate::device::blas::Blas;
use crate::device::memory::Memory;
use extendr_api::prelude::*;

use crate::algo::dense::centre;
use crate::backend::cpu::CpuDevice;
use crate::r::args::{self, Out};
use crate::r::handle::resident;
use crate::r::on_resident::on_resident;
use crate::r::reply::reply;
use crate::r::target::How;

/// The largest sum of absolute values in a column: finite only if every entry is
#[extendr]
fn native_norm1(x: Robj, xdim: Robj, how: Robj) -> Robj {
    reply(|| {
        let dim = args::dims(&xdim)?;
        let x = args::view(args::matrix(&x, dim)?, dim);
        let dev = CpuDevice::new(How::parse(&how)?.threads);
        let x = Memory::<f64>::load(&dev, x)?;
        Ok(list!(norm1 = Blas::<f64>::norm1(&dev, &x)?))
    })
}

/// out = each column of x without its value in `values`
#[extendr]
fn native_subtract_columns(x: Robj, xdim: Robj, values: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let dim = args::dims(&xdim)?;
        let (x, values) = (args::matrix(&x, dim)?, args::doubles(&values)?);
        let mut out = Out::new(&out, dim)?;
        How::parse(&how)?;
        let out = args::view_mut(out.slice(), dim);
        centre::subtract(args::view(x, dim), values, out)?;
        Ok(list!())
    })
}

/// Whether all entries behind a handle are finite; the norms of columns decide where only their
/// sums are not
#[extendr]
fn native_resident_finite(x: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let finite = on_resident!(&how, resident(&x)?, |dev, T, a| {
            let sums = Blas::<T>::norm1(dev, a)?.is_finite();
            Ok(sums
                || Blas::<T>::column_norms(dev, a)?
                    .iter()
                    .all(|v| v.is_finite()))
        })?;
        Ok(list!(finite = finite))
    })
}

extendr_module! {
    mod norm;
    fn native_norm1;
    fn native_subtract_columns;
    fn native_resident_finite;
}
