//! Eigenvalues and singular values, against exact values and by residuals in units of rounding.

#[path = "../common/mod.rs"]
mod common;

mod batch;
mod few;
mod functions;
mod general;
mod kinds;
mod large;
mod svd;
mod symmetric;

/// `for_each_processor!(body, ...)`: tests of the generic functions
/// `body<T: Scalar, D: GeneralEigen<T>>(&D)` on the devices with that contract.
macro_rules! for_each_processor {
    ($($body:ident),* $(,)?) => {$(
        mod $body {
            #[test]
            fn cpu_f64() {
                super::$body::<f64, _>(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[test]
            fn cpu_f32() {
                super::$body::<f32, _>(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[test]
            fn cpu_one_thread() {
                super::$body::<f64, _>(&cudafactor::backend::cpu::CpuDevice::new(1));
            }
        }
    )*};
}
pub(crate) use for_each_processor;

/// Residuals and losses of orthogonality, divided by `n eps`: LAPACK's own tests allow 30.
pub const ALLOWED: f64 = 8.0;

/// The orders of most tests: both sides of vectors, blocks and the threshold of faer's divide and
/// conquer.
pub fn orders() -> Vec<usize> {
    if common::few() {
        return vec![1, 2, 33];
    }
    vec![1, 2, 3, 31, 32, 33, 127, 128, 129, 300]
}
