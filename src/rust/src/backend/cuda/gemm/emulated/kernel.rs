//! Chooses the kernel that multiplies planes of bytes.

use super::job::{COLS, DEPTH, ROWS};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{Family, Kernel};

const HOPPER: Kernel = Kernel::untyped(Family::PlanesHopper, "planes_multiply_hopper");
const TENSOR: Kernel = Kernel::untyped(Family::PlanesTensor, "planes_multiply_tensor");

/// The kernel for products of planes on this GPU, with its threads and its shared memory.
pub(super) fn multiplier(ctx: &'static Context) -> Option<(Kernel, u32, usize)> {
    let stage = |cols| (ROWS + cols) * DEPTH;
    if ctx.has(Family::PlanesHopper) && !is_portable() {
        return Some((HOPPER, 384, 4 * stage(COLS)));
    }
    // As `WIDTH` in `planes_tensor.cu`.
    let width = if ctx.properties.capability.0 >= 8 {
        COLS
    } else {
        COLS / 2
    };
    let tensor = (TENSOR, 256, 2 * stage(width));
    (ctx.has(Family::PlanesTensor) && tensor.2 <= ctx.properties.shared).then_some(tensor)
}

#[cfg(test)]
thread_local! {
    static PORTABLE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `f` with the kernel that other GPUs take.
#[cfg(test)]
pub(super) fn portable<R>(f: impl FnOnce() -> R) -> R {
    PORTABLE.set(true);
    let result = f();
    PORTABLE.set(false);
    result
}

#[cfg(test)]
fn is_portable() -> bool {
    PORTABLE.get()
}
#[cfg(not(test))]
fn is_portable() -> bool {
    false
}
