//! What the measured routines share. Each compares its answer with the peer's first, then times
//! both in turn.

use std::cell::RefCell;
use std::collections::HashMap;

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::base::scalar::Scalar;

use super::library::Peers;
use super::timing::Times;
use super::Outcome;

/// What all cases share.
pub struct Bench<'a> {
    pub dev: &'a CudaDevice,
    pub peers: &'a Peers,
    pub repeats: usize,
    /// Rates of our own product, by element type and order.
    pub products: RefCell<HashMap<(&'static str, usize), f64>>,
}

pub fn cube(n: usize) -> f64 {
    (n as f64).powi(3)
}

/// Operations a millisecond, in TFLOP/s.
pub fn tflops(flops: f64, ms: f64) -> f64 {
    flops / ms / 1e9
}

/// `, single` in the names of single precision.
pub fn precision<T: Scalar>() -> &'static str {
    if size_of::<T>() == 8 {
        ""
    } else {
        ", single"
    }
}

/// Refuses answers that are further apart than rounding explains: `factor` times `eps sqrt(n)`.
pub fn agreed<T: Scalar>(n: usize, factor: f64, difference: f64) -> Outcome<f64> {
    let limit = factor * T::EPS * (n as f64).sqrt();
    if difference <= limit {
        Ok(difference)
    } else {
        Err(format!("the answers differ by {difference:.1e}, more than {limit:.1e}").into())
    }
}

/// Ours, the peer's, and perhaps a third.
pub fn contenders(times: Vec<Times>) -> Outcome<(Times, Times, Option<Times>)> {
    match times[..] {
        [ours, peer] => Ok((ours, peer, None)),
        [ours, peer, also] => Ok((ours, peer, Some(also))),
        _ => Err("two or three contenders are timed".into()),
    }
}
