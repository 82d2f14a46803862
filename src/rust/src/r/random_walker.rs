//! `random_walker`.

use std::borrow::Cow;

use extendr_api::prelude::*;

use crate::algo::segmentation::accuracy::{Accuracy, Iterated};
use crate::algo::segmentation::graph::Graph;
use crate::algo::segmentation::image::Image;
use crate::algo::segmentation::iterative::segment_graph_iterative;
use crate::algo::segmentation::random_walker::segment_graph;
use crate::algo::segmentation::seeds::{labels, whole};
use crate::algo::sparse::multifrontal::nested_dissection::multiplications;
use crate::backend::dispatch::on_processor;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar;
use crate::cost::plan::device::PIXELS;
use crate::cost::work::{Operands, Work};
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::session::{note_fallback, set_last};
use crate::r::sparse;
use crate::r::target::{check_free, How};

fn broken() -> Error {
    Error::Internal {
        what: "a native routine was called without the parts of a segmentation".into(),
    }
}

/// "auto" iterates on the CPU where a factor takes more multiplications to a pixel: so it is with
/// volumes of 26 pixels a side and more and pictures of more than some 4000 a side, not with
/// volumes of a few slices.
const FOR_FACTOR: f64 = 5e4;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    Auto,
    Direct,
    Iterative,
}

/// The most multiplications of a factor where an iteration failed and nobody asked for one: minutes
/// on two cores, and some gigabytes.
const LAST_RESORT: f64 = 1e12;

/// What was done, for R.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    unknowns: usize,
    /// Numbers in the factor.
    entries: usize,
    iterated: Option<Iterated>,
}

fn directly(graph: &Graph<'_>, labels: &mut [i32], all: Option<&mut [f64]>) -> Result<Done> {
    set_last(Processor::Cpu);
    let solved = segment_graph(graph, labels, all)?;
    Ok(Done {
        unknowns: solved.unknowns,
        entries: solved.entries,
        iterated: None,
    })
}

fn iteratively(
    how: &How,
    target: Processor,
    graph: &Graph<'_>,
    how_far: (Accuracy, bool),
    labels: &mut [i32],
    all: Option<&mut [f64]>,
) -> Result<Done> {
    check_free(target)?;
    let done = on_processor!(target, how.threads, |dev| {
        set_last(target);
        segment_graph_iterative(dev, graph, how_far, labels, all)
    })?;
    Ok(Done {
        unknowns: done.unknowns,
        entries: 0,
        iterated: Some(done),
    })
}

fn run(
    how: &How,
    graph: &Graph<'_>,
    method: Method,
    accuracy: Accuracy,
    labels: &mut [i32],
    mut all: Option<&mut [f64]>,
) -> Result<Done> {
    let pixels = graph.pixels();
    let work = Work::from(if pixels >= PIXELS { f64::MAX } else { 0.0 });
    // A GPU that is there is taken, unless the image is small.
    let target = how.plan(work.with(Operands::Pixels(pixels)));
    let volume = graph.dims().iter().filter(|n| **n > 1).count() > 2;
    let cost = multiplications(graph.dims());
    let iterates = match method {
        Method::Direct => false,
        Method::Iterative => true,
        Method::Auto => target != Processor::Cpu || cost > FOR_FACTOR * pixels as f64,
    };
    if !iterates {
        return directly(graph, labels, all);
    }
    let affordable = method == Method::Auto && (!volume || cost <= LAST_RESORT);
    let how_far = (accuracy, !affordable);
    let first = match iteratively(how, target, graph, how_far, labels, all.as_deref_mut()) {
        Err(e) if how.may_fall_back(&e) => {
            note_fallback(&e);
            iteratively(
                how,
                Processor::Cpu,
                graph,
                how_far,
                labels,
                all.as_deref_mut(),
            )
        }
        first => first,
    };
    let missed = match &first {
        Ok(done) => done.iterated.is_some_and(|i| i.error > accuracy.tol),
        Err(Error::NonFinite) => true,
        Err(_) => false,
    };
    if missed && affordable {
        return directly(graph, labels, all);
    }
    first
}

/// Seeds that R has as integers or as doubles.
fn seeds(x: &Robj) -> Result<Cow<'_, [i32]>> {
    Ok(match x.rtype() {
        Rtype::Doubles => Cow::Owned(whole(args::doubles(x)?)?),
        _ => Cow::Borrowed(args::integers(x)?),
    })
}

fn graph<'a>(image: &'a Robj, of: &'a Robj, dim: &Robj, model: &Robj) -> Result<Graph<'a>> {
    let (&[rows, columns, slices, channels], &[beta, ref spacing @ ..]) =
        (args::doubles(dim)?, args::doubles(model)?)
    else {
        return Err(broken());
    };
    let image = Image {
        values: args::doubles(image)?,
        dims: [rows as usize, columns as usize, slices as usize],
        channels: channels as usize,
        spacing: <[f64; 3]>::try_from(spacing).map_err(|_| broken())?,
    };
    Graph::new(image, seeds(of)?, beta)
}

/// The labels above 0 that seeds have, ascending
#[extendr]
fn native_random_walker_labels(x: Robj) -> Robj {
    reply(|| Ok(list!(values = labels(&seeds(&x)?)?)))
}

/// labels = those of an image's pixels; and where `probabilities` is not NULL, it = theirs, by
/// ascending labels. `dim` has three extents and the number of channels, `model` beta and three
/// spacings, `way` the method (0 for "auto", 1 direct, 2 iterative), the tolerance and the most
/// iterations
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_random_walker(
    image: Robj,
    seeds: Robj,
    dim: Robj,
    model: Robj,
    way: Robj,
    labels: Robj,
    probabilities: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        // Sets the threads.
        let how = How::parse(&how)?;
        let &[method, tol, maxit] = args::doubles(&way)? else {
            return Err(broken());
        };
        let method = match method as i32 {
            0 => Method::Auto,
            1 => Method::Direct,
            _ => Method::Iterative,
        };
        let accuracy = Accuracy {
            tol,
            maxit: maxit as usize,
        };
        let graph = graph(&image, &seeds, &dim, &model)?;
        let mut out = Out::integers(&labels, graph.pixels())?;
        let mut all = if probabilities.is_null() {
            None
        } else {
            let dims = (graph.pixels(), graph.labels().len());
            Some(Out::new(&probabilities, dims)?)
        };
        let all = all.as_mut().map(Out::slice);
        let done = run(&how, &graph, method, accuracy, out.slice(), all)?;
        let iterated = done.iterated.unwrap_or_default();
        Ok(list!(
            values = graph.labels().to_vec(),
            unknowns = done.unknowns as f64,
            entries = done.entries as f64,
            iterative = done.iterated.is_some(),
            iterations = iterated.iterations as f64,
            error = iterated.error,
            unreached = graph.unreached() as f64
        ))
    })
}

/// The matrix of the pixels whose labels are sought, of which the lower triangle is made, the
/// right-hand sides of all labels, and these pixels by number; arguments as of
/// `native_random_walker`
#[extendr]
fn native_random_walker_system(image: Robj, seeds: Robj, dim: Robj, model: Robj) -> Robj {
    reply(|| {
        let graph = graph(&image, &seeds, &dim, &model)?;
        let system = graph.system(graph.unknown()?, false)?;
        let count = graph.labels().len();
        let mut sides: Vec<f64> = scalar::try_zeroed(system.unknowns() * count)?;
        for link in &system.links {
            sides[link.label as usize * system.unknowns() + link.unknown as usize] += link.weight;
        }
        let [starts, rows, values] = sparse::parts(&system.matrix)?;
        let mut pixels: Vec<f64> = scalar::room(system.order.len())?;
        pixels.extend(system.order.iter().map(|p| f64::from(*p) + 1.0));
        Ok(list!(
            starts = starts,
            rows = rows,
            entries = values,
            sides = sparse::numbers(&sides)?,
            pixels = sparse::numbers(&pixels)?,
            values = graph.labels().to_vec()
        ))
    })
}

extendr_module! {
    mod random_walker;
    fn native_random_walker_labels;
    fn native_random_walker;
    fn native_random_walker_system;
}
