//! A forked child computes although the thread pool stayed with its parent.
#![cfg(unix)]

use cudafactor::device::blas::Blas;
use cudafactor::device::memory::Memory;
mod common;

use std::time::{Duration, Instant};

use common::{matrices, written, Host};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::matrix::Trans;

fn product(a: &Host<f64>) -> Host<f64> {
    let device = CpuDevice::new(2);
    written::<f64, _>(&device, a.rows, a.cols, 0, |c| {
        let a = device.load(a.view())?;
        device.gemm(1.0, Trans::No, &a, Trans::No, &a, 0.0, c)
    })
    .unwrap()
}

#[test]
fn a_forked_child_does_not_wait_for_the_pool() {
    let a = matrices::integers::<f64>(400, 400, 1);
    // Starts the pool here.
    let here = product(&a);
    // SAFETY: the child only computes and leaves by _exit; nothing of this process's is torn down
    // in it.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let there = product(&a);
        let code = i32::from(!common::same(&here, &there));
        // SAFETY: ends the child without running this process's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    let start = Instant::now();
    loop {
        // SAFETY: `child` is ours and `status` outlives the call.
        let done = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if done == child {
            break;
        }
        if start.elapsed() > Duration::from_secs(60) {
            // SAFETY: as above.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
}
