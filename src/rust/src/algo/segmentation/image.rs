//! An image, and the weights between its neighbouring pixels.

use std::ops::Range;

use crate::base::chunks::{chained, in_parts, UNIT};
use crate::base::error::{Error, Result};
use crate::base::scalar;

/// What every weight is at least: joined pixels stay joined, however much they differ.
const LEAST: f64 = 1e-10;

/// There are fewer pixels than this: their numbers, and how many there are, have 32 bits, of which
/// the largest number means none.
const MOST: usize = u32::MAX as usize;

/// A weight costs as much as this many multiplications.
pub(super) const WEIGHT: f64 = 30.0;

/// As does a value that is looked at.
pub(super) const VALUE: f64 = 8.0;

/// An image of `dims` pixels (rows, columns, slices; rows vary fastest) and so many channels, which
/// vary slowest.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    pub values: &'a [f64],
    pub dims: [usize; 3],
    pub channels: usize,
    /// The distances of neighbours along rows, columns and slices, in any unit. Differences are
    /// divided by them.
    pub spacing: [f64; 3],
}

impl Image<'_> {
    /// The number of pixels of a sound image.
    pub(crate) fn check(&self) -> Result<usize> {
        let product = |n: usize, d: &usize| n.checked_mul(*d);
        let pixels = self.dims.iter().try_fold(1, product);
        let Some(pixels) = pixels.filter(|n| *n < MOST) else {
            return Err(Error::Dimension {
                what: "an image has too many pixels".into(),
            });
        };
        if self.channels == 0 || pixels.checked_mul(self.channels) != Some(self.values.len()) {
            return Err(Error::Dimension {
                what: "an image has values that do not fit its dimensions".into(),
            });
        }
        if !self.spacing.iter().all(|s| s.is_finite() && *s > 0.0) {
            return Err(wrong("spacing", "must be positive and finite"));
        }
        Ok(pixels)
    }

    /// The standard deviation of all values, divided by their number.
    pub(super) fn deviation(&self) -> Result<f64> {
        let count = self.values.len() as f64;
        // Sums of sums, whose rounding does not grow with the image.
        let sum = |f: &(dyn Fn(f64) -> f64 + Sync)| -> Result<f64> {
            let blocks = |range: Range<usize>| -> Result<Vec<f64>> {
                let blocks = self.values[range].chunks(UNIT);
                let sums = blocks.map(|c| c.iter().map(|v| f(*v)).sum());
                Ok(sums.collect())
            };
            let sums = in_parts(0..self.values.len(), VALUE, blocks, chained)?;
            Ok(sums.iter().sum())
        };
        let mean = sum(&|v| v)? / count;
        let variance = sum(&|v| (v - mean) * (v - mean))? / count;
        if variance.is_finite() {
            Ok(variance.sqrt())
        } else if self.values.iter().all(|v| v.is_finite()) {
            Err(wrong(
                "image",
                "has values too large, whose squares overflow: divide them by the largest",
            ))
        } else {
            Err(Error::NonFiniteIn { argument: "image" })
        }
    }

    /// What makes the weights along an axis of differences, which `scale` multiplies when they are
    /// squared.
    pub(crate) fn along(&self, axis: usize, scale: f64) -> Along<'_> {
        Along {
            values: self.values,
            pixels: self.values.len() / self.channels,
            stride: self.dims[..axis].iter().product(),
            per: scale / (self.spacing[axis] * self.spacing[axis]),
        }
    }
}

pub(crate) fn wrong(argument: &'static str, what: &str) -> Error {
    Error::Argument {
        argument,
        what: what.into(),
    }
}

/// The weights of pixels and the next ones along an axis, made of their values.
pub(crate) struct Along<'a> {
    values: &'a [f64],
    pixels: usize,
    /// From a pixel to the next.
    pub stride: usize,
    per: f64,
}

impl Along<'_> {
    fn weight(&self, squares: f64) -> f64 {
        // Squares of finite values may be infinite, and where nothing is to count that is 0 times
        // infinity.
        (self.per * squares.min(f64::MAX)).exp() + LEAST
    }

    /// Of a pixel that has a next one.
    pub fn of(&self, pixel: usize) -> f64 {
        let channels = self.values.chunks_exact(self.pixels);
        let squares = channels.map(|c| (c[pixel + self.stride] - c[pixel]).powi(2));
        self.weight(squares.fold(0.0, |sum, d| sum + d))
    }

    /// Of adjacent pixels from `first` on. Past the axis's end stand weights that nobody reads.
    pub fn fill(&self, first: usize, out: &mut [f64]) {
        let next = first + self.stride;
        let count = out.len().min(self.pixels.saturating_sub(next));
        let (out, rest) = out.split_at_mut(count);
        rest.fill(0.0);
        out.fill(0.0);
        if count > 0 {
            for channel in self.values.chunks_exact(self.pixels) {
                for ((w, a), b) in out.iter_mut().zip(&channel[first..]).zip(&channel[next..]) {
                    *w += (b - a) * (b - a);
                }
            }
        }
        out.iter_mut().for_each(|w| *w = self.weight(*w));
    }
}

/// The weight of each pixel and the next along an axis.
pub(crate) fn weights(along: &Along<'_>) -> Result<Vec<f64>> {
    let mut out = scalar::try_zeroed(along.pixels)?;
    let fill = |(range, out): (Range<usize>, &mut [f64])| {
        for (first, out) in range.step_by(UNIT).zip(out.chunks_mut(UNIT)) {
            along.fill(first, out);
        }
        Ok(())
    };
    in_parts((0..along.pixels, &mut out[..]), WEIGHT, fill, |(), ()| {
        Ok(())
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::Image;
    use crate::base::error::Error;

    #[test]
    fn pixels_are_numbered_by_32_bits() {
        let refused = |dims| {
            let image = Image {
                values: &[],
                dims,
                channels: 1,
                spacing: [1.0; 3],
            };
            match image.check() {
                Err(Error::Dimension { what }) => what.contains("too many pixels"),
                other => panic!("{other:?}"),
            }
        };
        assert!(refused([65535, 65537, 1]));
        assert!(refused([usize::MAX, 2, 1]));
        // That there are no values comes later.
        assert!(!refused([2, u32::MAX as usize / 2, 1]));
    }
}
