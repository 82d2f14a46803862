//! What seeds say of pixels.

use std::ops::Range;

use super::random_walker_image::{wrong, VALUE};
use crate::error::{Error, Result};
use crate::parts::in_parts;
use crate::scalar::try_zeroed;

/// Where a label is sought, and where a pixel is left out, as any number below 0 says; others are labels.
pub(super) const UNKNOWN: i32 = 0;
pub(super) const OUT: i32 = -1;

/// A seed that is not there: R's NA.
pub const MISSING: i32 = i32::MIN;

/// Real numbers as seeds.
///
/// # Errors
/// [`Error::NonFiniteIn`] for NaN and infinite ones, [`Error::Argument`] for others that are no integers in R's range.
pub fn whole(seeds: &[f64]) -> Result<Vec<i32>> {
    let mut out = try_zeroed(seeds.len())?;
    let fill = |(range, out): (Range<usize>, &mut [i32])| {
        let (mut finite, mut fits) = (true, true);
        for (out, seed) in out.iter_mut().zip(&seeds[range]) {
            // What does not fit becomes another number.
            *out = *seed as i32;
            finite &= seed.is_finite();
            fits &= f64::from(*out) == *seed && *out != MISSING;
        }
        (finite, fits)
    };
    let work = (0..seeds.len(), &mut out[..]);
    let (finite, fits) = in_parts(work, VALUE, fill, |a, b| (a.0 && b.0, a.1 && b.1))?;
    if !finite {
        return Err(Error::NonFiniteIn { argument: "seeds" });
    }
    if !fits {
        let what =
            "must be whole numbers: labels, 0 where one is sought, -1 where a pixel is left out";
        return Err(wrong("seeds", what));
    }
    Ok(out)
}

/// What there is among seeds.
pub(super) struct Seen {
    /// In ascending order.
    pub labels: Vec<i32>,
    pub unknowns: usize,
    pub left_out: bool,
    missing: bool,
}

impl Seen {
    pub fn new(seeds: &[i32]) -> Result<Self> {
        let part = |range: Range<usize>| {
            let mut seen = Seen {
                labels: Vec::new(),
                unknowns: 0,
                left_out: false,
                missing: false,
            };
            let mut last = 0;
            for seed in &seeds[range] {
                seen.unknowns += usize::from(*seed == UNKNOWN);
                seen.left_out |= *seed < UNKNOWN;
                seen.missing |= *seed == MISSING;
                // Seeds come in runs.
                if *seed > UNKNOWN && *seed != last {
                    last = *seed;
                    seen.add(last);
                }
            }
            seen
        };
        let seen = in_parts(0..seeds.len(), VALUE, part, |mut a, b| {
            b.labels.into_iter().for_each(|label| a.add(label));
            a.unknowns += b.unknowns;
            a.left_out |= b.left_out;
            a.missing |= b.missing;
            a
        })?;
        if seen.missing {
            return Err(Error::NonFiniteIn { argument: "seeds" });
        }
        if seen.labels.is_empty() {
            return Err(wrong("seeds", "must have a label above 0 somewhere"));
        }
        Ok(seen)
    }

    fn add(&mut self, label: i32) {
        if let Err(at) = self.labels.binary_search(&label) {
            self.labels.insert(at, label);
        }
    }
}

/// The labels above 0 that seeds have, in ascending order. Errors as [`Graph::new`](super::random_walker_graph::Graph::new).
pub fn labels(seeds: &[i32]) -> Result<Vec<i32>> {
    Ok(Seen::new(seeds)?.labels)
}
