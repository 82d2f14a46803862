//! Work on long vectors, part by part, by several threads.

use std::ops::Range;

use crate::error::Result;
use crate::interrupt;
use crate::threads::{join, share, wanted};

/// Entries that a thread takes between two looks at the user's wish to stop.
const AT_ONCE: usize = 1 << 20;

/// Entries that are not cut: a part begins at a multiple of it.
pub const UNIT: usize = 4096;

/// Entries whose results are kept apart until a device takes or gives them: memory for all of them would be fresh, and the system hands it out slowly.
pub const BAND: usize = 1 << 21;

/// So many entries in bands.
pub fn bands(entries: usize) -> impl Iterator<Item = Range<usize>> {
    let from = (0..entries).step_by(BAND);
    from.map(move |first| first..entries.min(first + BAND))
}

/// What work on a number of entries is cut from: the numbers themselves, vectors of them, and several of these beside each other.
pub trait Cut: Sized + Send {
    fn count(&self) -> usize;
    /// The first entries, and the others.
    fn cut(self, at: usize) -> (Self, Self);
}

impl Cut for Range<usize> {
    fn count(&self) -> usize {
        self.len()
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.start + at.min(self.len());
        (self.start..middle, middle..self.end)
    }
}

impl<T: Send> Cut for &mut [T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let at = at.min(self.len());
        self.split_at_mut(at)
    }
}

/// The columns of a matrix, of which there may be none.
impl<T: Cut> Cut for Vec<T> {
    fn count(&self) -> usize {
        self.first().map_or(0, Cut::count)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.into_iter().map(|c| c.cut(at)).unzip()
    }
}

/// The first tells how many entries there are.
impl<A: Cut, B: Cut> Cut for (A, B) {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let ((a, c), (b, d)) = (self.0.cut(at), self.1.cut(at));
        ((a, b), (c, d))
    }
}

/// Calls `f` with parts, one for each thread that `cost` multiplications an entry are worth, and joins the answers in the order of the parts by `both`.
/// Both must be such that the cuts make no difference.
///
/// # Errors
/// [`Error::Interrupted`](crate::error::Error::Interrupted), after which not all parts are done.
pub fn in_parts<C: Cut, R: Send>(
    mut work: C,
    cost: f64,
    f: impl Fn(C) -> R + Sync,
    both: impl Fn(R, R) -> R + Sync,
) -> Result<R> {
    let threads = wanted();
    let mut so_far = None;
    loop {
        interrupt::poll()?;
        let (now, later) = work.cut(AT_ONCE * threads);
        let of = share(threads, cost * now.count() as f64);
        let made = halves(now, of, &f, &both);
        let all = match so_far {
            Some(before) => both(before, made),
            None => made,
        };
        if later.count() == 0 {
            return Ok(all);
        }
        (so_far, work) = (Some(all), later);
    }
}

/// Lists one after the other.
pub fn chained<T>(mut a: Vec<T>, b: Vec<T>) -> Vec<T> {
    a.extend(b);
    a
}

fn halves<C: Cut, R: Send>(
    work: C,
    threads: usize,
    f: &(impl Fn(C) -> R + Sync),
    both: &(impl Fn(R, R) -> R + Sync),
) -> R {
    let half = (work.count() / 2).next_multiple_of(UNIT);
    if threads < 2 || half >= work.count() {
        return f(work);
    }
    let (a, b) = work.cut(half);
    let (a, b) = join(
        threads,
        |t| halves(a, t, f, both),
        |t| halves(b, t, f, both),
    );
    both(a, b)
}

#[cfg(test)]
mod tests {
    use super::{chained, in_parts, AT_ONCE, UNIT};

    #[test]
    fn every_entry_is_met_once_and_answers_keep_their_order() {
        for n in [0, 1, UNIT, 3 * UNIT + 5, 2 * AT_ONCE + 7] {
            let (mut single, mut double) = (vec![0u32; n], vec![vec![0u8; n]; 2]);
            let columns: Vec<_> = double.iter_mut().map(|c| &mut c[..]).collect();
            let seen = in_parts(
                (0..n, (&mut single[..], columns)),
                1e3,
                |(range, (single, columns))| {
                    for (p, s) in range.clone().zip(single) {
                        *s += p as u32;
                    }
                    columns.into_iter().flatten().for_each(|c| *c += 1);
                    vec![range]
                },
                chained,
            )
            .unwrap();
            assert!(single.iter().enumerate().all(|(p, s)| *s == p as u32));
            assert!(double.iter().flatten().all(|c| *c == 1));
            let ends = seen.iter().map(|r| r.end);
            assert!(seen
                .iter()
                .skip(1)
                .map(|r| r.start)
                .eq(ends.take(seen.len() - 1)));
            assert_eq!(seen.last().unwrap().end, n);
        }
    }
}
