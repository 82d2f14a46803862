//! A segmentation by a factor or by iterations, on the device that is chosen for it.

use super::accuracy::{Accuracy, Iterated};
use super::graph::Graph;
use super::iterative::segment_graph_iterative;
use super::random_walker::segment_graph;
use crate::algo::sparse::multifrontal::nested_dissection::multiplications;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::cost::plan::device::PIXELS;
use crate::cost::work::{Operands, Work};
use crate::device::dispatch::{AnyDevice, Dispatch, Routine};

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Auto,
    /// A sparse Cholesky factor, on the CPU.
    Direct,
    /// Conjugate gradients.
    Iterative,
}

/// How the labels were found.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Found {
    pub unknowns: usize,
    /// Numbers in the factor.
    pub entries: usize,
    /// None of a factor.
    pub iterated: Option<Iterated>,
}

/// Multiplications per pixel from which a factor takes longer than iterations on the CPU. Volumes
/// of 26 pixels a side and more have more, and pictures of some 4000 a side; volumes of a few
/// slices have less.
const FOR_FACTOR: f64 = 5e4;

/// The most multiplications of a factor where an iteration failed and nobody asked for one: minutes
/// on two cores, and some gigabytes.
const LAST_RESORT: f64 = 1e12;

/// Fills in the labels of all pixels and, if they are given, the probabilities of all labels.
///
/// [`Method::Auto`] iterates on a GPU, and on the CPU where a factor takes longer. Iterations that
/// do not reach the accuracy are followed by a factor, if it is affordable.
///
/// # Errors
/// As of [`segment_graph`] and [`segment_graph_iterative`].
pub fn segment_on(
    devices: &impl Dispatch,
    graph: &Graph<'_>,
    (method, accuracy): (Method, Accuracy),
    labels: &mut [i32],
    mut all: Option<&mut [f64]>,
) -> Result<Found> {
    let pixels = graph.pixels();
    // A GPU that is there is taken, unless the image is small.
    let work = Work::from(if pixels >= PIXELS { f64::MAX } else { 0.0 });
    let processor = devices.processor(work.with(Operands::Pixels(pixels)));
    let volume = graph.dims().iter().filter(|n| **n > 1).count() > 2;
    let cost = multiplications(graph.dims());
    let iterates = match method {
        Method::Direct => false,
        Method::Iterative => true,
        Method::Auto => processor != Processor::Cpu || cost > FOR_FACTOR * pixels as f64,
    };
    if !iterates {
        return directly(devices, graph, labels, all);
    }
    let affordable = method == Method::Auto && (!volume || cost <= LAST_RESORT);
    let mut iterations = Iteratively {
        graph,
        accuracy: (accuracy, !affordable),
        labels,
        all: all.as_deref_mut(),
    };
    let first = match devices.run_on(processor, None, &mut iterations) {
        Err(e) if devices.recovers(&e) => devices.run_on(Processor::Cpu, None, &mut iterations),
        first => first,
    };
    let missed = match &first {
        Ok(found) => found.iterated.is_some_and(|i| i.error > accuracy.tol),
        Err(Error::NonFinite) => true,
        Err(_) => false,
    };
    if missed && affordable {
        return directly(devices, graph, labels, all);
    }
    first
}

fn directly(
    devices: &impl Dispatch,
    graph: &Graph<'_>,
    labels: &mut [i32],
    all: Option<&mut [f64]>,
) -> Result<Found> {
    devices.run_on(Processor::Cpu, None, &mut Directly { graph, labels, all })
}

struct Directly<'s, 'g> {
    graph: &'s Graph<'g>,
    labels: &'s mut [i32],
    all: Option<&'s mut [f64]>,
}

impl Routine for Directly<'_, '_> {
    type Value = Found;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, _: &D) -> Result<Found> {
        let solved = segment_graph(self.graph, self.labels, self.all.as_deref_mut())?;
        Ok(Found {
            unknowns: solved.unknowns,
            entries: solved.entries,
            iterated: None,
        })
    }
}

struct Iteratively<'s, 'g> {
    graph: &'s Graph<'g>,
    accuracy: (Accuracy, bool),
    labels: &'s mut [i32],
    all: Option<&'s mut [f64]>,
}

impl Routine for Iteratively<'_, '_> {
    type Value = Found;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Found> {
        let all = self.all.as_deref_mut();
        let done = segment_graph_iterative(dev, self.graph, self.accuracy, self.labels, all)?;
        Ok(Found {
            unknowns: done.unknowns,
            entries: 0,
            iterated: Some(done),
        })
    }
}
