//! `pcg` with a sparse matrix on a device, by what is made of the matrix there.

use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::systems::resident::{pcg_resident, Made};
use crate::backend::dispatch::on_processor;
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::device::sparse::{Columns, Sparse};
use crate::r::args;
use crate::r::pcg_operands::{Kind, SparseMatrix};
use crate::r::pcg_systems::{Solved, Systems};
use crate::r::session::{note_fallback, set_last};
use crate::r::target::{check_free, How};

/// Rows from which `auto` takes a GPU, and entries up to which: both triangles' are counted in 31
/// bits there.
const ENOUGH: usize = 50_000;
const MOST: usize = 1 << 30;

/// What is made on a GPU, and what it is called; none of what is a matter of the host.
fn on_gpu(kind: Kind) -> Option<(Made, Kind)> {
    match kind {
        Kind::None => Some((Made::None, kind)),
        Kind::Jacobi => Some((Made::Jacobi, kind)),
        Kind::Amg | Kind::Auto | Kind::Default => Some((Made::Multigrid, Kind::Amg)),
        Kind::Ic0 | Kind::Cholesky => None,
    }
}

/// Where a preconditioner is made on a device, and the device is one for so many rows.
pub fn on_device(s: &Systems, how: &How, a: &SparseMatrix, kind: Kind) -> Result<Option<Solved>> {
    let fits = s.n >= ENOUGH && a.columns()?.index.len() < MOST;
    let target = how.target(if fits { f64::MAX } else { 0.0 });
    if let (Processor::Cuda(_), Some((made, kind))) = (target, on_gpu(kind)) {
        check_free(target)?;
        match by(s, target, a.columns()?, made) {
            Err(e) if how.may_fall_back(&e) => note_fallback(&e),
            solved => return Ok(Some(solved?.by(kind))),
        }
    }
    if kind == Kind::Amg {
        let solved = by(s, Processor::Cpu, a.columns()?, Made::Multigrid)?;
        return Ok(Some(solved.by(Kind::Amg)));
    }
    Ok(None)
}

fn by(s: &Systems, processor: Processor, a: Columns<'_>, made: Made) -> Result<Solved> {
    on_processor!(processor, s.host.threads(), |dev| {
        set_last(processor);
        run(s, dev, a, made)
    })
}

fn run<D: Sparse>(s: &Systems, dev: &D, a: Columns<'_>, made: Made) -> Result<Solved> {
    let blocks = OnDevice::<f64, D>::new(dev);
    let bring = |x: &[f64]| blocks.bring(args::view(x, (s.n, s.columns)));
    let a = dev.sparse_load(a)?;
    let b = bring(s.b)?;
    let start = s.start.map(bring).transpose()?;
    let found = pcg_resident(dev, a, made, &b, start.as_ref(), s.stop)?;
    Solved::new(found, |x| blocks.fetch(&x))
}
