//! `pcg` with a dense matrix or factor, on the device that it is on or that is chosen for it.

use crate::device::memory::Memory;
use extendr_api::prelude::*;

use crate::algo::dense::cholesky;
use crate::algo::dense::symmetry::{is_symmetric, is_symmetric_resident, triangles_resident};
use crate::algo::krylov::blocks::{Jacobi, Operator, Preconditioner, Solve, Unpreconditioned};
use crate::algo::krylov::dense::{Dense, Factor, ThroughHost};
use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::krylov::pcg::pcg;
use crate::algo::systems::preconditioner::{built_of, Built, Operand, PreconditionerName};
use crate::base::error::{Error, Result};
use crate::base::matrix::Uplo;
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::cost::work::Work;
use crate::device::elementwise::Elementwise;
use crate::r::args;
use crate::r::pcg_operands::AnyPreconditioner;
use crate::r::pcg_systems::{Solved, Systems};
use crate::r::resident::{held, on_held, on_pair, watch};
use crate::r::session::{last_target, set_last};
use crate::r::target::{on_device, How};

fn asymmetric() -> Error {
    Error::NotSymmetric { argument: "A" }
}

fn work(s: &Systems) -> Work {
    Work::cholesky(s.n)
}

/// The triangle of a factor of order n that has zeros alone below its diagonal, or above. One that
/// is diagonal could be a factor, and could be meant for the matrix itself.
pub fn triangle(n: usize, below: bool, above: bool) -> Result<Uplo> {
    // The sentences are in `R/pcg-operands.R`.
    let what = match (below, above) {
        (true, true) if n > 1 => "diagonal",
        (true, _) => return Ok(Uplo::Upper),
        (false, true) => return Ok(Uplo::Lower),
        (false, false) => "full",
    };
    Err(Error::Argument {
        argument: "M",
        what: what.into(),
    })
}

/// A matrix behind a handle; a factor behind one is on the same device.
pub fn resident(s: &Systems, how: &How, a: &Robj, m: &AnyPreconditioner) -> Result<Solved> {
    let a = held(a)?;
    let _shown = watch(how, a, work(s));
    if let Some(factor) = m.resident()? {
        return on_pair!(how, a, factor, |dev, T, a, f| {
            if !is_symmetric_resident::<T, _>(dev, a)? {
                return Err(asymmetric());
            }
            with_resident::<T, _>(s, dev, &Dense(a), f)
        });
    }
    on_held!(how, a, |dev, T, a| {
        if !is_symmetric_resident::<T, _>(dev, a)? {
            return Err(asymmetric());
        }
        with_matrix::<T, _>(s, dev, a, m)
    })
}

/// A matrix of the host.
pub fn host(s: &Systems, how: &How, x: &[f64], m: &AnyPreconditioner) -> Result<Solved> {
    let dim = (s.n, s.n);
    if !is_symmetric(args::view(x, dim))? {
        return Err(asymmetric());
    }
    on_device!(how, work(s), |dev, T| {
        let x = T::borrow_host(x)?;
        let a = dev.load(args::view(&x, dim))?;
        with_matrix::<T, _>(s, dev, &a, m)
    })
}

/// What multiplies on the host, with a dense factor.
pub fn through_host(
    s: &Systems,
    how: &How,
    op: &dyn Operator<Host>,
    m: &AnyPreconditioner,
) -> Result<Solved> {
    let (host, inner) = (s.host, op);
    let op = ThroughHost { host, inner };
    if let Some(factor) = m.resident()? {
        let _shown = watch(how, factor, work(s));
        return on_held!(how, factor, |dev, T, f| {
            with_resident::<T, _>(s, dev, &op, f)
        });
    }
    on_device!(how, work(s), |dev, T| {
        with_factor_of_host::<T, _>(s, dev, &op, m)
    })
}

fn with_factor_of_host<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn for<'d> Operator<OnDevice<'d, T, D>>,
    m: &AnyPreconditioner,
) -> Result<Solved> {
    let AnyPreconditioner::Dense(f) = m else {
        return Err(Error::Internal {
            what: "a native routine was called without a factor".into(),
        });
    };
    let dim = (s.n, s.n);
    let f = T::borrow_host(args::matrix(f, dim)?)?;
    let factor = dev.load(args::view(&f, dim))?;
    with_factor(s, dev, a, &factor, Uplo::Upper)
}

/// With a factor of either triangle.
fn with_resident<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn for<'d> Operator<OnDevice<'d, T, D>>,
    factor: &D::Mat<'_>,
) -> Result<Solved> {
    let (below, above) = triangles_resident::<T, _>(dev, factor)?;
    let uplo = triangle(s.n, below == 0.0, above == 0.0)?;
    if !below.is_finite() || !above.is_finite() {
        return Err(Error::NonFiniteIn { argument: "M" });
    }
    with_factor(s, dev, a, factor, uplo)
}

fn with_factor<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn for<'d> Operator<OnDevice<'d, T, D>>,
    factor: &D::Mat<'_>,
    uplo: Uplo,
) -> Result<Solved> {
    let diagonal = dev.diagonal(factor)?;
    if !diagonal.iter().all(|d| (*d).into().is_finite()) {
        return Err(Error::NonFiniteIn { argument: "M" });
    }
    let positive = |d: &T| (*d).into() > 0.0;
    if !diagonal.iter().all(positive) {
        return Err(Error::Argument {
            argument: "M",
            what: "the diagonal of a Cholesky factor must be positive".into(),
        });
    }
    run(s, dev, a, &Factor::<T, D> { factor, uplo })
}

fn with_matrix<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &D::Mat<'_>,
    m: &AnyPreconditioner,
) -> Result<Solved> {
    let (op, host) = (Dense::<T, D>(a), s.host);
    match m {
        AnyPreconditioner::Named(asked) => with_built::<T, D>(s, dev, a, *asked),
        AnyPreconditioner::Incomplete(inner) => run(s, dev, &op, &ThroughHost { host, inner }),
        AnyPreconditioner::Function(f) => {
            let inner = &Solve(|r: &HostBlock, out: &mut HostBlock| f.apply(r, out));
            run(s, dev, &op, &ThroughHost { host, inner })
        }
        AnyPreconditioner::Dense(_) | AnyPreconditioner::Resident(_) => {
            with_factor_of_host(s, dev, &op, m)
        }
    }
}

/// With a preconditioner built from the matrix.
fn with_built<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &D::Mat<'_>,
    asked: PreconditionerName,
) -> Result<Solved> {
    let op = Dense::<T, D>(a);
    match built_of(Operand::Dense, asked) {
        Some(Built::Jacobi) => {
            let diagonal = widened(&dev.diagonal(a)?)?;
            let m = Jacobi::new(&OnDevice::<T, D>::new(dev), &diagonal)?;
            Ok(run(s, dev, &op, &m)?.by(Built::Jacobi))
        }
        Some(Built::Cholesky) => {
            let factor = &cholesky::factor_resident(dev, a)?;
            let uplo = Uplo::Upper;
            Ok(run(s, dev, &op, &Factor::<T, D> { factor, uplo })?.by(Built::Cholesky))
        }
        _ => Ok(run(s, dev, &op, &Unpreconditioned)?.by(Built::None)),
    }
}

fn run<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn for<'d> Operator<OnDevice<'d, T, D>>,
    m: &dyn for<'d> Preconditioner<OnDevice<'d, T, D>>,
) -> Result<Solved> {
    let blocks = OnDevice::<T, D>::new(dev);
    let dim = (s.n, s.columns);
    let bring = |x: &[f64]| {
        let mut own = try_zeroed::<T>(x.len())?;
        narrow(x, &mut own)?;
        blocks.bring(args::view(&own, dim))
    };
    let b = bring(s.b)?;
    let start = s.start.map(bring).transpose()?;
    // A function that is called may compute elsewhere.
    let here = last_target();
    let found = pcg(&blocks, a, m, &b, start.as_ref(), s.stop)?;
    here.into_iter().for_each(set_last);
    Solved::new(found, |x| widened(&blocks.fetch(&x)?))
}
