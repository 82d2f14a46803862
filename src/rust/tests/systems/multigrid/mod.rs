//! Multigrid: operators on grids, sparse matrices, and what is solved with them.

mod large;
mod matrices;
mod sparse;
mod stencil;
mod systems;

/// `on_each_device!(body, ...)`: tests of the generic functions `body(&impl ...)` in double
/// precision.
macro_rules! on_each_device {
    ($($body:ident),* $(,)?) => {$(
        mod $body {
            #[test]
            fn cpu() {
                super::$body(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body(&gpu);
                }
            }
        }
    )*};
}
use on_each_device;
