//! The systems of a random walker on the grid of its image, by conjugate gradients with multigrid,
//! for all labels together.
//!
//! Seeds and pixels that are left out stay points of the grid, without couplings and with the
//! solution 0, so that the grid keeps its shape. What a residual says about probabilities depends
//! on the weights, of which some may be 1e-10; the multigrid's approximate inverse of it is in
//! probabilities, and so that is asked for, too, before a solution is believed. What it makes of an
//! error is that error times eigenvalues of `M^-1 A`, and so it is divided by the smallest that the
//! iteration has met.

use faer::MatMut;

use super::graph::Graph;
use super::grid::{links, operator, random, right_hand_sides};
use super::labels::{Choices, Turn};
use super::probe::{smallest_met, UNFIT};
use super::system::Link;
use crate::algo::dense::symmetry::larger;
use crate::algo::krylov::blocks::{Blocks, Operator as Multiplies, Preconditioner};
use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::krylov::outcome::Stopping;
use crate::algo::krylov::pcg::pcg;
use crate::algo::krylov::spectrum::smallest_ritz_value;
use crate::algo::multigrid::geometric::Multigrid;
use crate::algo::segmentation::accuracy::{Accuracy, Iterated};
use crate::base::chunks::{bands, BAND};
use crate::base::error::{Error, Result};
use crate::base::matrix::Block;
use crate::base::scalar::{filled, try_zeroed};
use crate::device::functions::{Fold, Lines};
use crate::device::stencil::Stencil;

/// As many labels are solved for at a time.
const TOGETHER: usize = 4;

/// How often a solution whose error is too large is gone on with, to residuals smaller by this
/// factor.
const ROUNDS: usize = 3;
const TIGHTER: f64 = 1e-2;

impl<D: Stencil> Multiplies<OnDevice<'_, f64, D>> for Multigrid<'_, D> {
    fn order(&self, _: &OnDevice<'_, f64, D>) -> usize {
        self.operator().grid.points()
    }

    fn multiply(
        &self,
        blocks: &OnDevice<'_, f64, D>,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        blocks.dev.stencil_residual(self.operator(), None, x, out)
    }
}

impl<D: Stencil> Preconditioner<OnDevice<'_, f64, D>> for Multigrid<'_, D> {
    fn solve(
        &self,
        _: &OnDevice<'_, f64, D>,
        r: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        self.apply(r, out)
    }
}

/// As [`segment_graph`](super::random_walker::segment_graph), on a device, by iteration. What has
/// not converged is in the answer as far as it came, and `error` says so. Where multigrid does not
/// do for the image, since it does not know regions that hang on by little, nothing is filled in,
/// and the error is infinite after no iteration.
///
/// # Errors
/// [`Error::Dimension`] where there is no room for just these, and of an image with 2^31 pixels or
/// more; [`Error::NonFinite`] where an estimate of an error is NaN; [`Error::HostMemory`],
/// [`Error::Interrupted`] and what the device answers.
pub fn segment_graph_multigrid<D: Stencil>(
    dev: &D,
    graph: &Graph<'_>,
    accuracy: Accuracy,
    labels: &mut [i32],
    probabilities: Option<&mut [f64]>,
) -> Result<Iterated> {
    require_indices(graph.pixels())?;
    super::random_walker::require_room(graph, labels, probabilities.as_deref())?;
    let mut done = Iterated {
        unknowns: graph.unknowns(),
        ..Iterated::default()
    };
    let links = links(graph)?;
    let touching = touching(graph, &links)?;
    let (rest, sought) = match touching.split_last() {
        Some((rest, sought)) => (Some(*rest), sought),
        None => (None, &[][..]),
    };
    let several = sought.len() > TOGETHER;
    let mut choices = Choices::new(graph, labels, probabilities, rest, several)?;
    if sought.is_empty() {
        let turn = Turn {
            labels: &[],
            first: true,
            last: true,
        };
        choices.take(0..graph.pixels(), turn, &[])?;
        return Ok(done);
    }
    let multigrid = Multigrid::new(dev, operator(dev, graph, &links)?)?;
    let blocks = OnDevice::new(dev);
    let b = random(dev, graph)?;
    let mut smallest = smallest_met(&blocks, &multigrid, &multigrid, &b, graph.unknowns())?;
    drop(b);
    if smallest < UNFIT {
        done.error = f64::INFINITY;
        return Ok(done);
    }
    let mut room = try_zeroed(graph.pixels().min(BAND) * sought.len().min(TOGETHER))?;
    for (k, labels) in sought.chunks(TOGETHER).enumerate() {
        let b = right_hand_sides(dev, graph.pixels(), &links, labels)?;
        let x = solve(&multigrid, dev, &b, accuracy, &mut smallest, &mut done)?;
        let turn = Turn {
            labels,
            first: k == 0,
            last: (k + 1) * TOGETHER >= sought.len(),
        };
        for band in bands(graph.pixels()) {
            let block = Block {
                row: band.start,
                col: 0,
                rows: band.len(),
                cols: labels.len(),
            };
            let here = &mut room[..block.rows * block.cols];
            let home = MatMut::from_column_major_slice_mut(here, block.rows, block.cols);
            dev.read_block(&x, block, home)?;
            choices.take(band, turn, here)?;
        }
    }
    Ok(done)
}

/// Devices take rows by 32-bit numbers with a sign.
fn require_indices(pixels: usize) -> Result<()> {
    if i32::try_from(pixels).is_err() {
        return Err(Error::Dimension {
            what: "an image has too many pixels for method \"cg\"".into(),
        });
    }
    Ok(())
}

/// The numbers of labels with a seed beside an unknown, in ascending order; of others every
/// probability is 0.
fn touching(graph: &Graph<'_>, links: &[Link]) -> Result<Vec<u32>> {
    let mut touching = filled(graph.labels().len(), false)?;
    links.iter().for_each(|l| touching[l.label as usize] = true);
    let labels = (0u32..).zip(touching);
    Ok(labels.filter_map(|(k, t)| t.then_some(k)).collect())
}

/// The solutions at all pixels, for right-hand sides `b`; `smallest` is the smallest eigenvalue of
/// `M^-1 A` met.
fn solve<D: Stencil>(
    multigrid: &Multigrid<'_, D>,
    dev: &D,
    b: &D::Mat<'static>,
    accuracy: Accuracy,
    smallest: &mut f64,
    done: &mut Iterated,
) -> Result<D::Mat<'static>> {
    let blocks = OnDevice::new(dev);
    let (n, k) = dev.shape(b);
    let (mut r, mut z) = (dev.blank(n, k)?, dev.blank(n, k)?);
    let mut stop = Stopping {
        tol: accuracy.tol,
        maxit: accuracy.maxit,
    };
    let mut x: Option<D::Mat<'static>> = None;
    let mut error = f64::INFINITY;
    for _ in 0..ROUNDS {
        let solution = pcg(&blocks, multigrid, multigrid, b, x.as_ref(), stop)?;
        let took = solution.iterations.iter().copied().max().unwrap_or(0);
        done.iterations = done.iterations.max(accuracy.maxit - stop.maxit + took);
        stop.maxit = stop.maxit.saturating_sub(took);
        let converged = solution.converged().iter().all(|c| *c);
        let mut found = solution.x;
        dev.stencil_residual(multigrid.operator(), Some(b), &found, &mut r)?;
        multigrid.apply(&r, &mut z)?;
        for c in &solution.coefficients {
            *smallest = smallest.min(smallest_ritz_value(c));
        }
        error = largest(dev, &z)? / *smallest;
        blocks.add(&z, &vec![1.0; k], &mut found)?;
        x = Some(found);
        if error.is_nan() {
            return Err(Error::NonFinite);
        }
        // The estimate is of the solution itself, whatever its residual.
        if error <= accuracy.tol {
            break;
        }
        if !converged {
            error = f64::INFINITY;
            break;
        }
        if stop.maxit == 0 {
            break;
        }
        stop.tol *= TIGHTER;
    }
    done.error = done.error.max(error);
    x.ok_or_else(|| Error::Internal {
        what: "a segmentation without an iteration".into(),
    })
}

/// The largest magnitude; NaN where there is one.
fn largest<D: Stencil>(dev: &D, x: &D::Mat<'static>) -> Result<f64> {
    let all = |f| dev.fold(f, Lines::Columns, false, x);
    let (low, high) = (all(Fold::Min)?, all(Fold::Max)?);
    let both = low.iter().map(|v| -v).chain(high);
    Ok(both.fold(0.0, larger))
}

#[cfg(test)]
mod tests {
    use crate::device::memory::Memory;
    use faer::MatRef;

    use super::*;
    use crate::backend::cpu::CpuDevice;

    use crate::device::stencil::{Grid, Operator, Reach};

    fn loaded(
        dev: &CpuDevice,
        values: &[f64],
        rows: usize,
    ) -> <CpuDevice as Memory<f64>>::Mat<'static> {
        let matrix = MatRef::from_column_major_slice(values, rows, values.len() / rows);
        dev.load_temporary(matrix, crate::base::matrix::Part::All)
            .unwrap()
    }

    #[test]
    fn rows_have_32_bits_with_a_sign() {
        assert_eq!(require_indices(i32::MAX as usize), Ok(()));
        let refused = require_indices(1 + i32::MAX as usize);
        assert!(matches!(refused, Err(Error::Dimension { .. })));
    }

    #[test]
    fn what_is_not_a_number_is_the_largest() {
        let dev = CpuDevice::new(1);
        let most = |values: &[f64]| largest(&dev, &loaded(&dev, values, 2)).unwrap();
        assert_eq!(most(&[1.0, -3.0, 2.0, 0.5]), 3.0);
        assert!(most(&[1.0, f64::NAN, 2.0, 0.5]).is_nan());
    }

    /// Two points on their own, one of whose solution is beyond the range of numbers.
    #[test]
    fn an_estimate_that_is_not_a_number_is_an_error() {
        let dev = CpuDevice::new(1);
        let operator = Operator {
            grid: Grid { dims: [2, 1, 1] },
            reach: Reach::Axes,
            entries: loaded(&dev, &[0.1, 0.1, 0.0, 0.0, 0.0, 0.0], 2),
        };
        let multigrid = Multigrid::new(&dev, operator).unwrap();
        let accuracy = Accuracy {
            tol: 1e-9,
            maxit: 9,
        };
        let mut done = Iterated::default();
        let b = loaded(&dev, &[1.7e308, 0.0], 2);
        let x = solve(&multigrid, &dev, &b, accuracy, &mut 1.0, &mut done);
        assert_eq!(x.err(), Some(Error::NonFinite));
        let b = loaded(&dev, &[0.5, 0.0], 2);
        solve(&multigrid, &dev, &b, accuracy, &mut 1.0, &mut done).unwrap();
        assert!(done.error <= accuracy.tol);
    }
}
