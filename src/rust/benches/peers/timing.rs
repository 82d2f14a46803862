//! Runs of several contenders in turn, by the device's clock.

use std::time::{Duration, Instant};

use cudafactor::backend::cuda::CudaDevice;

use super::Outcome;

/// Warm-up goes on until all of these, or until `LONGEST`, so that the clocks are up.
const WARM_ROUNDS: usize = 3;
const WARM_TIME: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(2);

/// Restores the contender's operands, works, and says how many milliseconds the work took.
pub type Run<'a> = dyn FnMut() -> Outcome<f64> + 'a;

/// Milliseconds of the runs of one contender.
#[derive(Clone, Copy)]
pub struct Times {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Times {
    fn of(mut t: Vec<f64>) -> Times {
        t.sort_by(f64::total_cmp);
        let (below, above) = (t[(t.len() - 1) / 2], t[t.len() / 2]);
        Times {
            median: (below + above) / 2.0,
            least: t[0],
            most: t[t.len() - 1],
        }
    }
}

/// Milliseconds of one of `calls` calls made together.
pub fn once(dev: &CudaDevice, calls: usize, mut work: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let (done, ms) = dev.timed(|| (0..calls).try_for_each(|_| work()))?;
    done?;
    Ok(ms / calls as f64)
}

/// Times every contender `repeats` times after warm-up; each round begins with another of them.
pub fn in_turn(runs: &mut [&mut Run<'_>], repeats: usize) -> Outcome<Vec<Times>> {
    let started = Instant::now();
    let mut rounds = 0;
    while (rounds < WARM_ROUNDS || started.elapsed() < WARM_TIME) && started.elapsed() < LONGEST {
        for run in runs.iter_mut() {
            run()?;
        }
        rounds += 1;
    }
    let mut times = vec![Vec::with_capacity(repeats); runs.len()];
    for round in 0..repeats {
        for k in 0..runs.len() {
            let which = (round + k) % runs.len();
            times[which].push(runs[which]()?);
        }
    }
    Ok(times.into_iter().map(Times::of).collect())
}
