//! How many threads a step may use.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use faer::Par;

/// The process that first used the thread pool; 0 before that.
static POOL_OWNER: AtomicU32 = AtomicU32::new(0);

/// The number of threads in force for a request of `requested` (0: the default), at least 1.
///
/// The default is `CUDAFACTOR_NUM_THREADS`, else what the machine offers, limited by `OMP_THREAD_LIMIT`
/// (which R CMD check and batch systems set).
pub(crate) fn resolve(requested: usize) -> usize {
    if requested > 0 {
        return requested;
    }
    if let Some(n) = positive_variable("CUDAFACTOR_NUM_THREADS") {
        return n;
    }
    // Reads several files, so once a process.
    static OFFERED: OnceLock<usize> = OnceLock::new();
    let offered =
        *OFFERED.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    match positive_variable("OMP_THREAD_LIMIT") {
        Some(limit) => offered.min(limit),
        None => offered,
    }
}

fn positive_variable(name: &str) -> Option<usize> {
    let n = std::env::var(name).ok()?.trim().parse().ok()?;
    (n > 0).then_some(n)
}

/// Threads for a step of `work` operations, each thread to have at least `grain` of them.
///
/// A forked child (`parallel::mclapply`) inherits the pool's bookkeeping without its threads and
/// would wait for them forever, so it stays sequential.
pub(crate) fn share(threads: usize, work: f64, grain: f64) -> usize {
    let wanted = threads.min((work / grain) as usize);
    if wanted < 2 || !owns_pool() {
        return 1;
    }
    wanted
}

/// faer's word for a number of threads.
pub(crate) fn par(threads: usize) -> Par {
    if threads < 2 {
        Par::Seq
    } else {
        Par::rayon(threads)
    }
}

fn owns_pool() -> bool {
    let me = process::id();
    match POOL_OWNER.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == me,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_wins_over_the_environment() {
        assert_eq!(resolve(3), 3);
        assert!(resolve(0) >= 1);
    }

    #[test]
    fn small_steps_stay_on_one_thread() {
        assert_eq!(share(8, 10.0, 100.0), 1);
        assert_eq!(share(8, 250.0, 100.0), 2);
        assert_eq!(share(8, 1e9, 100.0), 8);
        assert_eq!(share(1, 1e9, 100.0), 1);
    }
}
