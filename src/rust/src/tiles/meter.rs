//! How long something went on, for a user who wants to know what a computation was bound by.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct State {
    /// How many are at it, and since when at least one of them is.
    running: usize,
    since: Option<Instant>,
    past: Duration,
}

/// The time during which at least one thread was at something.
#[derive(Debug, Default)]
pub struct Meter(Mutex<State>);

/// One thread at it, until this is dropped.
pub struct Running<'a>(&'a Meter);

impl Meter {
    pub fn run(&self) -> Running<'_> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.running == 0 {
            state.since = Some(Instant::now());
        }
        state.running += 1;
        Running(self)
    }

    /// Seconds up to now.
    pub fn seconds(&self) -> f64 {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = state.since.map_or(Duration::ZERO, |t| t.elapsed());
        (state.past + now).as_secs_f64()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0 .0.lock().unwrap_or_else(PoisonError::into_inner);
        state.running -= 1;
        if state.running == 0 {
            if let Some(since) = state.since.take() {
                state.past += since.elapsed();
            }
        }
    }
}

/// How long tiles were loaded, stored and copied, and how long the device had nothing to compute
/// because of that.
#[derive(Debug, Default)]
pub struct Meters {
    pub loading: Meter,
    pub storing: Meter,
    /// To devices, from them and between them.
    pub copying: Meter,
    /// Of each device.
    pub idle: Vec<Meter>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_once_however_many_are_at_it() {
        let meter = Meter::default();
        assert_eq!(meter.seconds(), 0.0);
        let start = Instant::now();
        let first = meter.run();
        let second = meter.run();
        std::thread::sleep(Duration::from_millis(20));
        drop(first);
        let within = meter.seconds();
        drop(second);
        let all = start.elapsed().as_secs_f64();
        assert!(0.02 <= within && within <= meter.seconds() && meter.seconds() <= all);
        let past = meter.seconds();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(meter.seconds(), past);
    }
}
