//! When GPUs compute double products from integers: R's option `cudafactor.emulation`.

use std::sync::atomic::{AtomicU8, Ordering};

/// When products in double precision are computed from integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulation {
    /// Where it is estimated to be faster.
    Auto = 0,
    Never = 1,
    /// Wherever the bound on errors allows it.
    Always = 2,
}

static WANTED: AtomicU8 = AtomicU8::new(Emulation::Auto as u8);

/// Says when products are computed from integers, for all threads and GPUs.
pub fn want(emulation: Emulation) {
    WANTED.store(emulation as u8, Ordering::Relaxed);
}

pub fn wanted() -> Emulation {
    #[cfg(any(test, feature = "testing"))]
    if forced() {
        return Emulation::Always;
    }
    match WANTED.load(Ordering::Relaxed) {
        1 => Emulation::Never,
        2 => Emulation::Always,
        _ => Emulation::Auto,
    }
}

/// Whether tests want it wherever the bound allows it: `CUDAFACTOR_EMULATION=always`.
#[cfg(any(test, feature = "testing"))]
fn forced() -> bool {
    static FORCED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *FORCED.get_or_init(|| std::env::var("CUDAFACTOR_EMULATION").as_deref() == Ok("always"))
}
