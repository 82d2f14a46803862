//! `random_walker`.

use extendr_api::prelude::*;

use crate::algo::random_walker::segment_graph;
use crate::algo::random_walker_graph::Graph;
use crate::algo::random_walker_image::Image;
use crate::error::Error;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::target::{set_last, How, Target};

fn broken() -> Error {
    Error::Internal {
        what: "a native routine was called without the parts of a segmentation".into(),
    }
}

/// labels = those of an image's pixels, by the direct solver; and where `probabilities` is not NULL, it = theirs, by ascending labels. `dim` has three extents and the number of channels, `model` beta and three spacings
#[extendr]
fn native_random_walker(
    image: Robj,
    seeds: Robj,
    dim: Robj,
    model: Robj,
    labels: Robj,
    probabilities: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        // Sets the threads.
        How::parse(&how)?;
        let (&[rows, columns, slices, channels], &[beta, ref spacing @ ..]) =
            (args::doubles(&dim)?, args::doubles(&model)?)
        else {
            return Err(broken());
        };
        let image = Image {
            values: args::doubles(&image)?,
            dims: [rows as usize, columns as usize, slices as usize],
            channels: channels as usize,
            spacing: <[f64; 3]>::try_from(spacing).map_err(|_| broken())?,
        };
        let seeds = args::integers(&seeds)?;
        set_last(Target::Cpu);
        let graph = Graph::new(image, seeds, beta)?;
        let mut out = Out::integers(&labels, graph.pixels())?;
        let mut all = if probabilities.is_null() {
            None
        } else {
            let dims = (graph.pixels(), graph.labels().len());
            Some(Out::new(&probabilities, dims)?)
        };
        let done = segment_graph(&graph, out.slice(), all.as_mut().map(Out::slice))?;
        Ok(list!(
            values = graph.labels().to_vec(),
            unknowns = done.unknowns as f64,
            entries = done.entries as f64,
            unreached = graph.unreached() as f64
        ))
    })
}

extendr_module! {
    mod random_walker;
    fn native_random_walker;
}
