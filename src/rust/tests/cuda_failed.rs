//! A GPU that fails is of no use to its process afterwards, which goes on without it. This is a
//! program by itself, since the failure takes the GPU from every test of its process.
#![cfg(feature = "cuda")]

mod common;

use cudafactor::backend::cpu::CpuDevice;
use cudafactor::backend::cuda::driver::probe;
use cudafactor::backend::cuda::CudaDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::device::blas::Blas;
use cudafactor::device::memory::Memory;

/// The failure, and the GPU that has been since one earlier.
fn failed<R>(outcome: Result<R>) -> Option<(String, Option<usize>)> {
    match outcome {
        Err(Error::DeviceFailed { name, earlier, .. }) => Some((name, earlier)),
        _ => None,
    }
}

#[test]
fn a_failed_gpu_is_told_of_and_the_process_goes_on() {
    let Some(gpu) = common::gpu() else { return };
    let count = probe::device_count();
    let held = Memory::<f64>::zeros(&gpu, 10, 10).unwrap();
    gpu.synchronize().unwrap();

    gpu.fault().unwrap();
    let (name, earlier) = failed(gpu.synchronize()).expect("a failure");
    assert_eq!(earlier, None);
    assert!(name.starts_with("CUDA_ERROR_"), "{name}");

    let since = Some((name, Some(0)));
    assert_eq!(failed(gpu.synchronize()), since);
    assert_eq!(failed(CudaDevice::open(0)), since);
    assert_eq!(failed(Blas::<f64>::diagonal(&gpu, &held)), since);
    assert_eq!(failed(Memory::<f64>::zeros(&gpu, 5, 5)), since);
    let told = CudaDevice::open(0).err().unwrap().to_string();
    assert!(told.contains("GPU 0 cannot be used any more"), "{told}");

    drop(held);
    assert_eq!(probe::device_count(), count - 1);
    assert!(probe::info().len() < count);
    assert!(CudaDevice::opened().is_empty());
    let cpu = CpuDevice::new(1);
    let zeros = Memory::<f64>::zeros(&cpu, 3, 3).unwrap();
    assert_eq!(Blas::<f64>::diagonal(&cpu, &zeros).unwrap(), vec![0.0; 3]);
}
