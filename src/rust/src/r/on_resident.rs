//! Runs code with resident matrices on the device where they are.

use crate::base::error::Error;
use crate::base::processor::Processor;
use crate::base::progress;
use crate::cost::work::Work;
use crate::r::reply::show_progress;
use crate::r::resident::ResidentMatrix;
use crate::r::target::How;

/// The error for operands on two devices, or of two precisions. R functions prevent it.
pub fn different_devices() -> Error {
    Error::Argument {
        argument: "y",
        what: "the operands are on different devices or of different precision: bring them \
               together with as_gpu()"
            .to_owned(),
    }
}

/// Runs `$body`, a `Result`, with `$dev` the device of a [`ResidentMatrix`], `$t` its element type
/// and `$a` its matrix.
///
/// `ToResident::<$t>::to_resident($dev, made)` makes a resident matrix of a result.
macro_rules! on_resident {
    ($how:expr, $x:expr, |$dev:ident, $t:ident, $a:ident| $body:expr) => {{
        use $crate::r::resident::ResidentMatrix;
        let how: &$crate::r::target::How = $how;
        let x: &ResidentMatrix = $x;
        $crate::r::session::set_last(x.target());
        $crate::backend::dispatch::on_typed_processor!(
            x.target(),
            x.single(),
            how.threads,
            |$dev, $t| {
                let $a = x.matrix::<$t, _>($dev)?;
                $body
            }
        )
    }};
}
pub(crate) use on_resident;

/// Shows the progress of work on the device of a matrix, until the returned value is dropped. A GPU
/// may still compute then.
pub fn watch(how: &How, a: &ResidentMatrix, work: impl Into<Work>) -> progress::Call {
    let later = a.target() != Processor::Cpu;
    let work = work.into();
    how.plan_there(a.target(), a.single(), &work);
    progress::begin(work.flops, later, how.delay, show_progress)
}

/// Puts the matrix that `$body` makes, on the device of one or two resident matrices, behind the
/// handle `$out`, and shows the progress of this `$work`.
macro_rules! make_resident {
    ($how:expr, $work:expr, $out:expr, $x:expr, |$dev:ident, $t:ident, $a:ident| $body:expr) => {{
        use $crate::r::handle::EmptyHandle;
        use $crate::r::on_resident::{on_resident, watch};
        use $crate::r::resident::{ResidentMatrix, ToResident};
        let how = $crate::r::target::How::parse($how)?;
        let slot = EmptyHandle::new($out)?;
        let x: &ResidentMatrix = $x;
        let _shown = watch(&how, x, $work);
        let made = on_resident!(&how, x, |$dev, $t, $a| {
            $body.map(|made| ToResident::<$t>::to_resident($dev, made))
        })?;
        slot.fill(made);
        Ok(())
    }};
    (
        $how:expr, $work:expr, $out:expr, $x:expr, $y:expr,
        |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr
    ) => {{
        use $crate::r::handle::EmptyHandle;
        use $crate::r::on_resident::{on_pair, watch};
        use $crate::r::resident::{ResidentMatrix, ToResident};
        let how = $crate::r::target::How::parse($how)?;
        let slot = EmptyHandle::new($out)?;
        let x: &ResidentMatrix = $x;
        let _shown = watch(&how, x, $work);
        let made = on_pair!(&how, x, $y, |$dev, $t, $a, $b| {
            $body.map(|made| ToResident::<$t>::to_resident($dev, made))
        })?;
        slot.fill(made);
        Ok(())
    }};
}
pub(crate) use make_resident;

/// As [`on_resident`], with two matrices of one device and precision.
macro_rules! on_pair {
    ($how:expr, $x:expr, $y:expr, |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr) => {{
        let x: &$crate::r::resident::ResidentMatrix = $x;
        $crate::r::on_resident::on_both!($how, x, matrix, $y, |$dev, $t, $a, $b| $body)
    }};
}
pub(crate) use on_pair;

/// As [`on_pair`]; `$body` changes the first matrix.
macro_rules! on_pair_mut {
    ($how:expr, $x:expr, $y:expr, |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr) => {{
        let x: &mut $crate::r::resident::ResidentMatrix = $x;
        $crate::r::on_resident::on_both!($how, x, matrix_mut, $y, |$dev, $t, $a, $b| $body)
    }};
}
pub(crate) use on_pair_mut;

/// What [`on_pair`] and [`on_pair_mut`] share. `$matrix` is the method that gives the first matrix.
macro_rules! on_both {
    ($how:expr, $x:ident, $matrix:ident, $y:expr,
        |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr) => {{
        let how: &$crate::r::target::How = $how;
        let y: &$crate::r::resident::ResidentMatrix = $y;
        $crate::r::session::set_last($x.target());
        if ($x.target(), $x.single()) != (y.target(), y.single()) {
            return Err($crate::r::on_resident::different_devices());
        }
        $crate::backend::dispatch::on_typed_processor!(
            $x.target(),
            $x.single(),
            how.threads,
            |$dev, $t| {
                let ($a, $b) = ($x.$matrix::<$t, _>($dev)?, y.matrix::<$t, _>($dev)?);
                $body
            }
        )
    }};
}
pub(crate) use on_both;
