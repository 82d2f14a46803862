//! The iterative way to a segmentation, which tells itself whether it is to be believed.

use super::algebraic::segment_graph_algebraic;
use super::graph::Graph;
use super::multigrid::segment_graph_multigrid;
use crate::algo::segmentation::accuracy::{Accuracy, Iterated};
use crate::base::error::Result;
use crate::device::sparse::Sparse;
use crate::device::stencil::Stencil;

/// As [`segment_graph`](super::random_walker::segment_graph), on a device, by conjugate gradients:
/// with the grid's multigrid, and with an algebraic one for images on which that does not do. Where
/// neither does the answer is of no use, unless it `must` be as far as these come, and the error is
/// above the tolerance.
///
/// # Errors
/// [`Dimension`](crate::base::error::Error::Dimension) where there is no room for just these, and
/// of an image with 2^31 pixels or more; [`NonFinite`](crate::base::error::Error::NonFinite) where
/// an estimate of an error is NaN; of memory, of interrupts, and what the device answers.
pub fn segment_graph_iterative<D: Stencil + Sparse>(
    dev: &D,
    graph: &Graph<'_>,
    (accuracy, must): (Accuracy, bool),
    labels: &mut [i32],
    mut probabilities: Option<&mut [f64]>,
) -> Result<Iterated> {
    let first =
        segment_graph_multigrid(dev, graph, accuracy, labels, probabilities.as_deref_mut())?;
    let left = Accuracy {
        maxit: accuracy.maxit.saturating_sub(first.iterations),
        ..accuracy
    };
    if first.error <= accuracy.tol || left.maxit == 0 {
        return Ok(first);
    }
    let second = segment_graph_algebraic(dev, graph, left, must, labels, probabilities)?;
    Ok(Iterated {
        iterations: first.iterations + second.iterations,
        ..second
    })
}
