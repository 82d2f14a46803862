//! A forked child is refused the GPU its parent opened, and may drop what it inherited. Alone in its file: a fork
//! while other tests run could copy a held lock.
#![cfg(all(feature = "cuda", unix))]

mod common;

use cudafactor::backend::cuda::{probe, CudaDevice};
use cudafactor::device::Device;
use cudafactor::error::Error;

#[test]
fn a_forked_child_is_refused() {
    let Some(gpu) = common::gpu() else { return };
    let held = Device::<f64>::zeros(&gpu, 10, 10).unwrap();
    // SAFETY: the child only runs the code below and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = matches!(CudaDevice::open(0), Err(Error::DeviceUnavailable { .. }));
        let used = matches!(
            Device::<f64>::diagonal(&gpu, &held),
            Err(Error::DeviceUnavailable { .. })
        );
        let counted = probe::device_count() == 0;
        drop(held);
        let code = i32::from(!refused) + 2 * i32::from(!used) + 4 * i32::from(!counted);
        // SAFETY: leaves without running the parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child was not refused");
    assert_eq!(Device::<f64>::diagonal(&gpu, &held).unwrap(), vec![0.0; 10]);
}
