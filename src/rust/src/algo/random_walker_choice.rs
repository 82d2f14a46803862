//! From probabilities to labels.

use std::ops::Range;

use super::random_walker_graph::{filled, Graph};
use super::random_walker_image::VALUE;
use super::random_walker_seeds::UNKNOWN;
use crate::error::{Error, Result};
use crate::parts::in_parts;

/// Probabilities that differ by less are the same.
const TIE: f64 = 1e-12;

/// Of a pixel the likeliest label so far, its probability, and the sum of all so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub label: u32,
    best: f64,
    sum: f64,
}

impl Choice {
    pub const NONE: Choice = Choice {
        label: u32::MAX,
        best: f64::NEG_INFINITY,
        sum: 0.0,
    };

    /// Takes a label's solution, and gives its probability. Of labels that are as likely the lowest stays, in any order.
    #[inline]
    pub fn take(&mut self, label: u32, x: f64) -> f64 {
        // Rounding can leave that range.
        let x = x.clamp(0.0, 1.0);
        if x > self.best + TIE || (x >= self.best - TIE && label < self.label) {
            (self.best, self.label) = (x, label);
        }
        self.sum += x;
        x
    }

    /// Takes a label that has what the others leave, and gives its probability and by what those of all labels are to be divided: solutions that are not exact may leave less than nothing.
    #[inline]
    pub fn take_rest(&mut self, label: u32) -> (f64, f64) {
        let sum = self.sum;
        (self.take(label, 1.0 - sum), sum.max(1.0))
    }
}

pub(super) fn without_label() -> Error {
    Error::Internal {
        what: "a pixel without a label".into(),
    }
}

/// Solutions at all pixels on their way to labels: those of all labels but one, some at a time, and of one what is left.
pub(super) struct Choices<'a> {
    graph: &'a Graph<'a>,
    labels: &'a mut [i32],
    /// A column for each label there is, where they are asked for.
    probabilities: Option<&'a mut [f64]>,
    /// Of each pixel; empty before there is something to remember.
    so_far: Vec<Choice>,
}

impl<'a> Choices<'a> {
    pub fn new(
        graph: &'a Graph<'a>,
        labels: &'a mut [i32],
        probabilities: Option<&'a mut [f64]>,
    ) -> Self {
        Choices {
            graph,
            labels,
            probabilities,
            so_far: Vec::new(),
        }
    }

    /// Takes solutions of labels, named by number, others of which follow.
    pub fn take(&mut self, labels: &[u32], x: &[f64]) -> Result<()> {
        let begun = !self.so_far.is_empty();
        if !begun {
            self.so_far = filled(self.graph.pixels(), Choice::NONE)?;
        }
        self.pass(labels, x, begun, None)?;
        Ok(())
    }

    /// Takes the last solutions, gives the label `rest`, if there is one, what is left, and fills in labels, and probabilities, of all pixels.
    pub fn finish(mut self, labels: &[u32], x: &[f64], rest: Option<u32>) -> Result<()> {
        let begun = !self.so_far.is_empty();
        if self.pass(labels, x, begun, Some(rest))? {
            return Ok(());
        }
        Err(without_label())
    }

    /// Whether every unknown pixel has a label by now.
    fn pass(
        &mut self,
        labels: &[u32],
        x: &[f64],
        begun: bool,
        end: Option<Option<u32>>,
    ) -> Result<bool> {
        let (n, values) = (self.graph.pixels(), self.graph.labels());
        let classes = self.graph.classes();
        let x: Vec<&[f64]> = x.chunks_exact(n.max(1)).collect();
        let columns: Vec<&mut [f64]> = match &mut self.probabilities {
            Some(all) => all.chunks_exact_mut(n.max(1)).collect(),
            None => Vec::new(),
        };
        type Part<'p> = (&'p mut [Choice], (&'p mut [i32], Vec<&'p mut [f64]>));
        let part = |(range, (so_far, (out, mut columns))): (Range<usize>, Part<'_>)| {
            let mut whole = true;
            if !begun {
                columns.iter_mut().for_each(|c| c.fill(0.0));
            }
            for (i, p) in range.enumerate() {
                let class = classes[p];
                if class != UNKNOWN {
                    if end.is_some() {
                        // Of a pixel that is left out there is neither.
                        out[i] = values.get(class as usize).copied().unwrap_or(-1);
                        if let Some(column) = columns.get_mut(class as usize) {
                            column[i] = 1.0;
                        }
                    }
                    continue;
                }
                let mut choice = so_far.get(i).copied().unwrap_or(Choice::NONE);
                let mut put = |label: u32, p| {
                    if let Some(column) = columns.get_mut(label as usize) {
                        column[i] = p;
                    }
                };
                for (label, x) in labels.iter().zip(&x) {
                    put(*label, choice.take(*label, x[p]));
                }
                if let Some(Some(rest)) = end {
                    let (probability, by) = choice.take_rest(rest);
                    put(rest, probability);
                    if by > 1.0 {
                        columns.iter_mut().for_each(|c| c[i] /= by);
                    }
                }
                if let Some(so_far) = so_far.get_mut(i) {
                    *so_far = choice;
                }
                if end.is_some() {
                    let label = values.get(choice.label as usize);
                    whole &= label.is_some();
                    out[i] = label.copied().unwrap_or(-1);
                }
            }
            whole
        };
        let work = (&mut self.so_far[..], (&mut self.labels[..], columns));
        let cost = VALUE * (2 + labels.len()) as f64;
        in_parts((0..n, work), cost, part, |a, b| a && b)
    }
}
