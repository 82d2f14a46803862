//! A forked child is refused the GPU that its parent opened. It may drop what it inherited, and
//! computes on the CPU, although the threads of the pool, which copies to the GPU started, stayed
//! with the parent. This is a program by itself: a fork while other tests run could copy a held
//! lock.
#![cfg(all(feature = "cuda", unix))]

mod common;

use cudafactor::backend::cpu::CpuDevice;
use cudafactor::backend::cuda::driver::probe;
use cudafactor::backend::cuda::CudaDevice;
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::device::blas::Blas;
use cudafactor::device::memory::Memory;

#[test]
fn a_forked_child_is_refused() {
    let Some(gpu) = common::gpu() else { return };
    let held = Memory::<f64>::zeros(&gpu, 10, 10).unwrap();
    let large = common::matrices::integers::<f64>(400, 400, 1);
    // By several threads, in the parent alone.
    drop(gpu.load_temporary(large.view(), Part::All).unwrap());
    // SAFETY: the child only runs the code below and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: a child that hangs ends.
        unsafe { libc::alarm(60) };
        let squared = common::written::<f64, _>(&CpuDevice::new(4), 400, 400, 0, |c| {
            let cpu = CpuDevice::new(4);
            let a = cpu.load(large.view())?;
            cpu.gemm(1.0, Trans::No, &a, Trans::No, &a, 0.0, c)
        });
        let refused = matches!(CudaDevice::open(0), Err(Error::DeviceUnavailable { .. }));
        let used = matches!(
            Blas::<f64>::diagonal(&gpu, &held),
            Err(Error::DeviceUnavailable { .. })
        );
        let counted = probe::device_count() == 0;
        drop(held);
        let code = i32::from(!refused)
            + 2 * i32::from(!used)
            + 4 * i32::from(!counted)
            + 8 * i32::from(squared.is_err());
        // SAFETY: leaves without running the parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child was not refused, or hung");
    assert_eq!(Blas::<f64>::diagonal(&gpu, &held).unwrap(), vec![0.0; 10]);
}
