//! `random_walker`.

use std::borrow::Cow;

use extendr_api::prelude::*;

use crate::algo::segmentation::accuracy::Accuracy;
use crate::algo::segmentation::choice::{segment_on, Method};
use crate::algo::segmentation::graph::Graph;
use crate::algo::segmentation::image::Image;
use crate::algo::segmentation::seeds::{labels, whole};
use crate::base::error::{Error, Result};
use crate::base::scalar;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::sparse;
use crate::r::target::How;

fn broken() -> Error {
    Error::Internal {
        what: "a native routine was called without the parts of a segmentation".into(),
    }
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
/// ascending labels. `dim` has three dimensions and the number of channels, `model` beta and three
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
        let done = segment_on(&how, &graph, (method, accuracy), out.slice(), all)?;
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
        let sides = system.sides(graph.labels().len())?;
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
