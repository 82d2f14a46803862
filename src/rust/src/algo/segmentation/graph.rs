//! The graph of an image whose pixels are joined to their neighbours, and its Laplacian reduced to
//! the pixels without a seed.

use std::borrow::Cow;

use super::image::{weights, wrong, Along, Image};
use super::seeds::{Seen, OUT, UNKNOWN};
use super::system::{LaplacianSystem, Link};
use crate::base::chunks::AT_ONCE;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::{filled, reserve, room};
use crate::base::sparse::csc::Csc;

/// Neighbours of a pixel, at most.
pub(super) const NEIGHBOURS: usize = 6;

/// The grid of an image with a weight on every pair of neighbours, and what is known of its pixels.
#[derive(Debug)]
pub struct Graph<'a> {
    image: Image<'a>,
    /// What squared differences are multiplied by.
    scale: f64,
    /// A pixel that no seed reaches is left out, too.
    seeds: Cow<'a, [i32]>,
    /// In ascending order.
    labels: Vec<i32>,
    unknowns: usize,
    unreached: usize,
}

impl<'a> Graph<'a> {
    /// The graph of an image and its seeds: labels above 0, 0 where the label is sought, below 0
    /// where a pixel is left out. A pixel that no seed reaches is left out as well.
    ///
    /// Neighbours whose values differ by `d_c` in channel c have the weight
    /// `exp(-beta sum_c d_c^2 / (10 s sqrt(C))) + 1e-10`, `s` the standard deviation of all values
    /// and `C` the number of channels.
    ///
    /// # Errors
    /// [`Error::Dimension`] where sizes do not fit together, [`Error::Argument`] for a `beta`,
    /// `spacing` or `seeds` that make no sense (without any label, for one), and
    /// [`Error::NonFiniteIn`] for an image with NaN or infinite values, and for seeds with
    /// [`MISSING`](super::seeds::MISSING).
    pub fn new(image: Image<'a>, seeds: impl Into<Cow<'a, [i32]>>, beta: f64) -> Result<Self> {
        let seeds = seeds.into();
        let pixels = image.check()?;
        if seeds.len() != pixels {
            return Err(Error::Dimension {
                what: "seeds and image differ in size".into(),
            });
        }
        if !(beta.is_finite() && beta >= 0.0) {
            return Err(wrong("beta", "must be finite and not negative"));
        }
        let seen = Seen::new(&seeds)?;
        let deviation = image.deviation()?;
        let channels = (image.channels as f64).sqrt();
        // Where all pixels are equal there is no difference to scale.
        let scale = match 10.0 * deviation * channels {
            s if s > 0.0 => -beta / s,
            _ => 0.0,
        };
        if !scale.is_finite() {
            return Err(wrong(
                "beta",
                "is too large for values that differ as little as these",
            ));
        }
        // Of equal values 0 is multiplied by this.
        if !image.spacing.iter().all(|s| (scale / (s * s)).is_finite()) {
            return Err(wrong(
                "spacing",
                "is too small: squared differences over its square leave the range",
            ));
        }
        let mut graph = Graph {
            image,
            scale,
            seeds,
            labels: seen.labels,
            unknowns: seen.unknowns,
            unreached: 0,
        };
        // A whole grid has no islands.
        if seen.left_out {
            graph.leave_islands_out()?;
        }
        Ok(graph)
    }

    /// The dimensions of the grid.
    pub fn dims(&self) -> [usize; 3] {
        self.image.dims
    }

    /// Every label there is, in ascending order.
    pub fn labels(&self) -> &[i32] {
        &self.labels
    }

    pub fn pixels(&self) -> usize {
        self.seeds.len()
    }

    /// How many pixels were to get a label, but no seed reaches them.
    pub fn unreached(&self) -> usize {
        self.unreached
    }

    /// How many pixels' labels are sought.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Whether the label of this pixel is sought.
    pub fn is_unknown(&self, pixel: usize) -> bool {
        self.seeds[pixel] == UNKNOWN
    }

    /// The number of a seed's label.
    pub fn seed(&self, pixel: usize) -> Option<usize> {
        self.number(self.seeds[pixel])
    }

    /// The number of a label; none of what is no label.
    pub(crate) fn number(&self, seed: i32) -> Option<usize> {
        if seed <= 0 {
            return None;
        }
        self.labels.binary_search(&seed).ok()
    }

    /// Of all pixels.
    pub(crate) fn seeds(&self) -> &[i32] {
        &self.seeds
    }

    /// What makes the weights along each axis that has neighbours.
    pub(crate) fn along(&self) -> [Option<Along<'_>>; 3] {
        let axis = |a: usize| (self.dims()[a] > 1).then(|| self.image.along(a, self.scale));
        [0, 1, 2].map(axis)
    }

    /// Calls `f` with every neighbour of a pixel, the axis, and the first of the two along it.
    #[inline]
    fn neighbours(&self, pixel: usize, mut f: impl FnMut(usize, usize, usize)) {
        let (mut stride, mut rest) = (1, pixel);
        for (axis, length) in self.dims().into_iter().enumerate() {
            let at = rest % length;
            rest /= length;
            if at > 0 {
                f(pixel - stride, axis, pixel - stride);
            }
            if at + 1 < length {
                f(pixel + stride, axis, pixel);
            }
            stride *= length;
        }
    }

    /// Unknown pixels that no path of unknown pixels joins to a seed have no solution.
    fn leave_islands_out(&mut self) -> Result<()> {
        let mut reached = filled(self.pixels(), false)?;
        let (mut front, mut gone_through) = (Vec::new(), 0);
        for first in 0..self.pixels() {
            if first % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            if self.seeds[first] <= 0 {
                continue;
            }
            reserve(&mut front, 1)?;
            front.push(first);
            while let Some(pixel) = front.pop() {
                gone_through += 1;
                if gone_through % AT_ONCE == 0 {
                    interrupt::poll()?;
                }
                reserve(&mut front, NEIGHBOURS)?;
                self.neighbours(pixel, |q, _, _| {
                    if self.is_unknown(q) && !reached[q] {
                        reached[q] = true;
                        front.push(q);
                    }
                });
            }
        }
        self.unreached = self.unknowns - reached.iter().filter(|r| **r).count();
        if self.unreached > 0 {
            for (seed, reached) in self.seeds.to_mut().iter_mut().zip(reached) {
                if *seed == UNKNOWN && !reached {
                    *seed = OUT;
                }
            }
        }
        self.unknowns -= self.unreached;
        Ok(())
    }

    /// The pixels whose labels are sought, in ascending order.
    pub fn unknown(&self) -> Result<Vec<u32>> {
        let mut unknown = room(self.unknowns)?;
        let all = (0u32..).zip(&self.seeds[..]);
        unknown.extend(all.filter(|(_, c)| **c == UNKNOWN).map(|(p, _)| p));
        Ok(unknown)
    }

    /// The equations of the unknown pixels, each named once in `order`: unknown j is pixel
    /// `order[j]`. Of the matrix all entries are made, or those on and below the diagonal.
    pub fn system(&self, order: Vec<u32>, full: bool) -> Result<LaplacianSystem> {
        let n = order.len();
        let mut places = filled(self.pixels(), u32::MAX)?;
        for (j, p) in (0u32..).zip(&order) {
            places[*p as usize] = j;
        }
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for (to, along) in all.iter_mut().zip(self.along()) {
            if let Some(along) = along {
                *to = weights(&along)?;
            }
        }
        let axes = all.iter().filter(|w| !w.is_empty()).count();
        let most = (1 + axes * if full { 2 } else { 1 }) * n;
        let (mut starts, mut index, mut values) = (room(n + 1)?, room(most)?, room(most)?);
        let mut links = Vec::new();
        starts.push(0);
        for (j, p) in order.iter().enumerate() {
            if j % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            reserve(&mut links, NEIGHBOURS)?;
            let mut column = [(0, 0.0); 1 + NEIGHBOURS];
            let (mut length, mut diagonal) = (1, 0.0);
            self.neighbours(*p as usize, |q, axis, first| {
                let (seed, weight) = (self.seeds[q], all[axis][first]);
                if seed < UNKNOWN {
                    return;
                }
                diagonal += weight;
                if let Some(label) = self.number(seed) {
                    links.push(Link {
                        unknown: j as u32,
                        label: label as u32,
                        weight,
                    });
                    return;
                }
                let i = places[q] as usize;
                if full || i > j {
                    column[length] = (i, -weight);
                    length += 1;
                }
            });
            column[0] = (j, diagonal);
            let column = &mut column[..length];
            column.sort_unstable_by_key(|(i, _)| *i);
            index.extend(column.iter().map(|(i, _)| *i));
            values.extend(column.iter().map(|(_, v)| *v));
            starts.push(index.len());
        }
        Ok(LaplacianSystem {
            matrix: Csc {
                rows: n,
                starts,
                index,
                values,
            },
            order,
            links,
        })
    }
}
