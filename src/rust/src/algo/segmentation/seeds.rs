//! What seeds say of pixels.

use std::ops::Range;

use super::image::{wrong, VALUE};
use crate::base::chunks::{in_parts, UNIT};
use crate::base::error::{Error, Result};
use crate::base::scalar::{reserve, room, try_zeroed};

/// Where a label is sought, and where a pixel is left out, as any number below 0 says; others are
/// labels.
pub(crate) const UNKNOWN: i32 = 0;
pub(crate) const OUT: i32 = -1;

/// A seed that is not there: R's NA.
pub const MISSING: i32 = i32::MIN;

/// Real numbers as seeds.
///
/// # Errors
/// [`Error::NonFiniteIn`] for NaN and infinite ones, [`Error::Argument`] for others that are no
/// integers in R's range.
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
        Ok((finite, fits))
    };
    let work = (0..seeds.len(), &mut out[..]);
    let (finite, fits) = in_parts(work, VALUE, fill, |a, b| Ok((a.0 && b.0, a.1 && b.1)))?;
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
pub(crate) struct Seen {
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
                    seen.add(last)?;
                }
            }
            seen.sort();
            Ok(seen)
        };
        let seen = in_parts(0..seeds.len(), VALUE, part, |a, b| {
            Ok(Seen {
                labels: merged(a.labels, b.labels)?,
                unknowns: a.unknowns + b.unknowns,
                left_out: a.left_out || b.left_out,
                missing: a.missing || b.missing,
            })
        })?;
        if seen.missing {
            return Err(Error::NonFiniteIn { argument: "seeds" });
        }
        if seen.labels.is_empty() {
            return Err(wrong("seeds", "must have a label above 0 somewhere"));
        }
        Ok(seen)
    }

    /// The labels are in no order until they are sorted.
    fn add(&mut self, label: i32) -> Result<()> {
        if self.labels.len() == self.labels.capacity() {
            // Runs of the same labels must not take more and more memory.
            self.sort();
            let more = self.labels.len().max(UNIT);
            reserve(&mut self.labels, more)?;
        }
        self.labels.push(label);
        Ok(())
    }

    fn sort(&mut self) {
        self.labels.sort_unstable();
        self.labels.dedup();
    }
}

/// All labels of two ascending lists.
fn merged(a: Vec<i32>, b: Vec<i32>) -> Result<Vec<i32>> {
    let mut all = room(a.len() + b.len())?;
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        all.push(*x.min(y));
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    all.extend(&a[i..]);
    all.extend(&b[j..]);
    Ok(all)
}

/// The labels above 0 that seeds have, in ascending order. Errors as
/// [`Graph::new`](super::graph::Graph::new).
pub fn labels(seeds: &[i32]) -> Result<Vec<i32>> {
    Ok(Seen::new(seeds)?.labels)
}

#[cfg(test)]
mod tests {
    use super::{labels, merged};

    /// Labels that change from pixel to pixel, in descending order, come again, and are more than
    /// what is sorted together.
    #[test]
    fn all_labels_are_found_once() {
        for (count, pixels) in [(3, 100_000), (5000, 20_000), (70_000, 70_000)] {
            let seeds: Vec<i32> = (0..pixels).map(|p| count - p % count).collect();
            assert!(labels(&seeds).unwrap().into_iter().eq(1..=count));
        }
    }

    #[test]
    fn lists_of_labels_become_one() {
        let list = |step: usize| -> Vec<i32> { (1..40).step_by(step).collect() };
        for (a, b) in [(2, 3), (3, 2), (1, 7), (4, 4)] {
            let mut all = [list(a), list(b)].concat();
            all.sort_unstable();
            all.dedup();
            assert_eq!(merged(list(a), list(b)), Ok(all));
        }
        assert_eq!(merged(Vec::new(), list(5)), Ok(list(5)));
    }
}
