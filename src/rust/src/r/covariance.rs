//! `gpu_covariance`, and `tile_matrix` of a `covariance`.

use extendr_api::prelude::*;

use crate::algo::tiled::covariance::{matrix, matrix_resident, operations, write};
use crate::backend::dispatch::on_processor;
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::plan::device::COVARIANCE_ENTRIES;
use crate::cost::work::Work;
use crate::device::covariance::{scales, Correlation, Covariance, Points};
use crate::r::args::{self, Out};
use crate::r::handle::resident;
use crate::r::on_resident::make_resident;
use crate::r::operand::unknown;
use crate::r::reply::{reply, show_progress};
use crate::r::session::{note_fallback, set_last};
use crate::r::target::{check_free, on_device, How};
use crate::r::tile_writer::{writer, Writer};
use crate::tiles::TileFile;

/// A covariance function by its name, and `c(variance, nugget, range...)`.
struct Function {
    covariance: Covariance,
    scales: Vec<f64>,
}

impl Function {
    fn parse(kernel: &Robj, parameters: &Robj) -> Result<Self> {
        let name = kernel.as_str().unwrap_or_default();
        let correlation = Correlation::named(name).ok_or_else(|| unknown("covariance function"))?;
        let [variance, nugget, ref ranges @ ..] = *args::doubles(parameters)? else {
            return Err(unknown("covariance function's parameters"));
        };
        let covariance = Covariance {
            correlation,
            variance,
            nugget,
        };
        Ok(Function {
            covariance,
            scales: scales(ranges),
        })
    }

    /// Points of R's matrix of so many rows and columns.
    fn points<'a>(&'a self, x: &'a Robj, dim: (usize, usize)) -> Result<Points<'a>> {
        Ok(Points {
            coordinates: args::view(args::matrix(x, dim)?, dim),
            scales: &self.scales,
        })
    }
}

/// What decides about the device.
fn weight(entries: f64) -> Work {
    Work::from(if entries >= COVARIANCE_ENTRIES {
        f64::MAX
    } else {
        0.0
    })
}

/// out = the covariances of the points in the rows of x and those in the rows of y; of x with one
/// another where y is NULL
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_covariance(
    x: Robj,
    xdim: Robj,
    y: Robj,
    ydim: Robj,
    kernel: Robj,
    parameters: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let mut how = How::parse(&how)?;
        // The weight says nothing of the time.
        how.delay = f64::INFINITY;
        let (xdim, ydim) = (args::dims(&xdim)?, args::dims(&ydim)?);
        let dim = (xdim.0, ydim.0);
        let function = Function::parse(&kernel, &parameters)?;
        let x = function.points(&x, xdim)?;
        let y = (!y.is_null())
            .then(|| function.points(&y, ydim))
            .transpose()?;
        let mut out = Out::new(&out, dim)?;
        let entries = dim.0 as f64 * dim.1 as f64;
        on_device!(&how, weight(entries).of(dim), |dev, T| {
            T::fill_host(out.slice(), |out| {
                let out = args::view_mut::<T>(out, dim);
                matrix(dev, &function.covariance, x, y, out)
            })
        })
    })
}

/// out = the handle of the same, on the device and in the precision of `beside`
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_resident_covariance(
    x: Robj,
    xdim: Robj,
    y: Robj,
    ydim: Robj,
    kernel: Robj,
    parameters: Robj,
    beside: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let (xdim, ydim) = (args::dims(&xdim)?, args::dims(&ydim)?);
        let function = Function::parse(&kernel, &parameters)?;
        let x = function.points(&x, xdim)?;
        let y = (!y.is_null())
            .then(|| function.points(&y, ydim))
            .transpose()?;
        // Nothing is counted.
        let work = f64::INFINITY;
        make_resident!(&how, work, &out, resident(&beside)?, |dev, T, _a| {
            matrix_resident::<T, _>(dev, &function.covariance, x, y)
        })
    })
}

fn fill<T: Scalar>(
    target: Processor,
    file: &TileFile<T>,
    function: &Function,
    x: Points<'_>,
    how: &How,
) -> Result<()> {
    check_free(target)?;
    let total = operations(file.layout(), x.scales.len());
    let _shown = progress::begin(total, false, how.delay, show_progress);
    progress::phase("writing");
    progress::watch(file.counter());
    let covariance = &function.covariance;
    on_processor!(target, how.threads, |dev| {
        set_last(target);
        write(dev, covariance, x, file)
    })
}

fn fill_file<T: Scalar>(
    file: &TileFile<T>,
    function: &Function,
    x: Points<'_>,
    how: &How,
) -> Result<()> {
    let layout = file.layout();
    let work = weight(layout.rows() as f64 * layout.cols() as f64);
    let target = how.plan(work.of((layout.rows(), layout.cols())));
    match fill(target, file, function, x, how) {
        Err(e) if how.may_fall_back(&e) => {
            note_fallback(&e);
            fill(Processor::Cpu, file, function, x, how)
        }
        done => done,
    }
}

/// Writes all tiles of a file that is being made: the covariances of the points in the rows of x
/// with one another
#[extendr]
fn native_tiles_covariance(
    mut out: Robj,
    x: Robj,
    xdim: Robj,
    kernel: Robj,
    parameters: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let function = Function::parse(&kernel, &parameters)?;
        let x = function.points(&x, args::dims(&xdim)?)?;
        match writer(&mut out)? {
            Writer::Double(file, _) => fill_file(file, &function, x, &how),
            Writer::Single(file, _) => fill_file(file, &function, x, &how),
        }
    })
}

extendr_module! {
    mod covariance;
    fn native_covariance;
    fn native_resident_covariance;
    fn native_tiles_covariance;
}
