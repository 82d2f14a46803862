//! Chooses how many threads a step uses.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::base::error::STACK;
use crate::base::packing;
use crate::base::reserve::is_free;

/// The process that first used the thread pool; 0 before that.
static POOL_OWNER: AtomicU32 = AtomicU32::new(0);

/// Multiplications that keep a thread busy for longer than it takes to wake it.
const GRAIN: f64 = 4e6;

/// No machine has more threads. A larger request is a mistake, and sizes of workspace would
/// overflow.
const MOST: usize = 1 << 12;

/// The number of threads in force for a request of `requested` (0: the default), at least 1.
///
/// The default is `CUDAFACTOR_NUM_THREADS`, else what the machine offers, limited by
/// `OMP_THREAD_LIMIT` (which R CMD check and batch systems set).
pub(crate) fn resolve(requested: usize) -> usize {
    if requested > 0 {
        return requested.min(MOST);
    }
    if let Some(n) = positive_variable("CUDAFACTOR_NUM_THREADS") {
        return n.min(MOST);
    }
    match positive_variable("OMP_THREAD_LIMIT") {
        Some(limit) => offered().min(limit),
        None => offered(),
    }
}

/// Threads that the machine offers. Reads several files, so once a process.
fn offered() -> usize {
    static OFFERED: OnceLock<usize> = OnceLock::new();
    *OFFERED.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

thread_local! {
    static WANTED: Cell<usize> = const { Cell::new(0) };
}

/// Sets how many threads the call that this thread begins may use (0: the default), and returns the
/// previous setting.
#[cfg(feature = "r")]
pub(crate) fn want(threads: usize) -> usize {
    WANTED.replace(threads)
}

/// How many threads the present call may use, at least 1.
pub(crate) fn wanted() -> usize {
    resolve(WANTED.get())
}

fn positive_variable(name: &str) -> Option<usize> {
    let n = std::env::var(name).ok()?.trim().parse().ok()?;
    (n > 0).then_some(n)
}

/// How many of `threads` a step of `work` multiplications is worth, at least 1.
///
/// A forked child (`parallel::mclapply`) inherits the pool's bookkeeping without its threads and
/// would wait for them forever, so it stays sequential.
pub fn share(threads: usize, work: f64) -> usize {
    let wanted = threads.min((work / GRAIN) as usize);
    if wanted < 2 || !owns_pool() {
        return 1;
    }
    wanted
}

/// The number of columns, of `work` multiplications each, to update between two checks for
/// interrupts: a fraction of a second.
pub(crate) fn batch(threads: usize, work: usize) -> usize {
    let budget = 6e9 * threads as f64;
    ((budget / work.max(1) as f64) as usize).max(256)
}

/// Whether this process may use the pool: a forked child inherits its bookkeeping without its
/// threads. The first process that asks owns it, so every use must ask first. Also false if memory
/// is too short for its threads.
pub(crate) fn owns_pool() -> bool {
    let me = process::id();
    let mine = match POOL_OWNER.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == me,
    };
    mine && is_started()
}

/// Whether the pool has begun: not known yet, yes, or never.
static STARTED: AtomicU8 = AtomicU8::new(0);
const YES: u8 = 1;
const NEVER: u8 = 2;

fn is_started() -> bool {
    match STARTED.load(Ordering::Acquire) {
        YES => true,
        NEVER => false,
        _ => start(),
    }
}

/// Starts the pool. It has as many threads as fit into half of the free address space, at most as
/// many as the machine offers. Each thread allocates its memory for products. False if there is too
/// little memory: the next call tries again.
fn start() -> bool {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    match STARTED.load(Ordering::Acquire) {
        YES => return true,
        NEVER => return false,
        _ => {}
    }
    let all = positive_variable("RAYON_NUM_THREADS").map_or_else(offered, |n| n.min(MOST));
    let each = packing::bytes() + STACK;
    let fits = |&threads: &usize| is_free(2 * threads * each);
    let halves = std::iter::successors(Some(all), |n| (*n > 2).then_some(n.div_ceil(2)));
    let Some(threads) = halves.into_iter().find(fits) else {
        return false;
    };
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global();
    // An error without a source says that other code has started the pool.
    if built.is_err_and(|e| std::error::Error::source(&e).is_some()) {
        STARTED.store(NEVER, Ordering::Release);
        return false;
    }
    // The started threads may have taken the memory that is missing now. They wait for a call that
    // finds more.
    let made = rayon::broadcast(|_| packing::make());
    let all = made.into_iter().all(|made| made);
    if all {
        STARTED.store(YES, Ordering::Release);
    }
    all
}

/// Runs both halves of a piece of work, at the same time if there are threads. Each half gets the
/// number of its threads. `threads` must come from [`share`].
pub(crate) fn join<A: Send, B: Send>(
    threads: usize,
    a: impl FnOnce(usize) -> A + Send,
    b: impl FnOnce(usize) -> B + Send,
) -> (A, B) {
    if threads < 2 {
        return (a(1), b(1));
    }
    let half = threads / 2;
    rayon::join(|| a(half), || b(threads - half))
}

/// The largest number of pieces for work that runs at the same time as a panel, and for work that
/// follows a panel.
///
/// With many small pieces, the panel's thread helps when it is done. A pool with more threads than
/// wanted would use all of them, so there is then one piece for each wanted thread.
pub(crate) fn pieces(threads: usize) -> (usize, usize) {
    if threads < 2 {
        (1, 1)
    } else if rayon::current_num_threads() > threads {
        (threads - 1, threads)
    } else {
        (usize::MAX, usize::MAX)
    }
}

/// Multiplications that take one thread a fraction of a second.
pub(crate) const BRIEF: f64 = 2e9;

/// Runs `f`, of `work` multiplications, on a thread of the pool if it is too brief to need a check
/// for interrupts. Every [`join`] in it then finds the other threads awake.
pub(crate) fn inside<R: Send>(threads: usize, work: f64, f: impl FnOnce() -> R + Send) -> R {
    if work > BRIEF || share(threads, work) < 2 {
        return f();
    }
    rayon::join(f, || ()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_wins_over_the_environment() {
        assert_eq!(resolve(3), 3);
        assert_eq!(resolve(usize::MAX), MOST);
        assert!(resolve(0) >= 1);
    }

    #[test]
    fn small_steps_stay_on_one_thread() {
        assert_eq!(share(8, 10.0), 1);
        assert_eq!(share(8, 2.5 * GRAIN), 2);
        assert_eq!(share(8, 1e12), 8);
        assert_eq!(share(1, 1e12), 1);
    }

    #[test]
    fn halves_see_all_threads() {
        assert_eq!(join(5, |t| t, |t| t), (2, 3));
        assert_eq!(join(1, |t| t, |t| t), (1, 1));
    }
}
