//! `pcg` with a sparse matrix on a device, by what is made of the matrix there.

use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::systems::preconditioner::{
    built_of, suits_gpu, Built, Operand, PreconditionerName,
};
use crate::algo::systems::resident::pcg_resident;
use crate::backend::dispatch::on_processor;
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::device::sparse::{Columns, Sparse};
use crate::r::args;
use crate::r::pcg_operands::SparseMatrix;
use crate::r::pcg_systems::{Solved, Systems};
use crate::r::session::{note_fallback, set_last};
use crate::r::target::{check_free, How};

/// Solves the systems on the GPU, or by multigrid on the CPU. `None` where the host's factors are
/// to solve them.
pub fn on_device(
    s: &Systems,
    how: &How,
    a: &SparseMatrix,
    asked: PreconditionerName,
) -> Result<Option<Solved>> {
    let fits = suits_gpu(s.n, a.columns()?.index.len());
    let target = how.target(if fits { f64::MAX } else { 0.0 });
    let on_gpu = built_of(Operand::SparseOnGpu, asked);
    if let (Processor::Cuda(_), Some(built)) = (target, on_gpu) {
        check_free(target)?;
        match by(s, target, a.columns()?, built) {
            Err(e) if how.may_fall_back(&e) => note_fallback(&e),
            solved => return Ok(Some(solved?.by(built))),
        }
    }
    match built_of(Operand::SparseOnHost, asked) {
        Some(Built::Multigrid) => {
            let solved = by(s, Processor::Cpu, a.columns()?, Built::Multigrid)?;
            Ok(Some(solved.by(Built::Multigrid)))
        }
        _ => Ok(None),
    }
}

fn by(s: &Systems, processor: Processor, a: Columns<'_>, built: Built) -> Result<Solved> {
    on_processor!(processor, s.host.threads(), |dev| {
        set_last(processor);
        run(s, dev, a, built)
    })
}

fn run<D: Sparse>(s: &Systems, dev: &D, a: Columns<'_>, built: Built) -> Result<Solved> {
    let blocks = OnDevice::<f64, D>::new(dev);
    let bring = |x: &[f64]| blocks.bring(args::view(x, (s.n, s.columns)));
    let a = dev.sparse_load(a)?;
    let b = bring(s.b)?;
    let start = s.start.map(bring).transpose()?;
    let found = pcg_resident(dev, a, built, &b, start.as_ref(), s.stop)?;
    Solved::new(found, |x| blocks.fetch(&x))
}
