//! `gpu_eigen`, `gpu_svd` and the 2-norm of `gpu_norm`.

use extendr_api::prelude::*;
use faer::MatMut;

use crate::algo::dense::eigen_batch::symmetric_batch;
use crate::algo::dense::symmetry::is_symmetric_as_base;
use crate::algo::dense::{eigen, svd};
use crate::backend::cpu::spectral::threads_for;
use crate::backend::cpu::CpuDevice;
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::plan::call;
use crate::cost::work::Work;
use crate::device::memory::Memory;
use crate::r::args::{self, Out};
use crate::r::reply::{reply, show_progress};
use crate::r::session::set_last;
use crate::r::target::{on_device, How};

/// Tells the plan of this call how many threads a decomposition of this order uses on the CPU.
fn tell_threads<T: Scalar, D: Memory<T>>(dev: &D, order: usize) {
    if dev.processor() == Processor::Cpu {
        call::refine(|plan| plan.threads = threads_for(order, plan.threads));
    }
}

/// Runs `fill` on the memory of `out` as a matrix, or without a matrix that has no columns.
fn with_matrix<T: Scalar, R>(
    out: &mut [f64],
    dim: (usize, usize),
    fill: impl FnOnce(Option<MatMut<'_, T>>) -> Result<R>,
) -> Result<R> {
    T::fill_host(out, |out| {
        fill((dim.1 > 0).then(|| args::view_mut(out, dim)))
    })
}

/// The number of columns of vectors that R wants: all or none.
fn columns(vectors: bool, n: usize) -> usize {
    match vectors {
        true => n,
        false => 0,
    }
}

/// out = the eigenvectors of a symmetric matrix if they are wanted; answers its eigenvalues
#[extendr]
fn native_eigen_symmetric(x: Robj, n: Robj, vectors: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, vectors) = (args::size(&n)?, args::flag(&vectors)?);
        let x = args::matrix(&x, (n, n))?;
        let dim = (n, columns(vectors, n));
        let mut out = Out::new(&out, dim)?;
        let values = on_device!(&how, Work::eigen(n, vectors), |dev, T| {
            tell_threads::<T, _>(dev, n);
            with_matrix::<T, _>(out.slice(), dim, |z| {
                eigen::symmetric::<f64, T, _>(dev, args::view(x, (n, n)), z)
            })
        })?;
        Ok(list!(values = values))
    })
}

/// out = the eigenvectors of each of some symmetric matrices if they are wanted; answers their
/// eigenvalues
#[extendr]
fn native_eigen_batch(x: Robj, n: Robj, vectors: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, vectors) = (args::size(&n)?, args::flag(&vectors)?);
        let count = args::doubles(&x)?.len().checked_div(n * n).unwrap_or(0);
        let all = (n, n * count);
        let x = args::matrix(&x, all)?;
        let dim = (n, columns(vectors, all.1));
        let mut out = Out::new(&out, dim)?;
        let values = on_device!(&how, Work::eigen_batch(n, count, vectors), |dev, T| {
            with_matrix::<T, _>(out.slice(), dim, |z| {
                symmetric_batch::<f64, T, _>(dev, args::view(x, all), z)
            })
        })?;
        Ok(list!(values = values))
    })
}

/// out = the eigenvectors of a general matrix in LAPACK's layout if they are wanted; answers the
/// real and the imaginary parts of its eigenvalues
#[extendr]
fn native_eigen_general(x: Robj, n: Robj, vectors: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, vectors) = (args::size(&n)?, args::flag(&vectors)?);
        let x = args::matrix(&x, (n, n))?;
        let dim = (n, columns(vectors, n));
        let mut out = Out::new(&out, dim)?;
        let (re, im) = match how.single {
            false => general::<f64>(&how, x, dim, &mut out),
            true => general::<f32>(&how, x, dim, &mut out),
        }?;
        Ok(list!(re = re, im = im))
    })
}

/// As [`native_eigen_general`], on the CPU, the only device that has a method for it.
fn general<T: Scalar>(
    how: &How,
    x: &[f64],
    dim: (usize, usize),
    out: &mut Out,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = dim.0;
    let each = if dim.1 > 0 { 25.0 } else { 10.0 };
    let work = Work::from(each * (n as f64).powi(3)).of((n, n));
    how.plan_on_cpu(&work);
    let _shown = progress::begin(work.flops, false, how.delay, show_progress);
    set_last(Processor::Cpu);
    with_matrix::<T, _>(out.slice(), dim, |v| {
        let dev = CpuDevice::new(how.threads);
        tell_threads::<T, _>(&dev, n);
        eigen::general::<f64, T, _>(&dev, args::view(x, (n, n)), v)
    })
}

/// u, v = singular vectors in as many columns as these matrices have; answers the singular values
#[extendr]
fn native_svd(x: Robj, xdim: Robj, u: Robj, ucols: Robj, v: Robj, vcols: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&xdim)?;
        let x = args::matrix(&x, dim)?;
        let udim = (dim.0, args::size(&ucols)?);
        let vdim = (dim.1, args::size(&vcols)?);
        let (mut u, mut v) = (Out::new(&u, udim)?, Out::new(&v, vdim)?);
        let values = on_device!(&how, Work::svd(dim, (udim.1, vdim.1)), |dev, T| {
            tell_threads::<T, _>(dev, dim.0.min(dim.1));
            with_matrix::<T, _>(u.slice(), udim, |u| {
                with_matrix::<T, _>(v.slice(), vdim, |v| {
                    let host = CpuDevice::new(1);
                    svd::svd::<f64, T, _, _>(dev, Some(&host), args::view(x, dim), u, v)
                })
            })
        })?;
        Ok(list!(values = values))
    })
}

/// Whether isSymmetric() is TRUE for a matrix of finite doubles without dimnames
#[extendr]
fn native_is_symmetric(x: Robj, n: Robj) -> Robj {
    reply(|| {
        let n = args::size(&n)?;
        let x = args::matrix(&x, (n, n))?;
        Ok(list!(
            symmetric = is_symmetric_as_base(args::view(x, (n, n)))?
        ))
    })
}

/// The position of the first of some matrices of finite doubles for which isSymmetric() is FALSE;
/// 0 if there is none
#[extendr]
fn native_first_asymmetric(x: Robj, n: Robj) -> Robj {
    reply(|| {
        let n = args::size(&n)?;
        for (i, x) in args::doubles(&x)?.chunks_exact((n * n).max(1)).enumerate() {
            if !is_symmetric_as_base(args::view(x, (n, n)))? {
                return Ok(list!(index = (i + 1) as f64));
            }
        }
        Ok(list!(index = 0.0))
    })
}

extendr_module! {
    mod eigen;
    fn native_eigen_symmetric;
    fn native_eigen_general;
    fn native_svd;
    fn native_is_symmetric;
    fn native_eigen_batch;
    fn native_first_asymmetric;
}
