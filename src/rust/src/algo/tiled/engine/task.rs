//! One task of a factorization by tiles.

use crate::base::error::{Error, Result};
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::lapack::Lapack;
use crate::tiles::schedule::Task;
use crate::tiles::Layout;

/// The order of a minor of the whole matrix.
pub(crate) fn minor(layout: &Layout, task: Task, e: Error) -> Error {
    match (e, task) {
        (Error::NotPositiveDefinite { order }, Task::Factor { k }) => {
            // What fills up the last tile fails only where something before it is not finite.
            let order = (k * layout.tile() + order).min(layout.rows());
            Error::NotPositiveDefinite { order }
        }
        (e, _) => e,
    }
}

/// One task on matrices of a device, the changed one first.
pub(crate) fn compute<'a, T: Scalar, D: Lapack<T>>(
    dev: &D,
    layout: &Layout,
    task: Task,
    target: &mut D::Mat<'a>,
    sources: &[&D::Mat<'a>],
) -> Result<()> {
    let one = T::from_f64(1.0);
    let done = match (task, sources) {
        (Task::Update { .. }, [a]) => {
            dev.gemm(T::from_f64(-1.0), Trans::Yes, a, Trans::No, a, one, target)
        }
        (Task::Update { .. }, [a, b]) => {
            dev.gemm(T::from_f64(-1.0), Trans::Yes, a, Trans::No, b, one, target)
        }
        (Task::Factor { .. }, []) => dev.potrf(Uplo::Upper, target),
        (Task::Solve { .. }, [r]) => {
            let (left, upper, yes) = (Side::Left, Uplo::Upper, Trans::Yes);
            dev.trsm(left, upper, yes, Diag::NonUnit, layout.tile(), r, target)
        }
        _ => unknown(),
    };
    done.map_err(|e| minor(layout, task, e))
}

/// A task that a device was not made for.
pub(crate) fn unknown<R>() -> Result<R> {
    Err(Error::Internal {
        what: "a step has the wrong number of tiles".into(),
    })
}
