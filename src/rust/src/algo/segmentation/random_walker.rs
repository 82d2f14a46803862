//! Segmentation of an image from seeds by random walks.
//!
//! The probability that a walk from a pixel meets a seed of label k before any other is harmonic on
//! the graph of the image: it is 1 on the seeds of k, 0 on others, and elsewhere the mean of its
//! neighbours' by the weights of the edges. A pixel gets the label of the largest (Grady 2006,
//! "Random walks for image segmentation", IEEE Trans. Pattern Anal. Mach. Intell. 28, 1768-1783).
//! Weights and the treatment of seeds are those of scikit-image's `random_walker`.

use super::graph::Graph;
use super::labels::{without_label, BestLabel};
use super::system::LaplacianSystem;
use crate::algo::sparse::multifrontal::factor::Factor;
use crate::algo::sparse::multifrontal::nested_dissection::dissect;
use crate::base::chunks::AT_ONCE;
use crate::base::error::{Error, Result};
use crate::base::scalar::filled;
use crate::base::{interrupt, scalar};

/// At most so many labels are solved for at a time: each time the factor is read twice.
const TOGETHER: usize = 16;

/// What the expected error of a solution may be without refinement, and how much a step of
/// refinement may change where none follows: errors shrink by as much as in the step before.
const SOUND: f64 = 1e-9;
const SETTLED: f64 = 1e-6;
const REFINEMENTS: usize = 3;

/// How large the system was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SystemSize {
    pub unknowns: usize,
    /// Numbers in the factor; 0 where none was needed.
    pub entries: usize,
}

/// Fills `labels`, of all pixels, and where they are asked for `probabilities`, for each label
/// those of all pixels.
///
/// Seeds keep their labels, also those that no unlabelled pixel touches. Of labels whose
/// probabilities are the same to 1e-12 the lowest is taken. The systems of all labels but one are
/// solved by one sparse Cholesky factor, that one's probabilities being what the others lack of 1.
///
/// # Errors
/// [`Error::Dimension`] where there is no room for just these; [`Error::HostMemory`] where the
/// factor does not fit; [`Error::Interrupted`].
pub fn segment_graph(
    graph: &Graph<'_>,
    labels: &mut [i32],
    probabilities: Option<&mut [f64]>,
) -> Result<SystemSize> {
    require_room(graph, labels, probabilities.as_deref())?;
    let dissection = dissect(graph.dims(), |p| graph.is_unknown(p))?;
    let system = graph.system(dissection.order, false)?;
    let touching = system.touching();
    let mut done = SystemSize {
        unknowns: system.unknowns(),
        entries: 0,
    };
    let mut answer = Solutions::new(graph, &system.order, probabilities)?;
    if let Some((rest, solved)) = touching.split_last() {
        if !solved.is_empty() {
            let factor = Factor::new(&system.matrix, &dissection.nodes)?;
            done.entries = factor.entries();
            let times = solved.len().div_ceil(TOGETHER);
            for labels in solved.chunks(solved.len().div_ceil(times)) {
                let mut x = scalar::try_zeroed(system.unknowns() * labels.len())?;
                system.right_hand_sides(labels, &mut x);
                factor.solve(&mut x, labels.len())?;
                refine(&system, &factor, labels, &mut x)?;
                answer.take(labels, &x)?;
            }
        }
        answer.take_rest(*rest)?;
    }
    answer.write(labels)?;
    Ok(done)
}

pub(super) fn require_room(
    graph: &Graph<'_>,
    labels: &[i32],
    probabilities: Option<&[f64]>,
) -> Result<()> {
    let all = graph.pixels() * graph.labels().len();
    if labels.len() != graph.pixels() || probabilities.is_some_and(|p| p.len() != all) {
        return Err(Error::Dimension {
            what: "labels or probabilities do not fit the image".into(),
        });
    }
    Ok(())
}

/// Brings solutions to the accuracy of the weights, where small ones make the factor inaccurate.
fn refine(system: &LaplacianSystem, factor: &Factor, labels: &[u32], x: &mut [f64]) -> Result<()> {
    // A random error of each diagonal entry's rounding adds up to this where paths are cut by the
    // smallest weight.
    let expected = f64::EPSILON * (system.unknowns() as f64).sqrt() / system.least_weight();
    if expected < SOUND {
        return Ok(());
    }
    let mut change = scalar::try_zeroed(x.len())?;
    for _ in 0..REFINEMENTS {
        system.residuals(labels, x, &mut change)?;
        factor.solve(&mut change, labels.len())?;
        let mut most = 0.0f64;
        for (x, c) in x.iter_mut().zip(&change) {
            *x += c;
            most = most.max(c.abs());
        }
        if most < SETTLED {
            break;
        }
    }
    Ok(())
}

/// Solutions on their way to labels: those of each label are asked for once, in any order, and of
/// one what is left.
pub(crate) struct Solutions<'a> {
    graph: &'a Graph<'a>,
    /// The pixel of each unknown.
    order: &'a [u32],
    /// Of each unknown.
    choices: Vec<BestLabel>,
    probabilities: Option<&'a mut [f64]>,
}

impl<'a> Solutions<'a> {
    pub(crate) fn new(
        graph: &'a Graph<'a>,
        order: &'a [u32],
        mut probabilities: Option<&'a mut [f64]>,
    ) -> Result<Self> {
        if let Some(all) = &mut probabilities {
            all.fill(0.0);
        }
        Ok(Solutions {
            graph,
            order,
            choices: filled(order.len(), BestLabel::NONE)?,
            probabilities,
        })
    }

    /// The solutions of these labels, named by number: a row for each unknown.
    pub(crate) fn take(&mut self, labels: &[u32], x: &[f64]) -> Result<()> {
        for (j, row) in x.chunks_exact(labels.len()).enumerate() {
            if j % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            for (label, x) in labels.iter().zip(row) {
                let x = self.choices[j].take(*label, *x);
                self.put(j, *label, x);
            }
        }
        Ok(())
    }

    /// Gives this label what the others leave.
    pub(super) fn take_rest(&mut self, label: u32) -> Result<()> {
        interrupt::poll()?;
        for j in 0..self.choices.len() {
            let (x, by) = self.choices[j].take_rest(label);
            self.put(j, label, x);
            if let (true, Some(all)) = (by > 1.0, &mut self.probabilities) {
                let own = all.iter_mut().skip(self.order[j] as usize);
                own.step_by(self.graph.pixels()).for_each(|p| *p /= by);
            }
        }
        Ok(())
    }

    fn put(&mut self, unknown: usize, label: u32, x: f64) {
        if let Some(all) = &mut self.probabilities {
            let pixel = self.order[unknown] as usize;
            all[label as usize * self.graph.pixels() + pixel] = x;
        }
    }

    /// Fills in the labels of all pixels, and the probabilities of seeds, when every label that
    /// touches an unknown was given.
    pub(crate) fn write(mut self, labels: &mut [i32]) -> Result<()> {
        let (graph, pixels) = (self.graph, self.graph.pixels());
        let values = graph.labels();
        for (pixel, label) in labels.iter_mut().enumerate() {
            *label = -1;
            if let Some(seed) = graph.seed(pixel) {
                *label = values[seed];
                if let Some(all) = &mut self.probabilities {
                    all[seed * pixels + pixel] = 1.0;
                }
            }
        }
        for (pixel, choice) in self.order.iter().zip(&self.choices) {
            let Some(value) = values.get(choice.label as usize) else {
                return Err(without_label());
            };
            labels[*pixel as usize] = *value;
        }
        Ok(())
    }
}
