//! Systems with a dense matrix or factor, on its device.

use faer::MatRef;

use super::preconditioner::{built_of, Built, Operand, PreconditionerName};
use super::problem::{Given, Solved, Systems};
use crate::algo::dense::cholesky::factor_resident;
use crate::algo::dense::symmetry::{is_symmetric_resident, triangles_resident};
use crate::algo::krylov::blocks::{Jacobi, Operator, Preconditioner, Unpreconditioned};
use crate::algo::krylov::dense::{Dense, Factor, ThroughHost};
use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::krylov::host_blocks::Host;
use crate::algo::krylov::pcg::pcg;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Uplo;
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::device::elementwise::Elementwise;

/// The triangle of a factor of order n that has zeros alone below its diagonal, or above.
///
/// # Errors
/// [`Error::Argument`] of a full matrix, and of a diagonal one, which could be a factor or the
/// matrix itself.
fn triangle(n: usize, below: bool, above: bool) -> Result<Uplo> {
    // The sentences are in `R/pcg-preconditioner.R`.
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

/// The triangle of a factor of the host with columns of `rows` entries. NaN is not zero.
///
/// # Errors
/// [`Error::Argument`] unless it is triangular and not diagonal; [`Error::Interrupted`].
pub fn triangle_of(x: &[f64], (rows, columns): (usize, usize)) -> Result<Uplo> {
    let (mut below, mut above) = (true, true);
    for (j, column) in x.chunks_exact(rows.max(1)).enumerate() {
        interrupt::poll()?;
        let (upper, lower) = column.split_at(j.min(column.len()));
        above &= upper.iter().all(|v| *v == 0.0);
        below &= lower.iter().skip(1).all(|v| *v == 0.0);
        if !above && !below {
            break;
        }
    }
    triangle(columns, below, above)
}

fn check_symmetric<T: Scalar, D: Elementwise<T>>(dev: &D, a: &D::Mat<'_>) -> Result<()> {
    match is_symmetric_resident::<T, _>(dev, a)? {
        true => Ok(()),
        false => Err(Error::NotSymmetric { argument: "A" }),
    }
}

/// Solves with a matrix on the device.
///
/// # Errors
/// [`Error::NotSymmetric`]; what is wrong with the preconditioner; what the device answers.
pub fn solve_resident<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &D::Mat<'_>,
    m: &Given,
) -> Result<Solved> {
    check_symmetric::<T, D>(dev, a)?;
    solve_symmetric::<T, D>(s, dev, a, m)
}

/// As [`solve_resident`], with a factor of either triangle on the same device.
pub fn solve_resident_with<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &D::Mat<'_>,
    factor: &D::Mat<'_>,
) -> Result<Solved> {
    check_symmetric::<T, D>(dev, a)?;
    with_resident::<T, D>(s, dev, &Dense(a), factor)
}

/// As [`solve_resident_with`], with a matrix that multiplies on the host.
pub fn solve_operator_with<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn Operator<Host>,
    factor: &D::Mat<'_>,
) -> Result<Solved> {
    let (host, inner) = (s.host, a);
    with_resident::<T, D>(s, dev, &ThroughHost { host, inner }, factor)
}

/// Solves with a matrix that multiplies on the host, and the upper triangle of a factor there.
pub(super) fn solve_operator<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn Operator<Host>,
    factor: &[f64],
) -> Result<Solved> {
    let (host, inner) = (s.host, a);
    with_factor_of_host::<T, D>(s, dev, &ThroughHost { host, inner }, factor)
}

/// As [`solve_resident`], with a matrix that is known to be symmetric.
pub(super) fn solve_symmetric<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &D::Mat<'_>,
    m: &Given,
) -> Result<Solved> {
    let op = Dense::<T, D>(a);
    match *m {
        Given::Named(asked) => with_built::<T, D>(s, dev, a, asked),
        Given::OnHost(inner) => {
            let host = s.host;
            run(s, dev, &op, &ThroughHost { host, inner })
        }
        Given::Factor(factor) => with_factor_of_host(s, dev, &op, factor),
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
            let factor = &factor_resident(dev, a)?;
            let uplo = Uplo::Upper;
            Ok(run(s, dev, &op, &Factor::<T, D> { factor, uplo })?.by(Built::Cholesky))
        }
        _ => Ok(run(s, dev, &op, &Unpreconditioned)?.by(Built::None)),
    }
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

/// With the upper triangle of a factor.
fn with_factor_of_host<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn for<'d> Operator<OnDevice<'d, T, D>>,
    factor: &[f64],
) -> Result<Solved> {
    let factor = T::borrow_host(factor)?;
    let factor = dev.load(MatRef::from_column_major_slice(&factor, s.n, s.n))?;
    with_factor(s, dev, a, &factor, Uplo::Upper)
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

fn run<T: Scalar, D: Elementwise<T>>(
    s: &Systems,
    dev: &D,
    a: &dyn for<'d> Operator<OnDevice<'d, T, D>>,
    m: &dyn for<'d> Preconditioner<OnDevice<'d, T, D>>,
) -> Result<Solved> {
    let blocks = OnDevice::<T, D>::new(dev);
    let bring = |x: &[f64]| {
        let mut own = try_zeroed::<T>(x.len())?;
        narrow(x, &mut own)?;
        blocks.bring(MatRef::from_column_major_slice(&own, s.n, s.columns))
    };
    let b = bring(s.b)?;
    let start = s.start.map(bring).transpose()?;
    let found = pcg(&blocks, a, m, &b, start.as_ref(), s.stop)?;
    Solved::new(dev.processor(), found, |x| widened(&blocks.fetch(&x)?))
}
