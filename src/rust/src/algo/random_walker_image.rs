//! An image, and the weights between its neighbouring pixels.

use super::random_walker_graph::UNKNOWN;
use crate::error::{Error, Result};
use crate::threads;
use crate::{interrupt, scalar};

/// What every weight is at least: joined pixels stay joined, however much they differ.
const LEAST: f64 = 1e-10;

/// Pixels between two looks at the user's wish to stop.
pub(super) const AT_ONCE: usize = 1 << 20;

/// A weight costs as much as this many multiplications.
const WEIGHT: f64 = 30.0;

/// An image of `dims` pixels (rows, columns, slices; rows vary fastest) and so many channels, which vary slowest.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    pub values: &'a [f64],
    pub dims: [usize; 3],
    pub channels: usize,
    /// The distances of neighbours along rows, columns and slices, in any unit. Differences are divided by them.
    pub spacing: [f64; 3],
}

impl Image<'_> {
    /// The number of pixels of a sound image.
    pub(super) fn check(&self) -> Result<usize> {
        let product = |n: usize, d: &usize| n.checked_mul(*d);
        let pixels = self.dims.iter().try_fold(1, product);
        let Some(pixels) = pixels.filter(|n| *n < UNKNOWN as usize) else {
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
        let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
            let parts = self.values.chunks(4096);
            parts.map(|c| c.iter().map(|v| f(*v)).sum::<f64>()).sum()
        };
        let mean = sum(&|v| v) / count;
        let variance = sum(&|v| (v - mean) * (v - mean)) / count;
        if variance.is_finite() {
            Ok(variance.sqrt())
        } else {
            Err(Error::NonFiniteIn { argument: "image" })
        }
    }
}

pub(super) fn wrong(argument: &'static str, what: &str) -> Error {
    Error::Argument {
        argument,
        what: what.into(),
    }
}

/// The weight of each pixel and the next along an axis.
pub(super) fn weights(image: &Image<'_>, axis: usize, scale: f64) -> Result<Vec<f64>> {
    let stride: usize = image.dims[..axis].iter().product();
    let pixels = image.values.len() / image.channels;
    let per = scale / (image.spacing[axis] * image.spacing[axis]);
    let mut out = scalar::try_zeroed(pixels)?;
    // Past an axis's end stands a weight that nobody reads.
    let few = |first: usize, out: &mut [f64]| {
        let count = out.len().min(pixels.saturating_sub(first + stride));
        let out = &mut out[..count];
        for channel in image.values.chunks_exact(pixels) {
            let next = &channel[first + stride..];
            for ((w, a), b) in out.iter_mut().zip(&channel[first..]).zip(next) {
                *w += (b - a) * (b - a);
            }
        }
        out.iter_mut().for_each(|w| *w = (per * *w).exp() + LEAST);
    };
    for (k, part) in out.chunks_mut(AT_ONCE).enumerate() {
        interrupt::poll()?;
        let threads = threads::share(threads::wanted(), WEIGHT * part.len() as f64);
        in_parts(threads, k * AT_ONCE, part, &few);
    }
    Ok(out)
}

/// Calls `f` with parts of a vector and where each begins, one for each thread.
fn in_parts(
    threads: usize,
    first: usize,
    all: &mut [f64],
    f: &(impl Fn(usize, &mut [f64]) + Sync),
) {
    if threads < 2 {
        return f(first, all);
    }
    let half = all.len() / 2;
    let (a, b) = all.split_at_mut(half);
    threads::join(
        threads,
        |t| in_parts(t, first, a, f),
        |t| in_parts(t, first + half, b, f),
    );
}
