//! The version of the NVIDIA driver.

use cudarc::driver::sys;

/// The newest CUDA version the driver supports, 1000 * major + 10 * minor; 0 if it does not tell.
pub(super) fn driver_version() -> i32 {
    let mut version = 0;
    // SAFETY: the library is present; the out-parameter is valid. Works before cuInit, and leaves
    // the number unchanged if it fails.
    let _ = unsafe { sys::cuDriverGetVersion(&mut version) };
    version
}

pub(super) fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// The version of the kernel module, if the system reports it, and of CUDA.
pub(super) fn driver_text() -> String {
    let cuda = dotted(driver_version());
    let module = std::fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    match module.trim() {
        "" => format!("CUDA {cuda}"),
        version => format!("{version} (CUDA {cuda})"),
    }
}
