//! The systems of a random walker by conjugate gradients with algebraic multigrid, for images on
//! which that of the grid does not do: its aggregates follow strong weights, so that a flat region
//! that hardly hangs on becomes one row of a coarser level, whatever its shape.
//!
//! A sparse matrix's diagonal has sums of weights, whose rounding is of the size of the smallest
//! weights. So solutions are refined: residuals are sums over edges of weights times differences,
//! as of the direct method, and what is iterated for is what they are off.

use crate::device::memory::Memory;
use faer::MatRef;

use super::graph::Graph;
use super::probe::{draw, smallest_met, UNFIT};
use super::random_walker::{require_room, Solutions};
use super::system::LaplacianSystem;
use crate::algo::dense::symmetry::larger;
use crate::algo::krylov::blocks::Preconditioner;
use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::krylov::outcome::Stopping;
use crate::algo::krylov::pcg::pcg;
use crate::algo::krylov::spectrum::smallest_ritz_value;
use crate::algo::multigrid::algebraic::Algebraic;
use crate::algo::segmentation::accuracy::{Accuracy, Iterated};
use crate::base::error::{Error, Result};
use crate::base::scalar::{room, try_zeroed};
use crate::base::sparse::symmetric::Stored;
use crate::device::sparse::{Columns, Sparse};

/// As many labels are solved for at a time.
const TOGETHER: usize = 4;

/// Refinements iterate to this part of the residual each, and follow each other until so many have
/// left more than this part of the error: estimates, which a smaller eigenvalue enlarges.
const SMALLER: f64 = 1e-6;
const WORTH: f64 = 0.5;
const STALLS: usize = 2;

type Own<D> = <D as Memory<f64>>::Mat<'static>;

/// As [`segment_graph_multigrid`](super::multigrid::segment_graph_multigrid). Where this
/// preconditioner does not do either nothing is filled in and the error is infinite, unless it
/// `must` go on, as far as it comes.
pub fn segment_graph_algebraic<D: Sparse>(
    dev: &D,
    graph: &Graph<'_>,
    accuracy: Accuracy,
    must: bool,
    labels: &mut [i32],
    probabilities: Option<&mut [f64]>,
) -> Result<Iterated> {
    require_room(graph, labels, probabilities.as_deref())?;
    let system = graph.system(graph.unknown()?, false)?;
    let touching = system.touching();
    let mut done = Iterated {
        unknowns: system.unknowns(),
        ..Iterated::default()
    };
    let mut answer = Solutions::new(graph, &system.order, probabilities)?;
    if let Some((rest, solved)) = touching.split_last() {
        if !solved.is_empty() {
            let inverse = Algebraic::new(dev, load(dev, &system)?)?;
            let n = system.unknowns();
            let mut b = try_zeroed(n)?;
            draw(0..n, &mut b)?;
            let b = dev.load_temporary(
                MatRef::from_column_major_slice(&b, n, 1),
                crate::base::matrix::Part::All,
            )?;
            let blocks = OnDevice::new(dev);
            let smallest = smallest_met(&blocks, &inverse, &inverse, &b, n)?;
            if smallest < UNFIT && !must {
                done.error = f64::INFINITY;
                return Ok(done);
            }
            let mut solver = Solver {
                dev,
                system: &system,
                inverse,
                smallest,
                accuracy,
            };
            for labels in solved.chunks(TOGETHER) {
                let x = solver.solve(labels, &mut done)?;
                answer.take(labels, &x)?;
            }
        }
        answer.take_rest(*rest)?;
    }
    answer.write(labels)?;
    Ok(done)
}

/// The system's matrix, on a device.
fn load<D: Sparse>(dev: &D, system: &LaplacianSystem) -> Result<D::Csr> {
    let matrix = &system.matrix;
    let narrow = |all: &[usize]| {
        let mut out: Vec<i32> = room(all.len())?;
        for x in all {
            out.push(i32::try_from(*x).map_err(|_| Error::Dimension {
                what: "an image has too many pixels for method \"cg\"".into(),
            })?);
        }
        Ok::<_, Error>(out)
    };
    let (starts, index) = (narrow(&matrix.starts)?, narrow(&matrix.index)?);
    dev.sparse_load(Columns {
        starts: &starts,
        index: &index,
        values: &matrix.values,
        stored: Stored::Lower,
    })
}

struct Solver<'s, 'd, D: Sparse> {
    dev: &'d D,
    system: &'s LaplacianSystem,
    inverse: Algebraic<'d, D>,
    smallest: f64,
    accuracy: Accuracy,
}

impl<D: Sparse> Solver<'_, '_, D> {
    /// The solutions of some labels, by rows, and what that took.
    fn solve(&mut self, labels: &[u32], done: &mut Iterated) -> Result<Vec<f64>> {
        let (n, k) = (self.system.unknowns(), labels.len());
        let blocks = OnDevice::<f64, D>::new(self.dev);
        let (mut x, mut r) = (try_zeroed(n * k)?, try_zeroed(n * k)?);
        let (mut columns, mut left) = (try_zeroed(n * k)?, self.accuracy.maxit);
        let mut z: Own<D> = self.dev.blank(n, k)?;
        let (mut error, mut stalls) = (f64::INFINITY, 0);
        loop {
            let before = error;
            self.system.residuals(labels, &x, &mut r)?;
            for (i, row) in r.chunks_exact(k).enumerate() {
                row.iter()
                    .enumerate()
                    .for_each(|(c, v)| columns[c * n + i] = *v);
            }
            let b = blocks.bring(MatRef::from_column_major_slice(&columns, n, k))?;
            self.inverse.solve(&blocks, &b, &mut z)?;
            let step = blocks.fetch(&z)?;
            error = step.iter().map(|v| v.abs()).fold(0.0, larger) / self.smallest;
            if error.is_nan() {
                return Err(Error::NonFinite);
            }
            if error <= self.accuracy.tol {
                add(&mut x, &step, k);
                break;
            }
            stalls += usize::from(error > WORTH * before);
            if left == 0 || stalls == STALLS {
                error = f64::INFINITY;
                break;
            }
            let stop = Stopping {
                tol: SMALLER,
                maxit: left,
            };
            let found = pcg(&blocks, &self.inverse, &self.inverse, &b, None, stop)?;
            let took = found.iterations.iter().copied().max().unwrap_or(0);
            left -= took.min(left);
            for c in &found.coefficients {
                self.smallest = self.smallest.min(smallest_ritz_value(c));
            }
            add(&mut x, &blocks.fetch(&found.x)?, k);
        }
        done.iterations = done.iterations.max(self.accuracy.maxit - left);
        done.error = done.error.max(error);
        Ok(x)
    }
}

/// Adds columns to rows.
fn add(rows: &mut [f64], columns: &[f64], k: usize) {
    let n = rows.len() / k;
    for (i, row) in rows.chunks_exact_mut(k).enumerate() {
        row.iter_mut()
            .enumerate()
            .for_each(|(c, v)| *v += columns[c * n + i]);
    }
}
