//! From probabilities to labels.

use std::ops::Range;

use super::graph::Graph;
use super::image::VALUE;
use super::seeds::UNKNOWN;
use crate::base::chunks::in_parts;
use crate::base::error::{Error, Result};
use crate::base::scalar::filled;

/// Probabilities that differ by less are the same.
const TIE: f64 = 1e-12;

/// Of a pixel the likeliest label so far, its probability, and the sum of all so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct BestLabel {
    pub label: u32,
    best: f64,
    sum: f64,
}

impl BestLabel {
    pub const NONE: BestLabel = BestLabel {
        label: u32::MAX,
        best: f64::NEG_INFINITY,
        sum: 0.0,
    };

    /// Takes a label's solution, and gives its probability. Of labels that are as likely the lowest
    /// stays, in any order.
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

    /// Takes a label that has what the others leave, and gives its probability and by what those of
    /// all labels are to be divided: solutions that are not exact may leave less than nothing.
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

/// Solutions at all pixels on their way to labels: those of all labels but one, some at a time, and
/// of one what is left.
pub(super) struct Choices<'a> {
    graph: &'a Graph<'a>,
    /// The label that has what others leave, if there is one.
    rest: Option<u32>,
    labels: &'a mut [i32],
    /// A column for each label there is, where they are asked for.
    probabilities: Option<&'a mut [f64]>,
    /// Of each pixel; empty where solutions of all labels come at once.
    so_far: Vec<BestLabel>,
}

/// Which solutions there are at once: of these labels, by number, and whether there were or will be
/// others.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub labels: &'a [u32],
    pub first: bool,
    pub last: bool,
}

impl<'a> Choices<'a> {
    /// Fills in `labels`, and the probabilities, of all pixels; in several turns or in one.
    pub fn new(
        graph: &'a Graph<'a>,
        labels: &'a mut [i32],
        probabilities: Option<&'a mut [f64]>,
        rest: Option<u32>,
        several: bool,
    ) -> Result<Self> {
        let so_far = if several { graph.pixels() } else { 0 };
        Ok(Choices {
            graph,
            rest,
            labels,
            probabilities,
            so_far: filled(so_far, BestLabel::NONE)?,
        })
    }

    /// Takes solutions of some pixels, a column for each label of the turn.
    pub fn take(&mut self, band: Range<usize>, turn: Turn<'_>, x: &[f64]) -> Result<()> {
        let (graph, rest, n) = (self.graph, self.rest, self.graph.pixels());
        let (seeds, values) = (graph.seeds(), graph.labels());
        let x: Vec<&[f64]> = x.chunks_exact(band.len().max(1)).collect();
        let columns: Vec<&mut [f64]> = match &mut self.probabilities {
            Some(all) => {
                let columns = all.chunks_exact_mut(n.max(1));
                columns.map(|c| &mut c[band.clone()]).collect()
            }
            None => Vec::new(),
        };
        let so_far = match self.so_far.is_empty() {
            true => &mut [],
            false => &mut self.so_far[band.clone()],
        };
        type Part<'p> = (&'p mut [BestLabel], (&'p mut [i32], Vec<&'p mut [f64]>));
        let part = |(range, (so_far, (out, mut columns))): (Range<usize>, Part<'_>)| {
            let mut whole = true;
            if turn.first {
                columns.iter_mut().for_each(|c| c.fill(0.0));
            }
            for (i, p) in range.enumerate() {
                if seeds[p] != UNKNOWN {
                    // Of a pixel that is left out there is neither.
                    out[i] = seeds[p].max(-1);
                    let own = graph.number(seeds[p]).and_then(|k| columns.get_mut(k));
                    if let (true, Some(column)) = (turn.last, own) {
                        column[i] = 1.0;
                    }
                    continue;
                }
                let mut put = |label: u32, p| {
                    if let Some(column) = columns.get_mut(label as usize) {
                        column[i] = p;
                    }
                };
                let mut choice = so_far.get(i).copied().unwrap_or(BestLabel::NONE);
                for (label, x) in turn.labels.iter().zip(&x) {
                    put(*label, choice.take(*label, x[p - band.start]));
                }
                if !turn.last {
                    so_far[i] = choice;
                    continue;
                }
                if let Some(rest) = rest {
                    let (probability, by) = choice.take_rest(rest);
                    put(rest, probability);
                    if by > 1.0 {
                        columns.iter_mut().for_each(|c| c[i] /= by);
                    }
                }
                let label = values.get(choice.label as usize);
                whole &= label.is_some();
                out[i] = label.copied().unwrap_or(-1);
            }
            Ok(whole)
        };
        let work = (so_far, (&mut self.labels[band.clone()], columns));
        let cost = VALUE * (2 + turn.labels.len()) as f64;
        if in_parts((band.clone(), work), cost, part, |a, b| Ok(a && b))? {
            return Ok(());
        }
        Err(without_label())
    }
}

#[cfg(test)]
mod tests {
    use super::{Choices, Turn};
    use crate::algo::segmentation::graph::Graph;
    use crate::algo::segmentation::image::Image;

    /// Solutions of four labels of five, in one turn or two, of all pixels at once or of some.
    #[test]
    fn bands_and_turns_make_no_difference() {
        let n = 90;
        let values: Vec<f64> = (0..n).map(|p| (p * 37 % 11) as f64).collect();
        let image = Image {
            values: &values,
            dims: [9, 10, 1],
            channels: 1,
            spacing: [1.0; 3],
        };
        let mut seeds = vec![0; n];
        (0..5).for_each(|k| seeds[7 + 16 * k] = 3 * k as i32 + 1);
        seeds[20] = -4;
        let graph = Graph::new(image, seeds, 130.0).unwrap();
        // Some add up to more than 1, and some are as likely as others.
        let x: Vec<f64> = (0..4 * n)
            .map(|i| (i * 53 % 17) as f64 / 40.0 - 0.01)
            .collect();
        let run = |turns: &[&[u32]], cuts: &[usize]| {
            let (mut labels, mut all) = (vec![9; n], vec![0.5; 5 * n]);
            let several = turns.len() > 1;
            let mut choices =
                Choices::new(&graph, &mut labels, Some(&mut all), Some(4), several).unwrap();
            for (k, labels) in turns.iter().enumerate() {
                let turn = Turn {
                    labels,
                    first: k == 0,
                    last: k + 1 == turns.len(),
                };
                for cut in cuts.windows(2) {
                    let columns = labels.iter().map(|l| *l as usize * n);
                    let here: Vec<f64> = columns
                        .flat_map(|c| x[c + cut[0]..c + cut[1]].to_vec())
                        .collect();
                    choices.take(cut[0]..cut[1], turn, &here).unwrap();
                }
            }
            (labels, all)
        };
        let (labels, all) = run(&[&[0, 1, 2, 3]], &[0, n]);
        assert_eq!((labels[20], labels[7], labels[71]), (-1, 1, 13));
        let sums = (0..n).map(|p| (0..5).map(|k| all[k * n + p]).sum::<f64>());
        for (p, sum) in sums.enumerate() {
            let want = if p == 20 { 0.0 } else { 1.0 };
            assert!((sum - want).abs() < 1e-14, "{p}: {sum}");
        }
        for turns in [
            &[&[0, 1, 2, 3][..]][..],
            &[&[0, 1], &[2, 3]],
            &[&[2, 3], &[0], &[1]],
        ] {
            let again = run(turns, &[0, 13, 14, 80, n]);
            assert_eq!(again.0, labels);
            let off = again.1.iter().zip(&all).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-14);
        }
    }
}
