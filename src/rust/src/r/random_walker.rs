//! `random_walker`.

use extendr_api::prelude::*;

use crate::algo::random_walker::segment_graph;
use crate::algo::random_walker_graph::Graph;
use crate::algo::random_walker_image::Image;
use crate::error::{Error, Result};
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::target::{set_last, How, Target};

fn three<T: Copy>(x: &[T]) -> Result<[T; 3]> {
    <[T; 3]>::try_from(x).map_err(|_| Error::Internal {
        what: "a native routine was called without three extents".into(),
    })
}

/// labels = those of an image's pixels, by the direct solver; and where `probabilities` is not NULL, it = theirs, by ascending labels
#[extendr]
fn native_random_walker(
    image: Robj,
    seeds: Robj,
    dim: Robj,
    channels: Robj,
    spacing: Robj,
    beta: Robj,
    labels: Robj,
    probabilities: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        // Sets the threads.
        How::parse(&how)?;
        let [rows, columns, slices] = three(args::doubles(&dim)?)?;
        let image = Image {
            values: args::doubles(&image)?,
            dims: [rows as usize, columns as usize, slices as usize],
            channels: args::size(&channels)?,
            spacing: three(args::doubles(&spacing)?)?,
        };
        let seeds = args::integers(&seeds)?;
        set_last(Target::Cpu);
        let graph = Graph::new(image, seeds, args::number(&beta)?)?;
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
