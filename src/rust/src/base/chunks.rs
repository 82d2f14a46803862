//! Splits work on long vectors into parts for several threads, and checks for interrupts between
//! parts.

use std::ops::Range;

use faer::MatMut;

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::reserve;
use crate::base::threads::{join, share, wanted};

/// Entries that a loop on one thread handles between two checks for interrupts.
pub const AT_ONCE: usize = 1 << 20;

/// Multiplications of each thread between two checks for interrupts.
const BUSY: f64 = 1e8;

/// A part begins at a multiple of this number of entries.
pub const UNIT: usize = 4096;

/// Entries whose results are in one buffer until a device has copied them. A buffer for all entries
/// would be fresh memory, which the system hands out slowly.
pub const BAND: usize = 1 << 21;

/// Splits `entries` entries into bands of at most [`BAND`].
pub fn bands(entries: usize) -> impl Iterator<Item = Range<usize>> {
    let from = (0..entries).step_by(BAND);
    from.map(move |first| first..entries.min(first + BAND))
}

/// Things that can be split at an entry: a range of numbers, a slice, and several of these
/// together.
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

/// The entries are columns.
impl<T: Send> Cut for MatMut<'_, T> {
    fn count(&self) -> usize {
        self.ncols()
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let at = at.min(self.ncols());
        self.split_at_col_mut(at)
    }
}

/// The first of the pair tells how many entries there are.
impl<A: Cut, B: Cut> Cut for (A, B) {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let ((a, c), (b, d)) = (self.0.cut(at), self.1.cut(at));
        ((a, b), (c, d))
    }
}

/// Calls `f` with parts, and joins the answers by `both` in the order of the parts. The number of
/// parts is the number of threads that `cost` multiplications per entry are worth. The result of
/// `f` and `both` must not depend on where the parts begin.
///
/// # Errors
/// Those of `f` and `both`, and [`Error::Interrupted`](crate::base::error::Error::Interrupted).
/// After an error not all parts are done.
pub fn in_parts<C: Cut, R: Send>(
    work: C,
    cost: f64,
    f: impl Fn(C) -> Result<R> + Sync,
    both: impl Fn(R, R) -> Result<R> + Sync,
) -> Result<R> {
    in_parts_of(UNIT, wanted(), work, cost, f, both)
}

/// Like [`in_parts`], with at most `threads` threads. Parts begin at a multiple of `unit` entries,
/// which is not 0.
pub fn in_parts_of<C: Cut, R: Send>(
    unit: usize,
    threads: usize,
    mut work: C,
    cost: f64,
    f: impl Fn(C) -> Result<R> + Sync,
    both: impl Fn(R, R) -> Result<R> + Sync,
) -> Result<R> {
    // Little work does not start the pool. With more parts than threads, parts would wait for each
    // other between two checks for interrupts.
    let threads = match share(threads, cost * work.count() as f64) {
        1 => 1,
        several => several.min(rayon::current_num_threads()),
    };
    let entries = BUSY * threads as f64 / cost.max(1.0);
    let at_once = (entries as usize).max(1).next_multiple_of(unit);
    let mut so_far = None;
    loop {
        interrupt::poll()?;
        let (now, later) = work.cut(at_once);
        let of = share(threads, cost * now.count() as f64);
        let made = halves(now, unit, of, &f, &both)?;
        let all = match so_far {
            Some(before) => both(before, made)?,
            None => made,
        };
        if later.count() == 0 {
            return Ok(all);
        }
        (so_far, work) = (Some(all), later);
    }
}

/// Lists one after the other.
pub fn chained<T>(mut a: Vec<T>, b: Vec<T>) -> Result<Vec<T>> {
    reserve(&mut a, b.len())?;
    a.extend(b);
    Ok(a)
}

/// Calls `f` with parts of the columns of `out` and the number of each part's first column, where a
/// column takes `cost` multiplications.
///
/// # Errors
/// Those of [`in_parts`].
pub fn by_columns<T: Send>(
    out: MatMut<'_, T>,
    cost: f64,
    f: impl Fn(usize, MatMut<'_, T>) + Sync,
) -> Result<()> {
    let work = (0..out.ncols(), out);
    let each = |(columns, part): (Range<usize>, MatMut<'_, T>)| {
        f(columns.start, part);
        Ok(())
    };
    in_parts_of(1, wanted(), work, cost, each, |(), ()| Ok(()))
}

fn halves<C: Cut, R: Send>(
    work: C,
    unit: usize,
    threads: usize,
    f: &(impl Fn(C) -> Result<R> + Sync),
    both: &(impl Fn(R, R) -> Result<R> + Sync),
) -> Result<R> {
    // In proportion to the threads of either side.
    let first = work.count() * (threads / 2) / threads;
    let first = first.max(1).next_multiple_of(unit);
    if threads < 2 || first >= work.count() {
        return f(work);
    }
    let (a, b) = work.cut(first);
    let (a, b) = join(
        threads,
        |t| halves(a, unit, t, f, both),
        |t| halves(b, unit, t, f, both),
    );
    both(a?, b?)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::Range;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::{chained, halves, in_parts, in_parts_of, reserve, BUSY, UNIT};
    use crate::base::error::Error;
    use crate::base::interrupt;

    /// Ranges must follow each other from 0 to `n`.
    fn in_order(seen: &[Range<usize>], n: usize) {
        let ends = seen.iter().map(|r| r.end);
        let starts = seen.iter().map(|r| r.start);
        assert!(starts.eq([0].into_iter().chain(ends.take(seen.len() - 1))));
        assert_eq!(seen.last().unwrap().end, n);
    }

    #[test]
    fn every_entry_is_met_once_and_answers_keep_their_order() {
        // In the largest case the last part comes after a check.
        let several = 2 * (BUSY / 1e4) as usize * rayon::current_num_threads() + 7;
        for n in [0, 1, UNIT, 3 * UNIT + 5, several] {
            let (mut single, mut double) = (vec![0u32; n], vec![vec![0u8; n]; 2]);
            let columns: Vec<_> = double.iter_mut().map(|c| &mut c[..]).collect();
            let seen = in_parts(
                (0..n, (&mut single[..], columns)),
                1e4,
                |(range, (single, columns))| {
                    for (p, s) in range.clone().zip(single) {
                        *s += p as u32;
                    }
                    columns.into_iter().flatten().for_each(|c| *c += 1);
                    Ok(vec![range])
                },
                chained,
            )
            .unwrap();
            assert!(single.iter().enumerate().all(|(p, s)| *s == p as u32));
            assert!(double.iter().flatten().all(|c| *c == 1));
            in_order(&seen, n);
        }
    }

    #[test]
    fn parts_are_as_large_as_their_threads_are_many() {
        for unit in [1, 7, UNIT] {
            for (n, threads) in [(30, 3), (31, 3), (2, 3), (1, 2), (0, 3), (8, 8), (100, 7)] {
                let n = n * unit;
                let seen = halves(0..n, unit, threads, &|r| Ok(vec![r]), &chained).unwrap();
                in_order(&seen, n);
                assert!(seen.iter().all(|r| r.start % unit == 0));
                let most = n.div_ceil(threads).div_ceil(unit) * unit + 2 * unit;
                assert!(seen.len() <= threads && seen.iter().all(|r| r.len() <= most));
                assert!(n == 0 || seen.iter().all(|r| !r.is_empty()));
            }
        }
        let thirds = halves(0..30 * UNIT, UNIT, 3, &|r| Ok(vec![r.len()]), &chained);
        assert_eq!(thirds, Ok(vec![10 * UNIT; 3]));
    }

    #[test]
    fn errors_of_parts_end_it() {
        let failed = || Error::HostMemory { needed: 1 };
        let part = |r: Range<usize>| if r.end > 50 { Err(failed()) } else { Ok(()) };
        for threads in [1, 3] {
            let joined = halves(0..60, 1, threads, &part, &|(), ()| Ok(()));
            assert_eq!(joined, Err(failed()));
        }
        let not_joined = halves(0..60, 1, 2, &|_| Ok(()), &|(), ()| Err(failed()));
        assert_eq!(not_joined, Err(failed()));
        let all = reserve(&mut vec![1.5], usize::MAX / 16);
        assert!(matches!(all, Err(Error::HostMemory { .. })));
    }

    thread_local! {
        static ASKED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn the_wish_to_stop_is_heard_between_parts() {
        // A separate thread, because the question stays installed.
        let stopped = std::thread::spawn(|| {
            interrupt::install(|| {
                // So long that the next check asks again.
                std::thread::sleep(Duration::from_millis(60));
                ASKED.set(ASKED.get() + 1);
                ASKED.get() == 3
            });
            let met = AtomicUsize::new(0);
            let count = |r: Range<usize>| {
                met.fetch_add(r.len(), Ordering::Relaxed);
                Ok(())
            };
            let done = in_parts_of(5, 1, 0..1000, BUSY / 10.0, count, |(), ()| Ok(()));
            (done, met.into_inner())
        });
        assert_eq!(stopped.join().unwrap(), (Err(Error::Interrupted), 20));
    }
}
