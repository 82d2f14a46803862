//! From host to host on a GPU that is full, and the host memory that copies go through.

use cudafactor::algo::dense::host_to_host;
use cudafactor::device::blas::Blas;

use cudafactor::device::memory::Memory;

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Diag, Part, Side, Trans, Uplo};

use crate::alone;
use crate::common::calls::works;
use crate::common::{gpu, matrices, same, Host};

/// All memory of the GPU but so many bytes, and less than a MiB.
fn all_but(gpu: &CudaDevice, bytes: usize) -> Vec<Matrix<'static, f64>> {
    gpu.release().unwrap();
    let spare = Memory::<f64>::zeros(gpu, bytes / 8, 1).unwrap();
    let mut held = Vec::new();
    let mut piece = 1 << 31;
    while piece >= 1 << 17 {
        match Memory::<f64>::zeros(gpu, piece, 1) {
            Ok(m) => held.push(m),
            Err(Error::DeviceMemory { .. }) => piece /= 2,
            Err(e) => panic!("{e:?}"),
        }
    }
    drop(spare);
    held
}

#[test]
fn a_full_device_factors_from_host_to_host_or_says_what_it_lacks() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    // Large enough to travel in blocks.
    let n = 3000;
    let x = Host::<f64>::from_fn(n, n, |i, j| 1.0 / (1.0 + i.abs_diff(j) as f64));
    let before = x.clone();
    let factor = |in_blocks: bool| {
        let mut out = Host::<f64>::from_fn(n, n, |_, _| f64::NAN);
        let done = match in_blocks {
            true => host_to_host::potrf(&gpu, x.view(), out.view_mut()),
            false => host_to_host::potrf_loaded(&gpu, x.view(), out.view_mut()),
        };
        done.map(|()| out)
    };
    // Code is loaded while there is room, that of small systems and products too, to which larger
    // ones give way.
    let operand = gpu.load(x.view()).unwrap();
    for k in [10, 100, 700] {
        let mut b = Memory::<f64>::zeros(&gpu, n, k).unwrap();
        let (left, upper) = (Side::Left, Uplo::Upper);
        gpu.trsm(left, upper, Trans::Yes, Diag::NonUnit, k, &operand, &mut b)
            .unwrap();
        let mut c = Memory::<f64>::zeros(&gpu, k, k).unwrap();
        gpu.syrk(Trans::Yes, &b, &mut c).unwrap();
    }
    drop(operand);
    let (blocks, whole) = (factor(true).unwrap(), factor(false).unwrap());
    let near = |out: &Host<f64>, i, j| (out.at(i, j) - whole.at(i, j)).abs() < 1e-12;
    let close = |out: &Host<f64>| (0..n).all(|j| (0..n).all(|i| near(out, i, j)));
    assert!(close(&blocks));
    let bytes = 8 * n * n;
    for spare in [0, 2, 8, 100, 300].map(|mib| bytes + (mib << 20)) {
        let held = all_but(&gpu, spare);
        let plain = factor(false);
        let done = factor(true);
        drop(held);
        match &done {
            Ok(out) => assert!(close(out), "{spare}"),
            Err(e) => assert!(matches!(e, Error::DeviceMemory { .. }), "{spare}: {e:?}"),
        }
        // Blocks are no reason to fail.
        let fits = plain.is_ok() || spare > bytes + (256 << 20);
        assert!(done.is_ok() || !fits, "{spare}: {:?}", done.err());
        assert!(same(&x, &before), "{spare}");
    }
    let held = all_but(&gpu, bytes / 8);
    for in_blocks in [true, false] {
        match factor(in_blocks).err() {
            Some(Error::DeviceMemory {
                needed,
                free,
                total,
                ..
            }) => assert!(needed == bytes as u64 && free < needed && total > needed),
            other => panic!("{other:?}"),
        }
    }
    drop(held);
    assert!(same(&x, &before));
    assert!(close(&factor(true).unwrap()));
    works(&gpu);
}

#[test]
fn staging_memory_is_as_much_as_its_lanes_and_given_back() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    gpu.release().unwrap();
    assert_eq!(gpu.usage().unwrap().staging, 0);
    // Three slots for a thread, and of threads sixteen at most. The slots have 512 KiB until a
    // transfer needs 2 MiB.
    let lanes = rayon::current_num_threads().min(16);
    let bound = lanes * 3 * (2 << 20);
    works(&gpu);
    assert_eq!(gpu.staging_bytes(), bound / 4, "small matrices");
    // More than there can be, and no whole number of pieces.
    let (rows, cols) = (4001, 3503);
    assert!(8 * rows * cols > 16 * 3 * (2 << 20));
    for seed in 0..3 {
        let a = matrices::random::<f64>(rows, cols, seed);
        let there = gpu.load_temporary(a.view(), Part::All).unwrap();
        assert_eq!(gpu.staging_bytes(), bound, "up, {seed}");
        let mut back = Host::<f64>::from_fn(rows, cols, |_, _| f64::NAN);
        gpu.read(&there, back.view_mut()).unwrap();
        assert_eq!(gpu.staging_bytes(), bound, "down, {seed}");
        assert!(same(&back, &a), "{seed}");
        let mut small = Host::<f64>::from_fn(3, 3, |_, _| f64::NAN);
        let few = gpu.zeros(3, 3).unwrap();
        gpu.read(&few, small.view_mut()).unwrap();
        assert_eq!(gpu.usage().unwrap().staging, bound as u64, "{seed}");
    }
    gpu.release().unwrap();
    assert_eq!((gpu.staging_bytes(), gpu.usage().unwrap().staging), (0, 0));
    works(&gpu);
    assert_eq!(gpu.staging_bytes(), bound / 4, "made again");
}
