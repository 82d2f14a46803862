//! Launches kernels, and checks that the device allows the launch.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::sys;

use super::context::Context;
use super::kernels::{Arg, Kernel, LoadedKernel};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// Whether the blocks of a launch wait for one another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocks {
    Alone,
    /// All are resident together, or none is started.
    Together,
    /// They are one cluster, and reach one another's shared memory.
    Cluster,
}

/// Size of a cluster that every device with clusters supports.
const PORTABLE_CLUSTER: usize = 8;

impl Context {
    /// Starts `kernel` for element type `T` with `blocks` x `slices` blocks of `threads` threads.
    /// With no blocks it does nothing.
    pub(crate) fn launch<T: Scalar>(
        &self,
        kernel: Kernel,
        blocks: usize,
        slices: usize,
        threads: u32,
        args: &[Arg],
    ) -> Result<()> {
        self.launch_shared::<T>(kernel, (blocks, slices), threads, 0, args)
    }

    /// As [`Context::launch`], with `shared` bytes of dynamic shared memory for each block.
    pub(crate) fn launch_shared<T: Scalar>(
        &self,
        kernel: Kernel,
        grid: (usize, usize),
        threads: u32,
        shared: usize,
        args: &[Arg],
    ) -> Result<()> {
        self.start::<T>(kernel, Blocks::Alone, grid, threads, shared, args)
    }

    /// As [`Context::launch_shared`], for blocks that wait for one another: all are resident
    /// together, or none is started.
    pub(crate) fn launch_together<T: Scalar>(
        &self,
        kernel: Kernel,
        blocks: usize,
        threads: u32,
        shared: usize,
        args: &[Arg],
    ) -> Result<()> {
        self.start::<T>(kernel, Blocks::Together, (blocks, 1), threads, shared, args)
    }

    /// As [`Context::launch_shared`], for blocks that are one cluster. [`Context::takes_cluster`]
    /// must have returned true.
    pub(crate) fn launch_cluster<T: Scalar>(
        &self,
        kernel: Kernel,
        blocks: usize,
        threads: u32,
        shared: usize,
        args: &[Arg],
    ) -> Result<()> {
        self.start::<T>(kernel, Blocks::Cluster, (blocks, 1), threads, shared, args)
    }

    fn start<T: Scalar>(
        &self,
        kernel: Kernel,
        how: Blocks,
        grid: (usize, usize),
        threads: u32,
        shared: usize,
        args: &[Arg],
    ) -> Result<()> {
        if grid.0 == 0 || grid.1 == 0 {
            return Ok(());
        }
        // Makes the context current.
        let function = self.function(kernel, T::SUFFIX)?;
        let fits = function.params.len() == args.len()
            && function.params.iter().zip(args).all(|(p, a)| *p == a.kind);
        let blocks = u32::try_from(grid.0).ok().filter(|b| *b <= i32::MAX as u32);
        let (true, Some(blocks), Ok(slices @ 1..=65535)) = (fits, blocks, u32::try_from(grid.1))
        else {
            return Err(Error::Internal {
                what: format!("kernel {} started with wrong arguments", kernel.name),
            });
        };
        self.allow_shared(function, shared)?;
        if how == Blocks::Cluster {
            self.allow_cluster(function, grid.0)?;
        }
        let bytes = shared as u32;
        let mut values: Vec<u64> = args.iter().map(|a| a.bits).collect();
        let address = |v: &mut u64| std::ptr::from_mut(v).cast();
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(address).collect();
        let (f, stream, params) = (function.handle, self.stream_now(), pointers.as_mut_ptr());
        #[cfg(any(test, feature = "testing"))]
        let slowed = self.before::<T>(kernel, grid.0 * grid.1, args)?;
        // SAFETY: `params` has one valid address for each of the kernel's parameters, of the
        // parameter's size (checked above); the driver copies the values before it returns.
        // Function and stream belong to the current context.
        let code = unsafe {
            match how {
                Blocks::Alone => {
                    let none = std::ptr::null_mut();
                    sys::cuLaunchKernel(
                        f, blocks, slices, 1, threads, 1, 1, bytes, stream, params, none,
                    )
                }
                Blocks::Together => sys::cuLaunchCooperativeKernel(
                    f, blocks, slices, 1, threads, 1, 1, bytes, stream, params,
                ),
                Blocks::Cluster => {
                    let mut attribute = cluster(blocks);
                    let config = configuration(blocks, threads, bytes, stream, &mut attribute);
                    sys::cuLaunchKernelEx(&config, f, params, std::ptr::null_mut())
                }
            }
        };
        #[cfg(any(test, feature = "testing"))]
        self.after(slowed)?;
        self.check(code, kernel.name)
    }

    /// Allows launches of a function with `shared` bytes of dynamic shared memory. The context must
    /// be current.
    fn allow_shared(&self, function: &LoadedKernel, shared: usize) -> Result<()> {
        if shared <= function.allowed.load(Ordering::Relaxed) {
            return Ok(());
        }
        if shared > self.properties.shared {
            return Err(Error::Internal {
                what: format!("a kernel is started with {shared} bytes of shared memory"),
            });
        }
        // Another thread's smaller size must not replace a larger one.
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if shared <= function.allowed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded in the current context; the size is within the device's
        // limit, an i32.
        let code = unsafe { sys::cuFuncSetAttribute(function.handle, attribute, shared as i32) };
        self.check(code, "cuFuncSetAttribute")?;
        function.allowed.fetch_max(shared, Ordering::Relaxed);
        Ok(())
    }

    /// Allows launches of a function as a cluster of `blocks` blocks. The context must be current.
    fn allow_cluster(&self, function: &LoadedKernel, blocks: usize) -> Result<()> {
        if blocks <= PORTABLE_CLUSTER || function.large_clusters.load(Ordering::Relaxed) {
            return Ok(());
        }
        let attribute =
            sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        // SAFETY: the function is loaded in the current context.
        let code = unsafe { sys::cuFuncSetAttribute(function.handle, attribute, 1) };
        self.check(code, "cuFuncSetAttribute")?;
        function.large_clusters.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The number of blocks of a kernel that one multiprocessor holds at once. The query and all
    /// launches of a kernel must use the same threads and shared memory.
    pub(crate) fn resident<T: Scalar>(
        &self,
        kernel: Kernel,
        threads: u32,
        shared: usize,
    ) -> Result<usize> {
        let function = self.function(kernel, T::SUFFIX)?;
        if let Some(blocks) = function.resident.get() {
            return Ok(*blocks);
        }
        self.allow_shared(function, shared)?;
        let mut blocks = 0;
        // SAFETY: the function is loaded in the current context; the out-parameter is valid.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function.handle,
                threads as i32,
                shared,
            )
        };
        self.check(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor")?;
        let blocks = usize::try_from(blocks).unwrap_or(0);
        Ok(*function.resident.get_or_init(|| blocks))
    }

    /// Whether the device can run a cluster of `blocks` blocks of a kernel.
    pub(crate) fn takes_cluster<T: Scalar>(
        &self,
        kernel: Kernel,
        blocks: usize,
        threads: u32,
        shared: usize,
    ) -> Result<bool> {
        let function = self.function(kernel, T::SUFFIX)?;
        self.allow_shared(function, shared)?;
        self.allow_cluster(function, blocks)?;
        let mut attribute = cluster(blocks as u32);
        let config = configuration(
            blocks as u32,
            threads,
            shared as u32,
            self.stream,
            &mut attribute,
        );
        let mut clusters = 0;
        // SAFETY: the function is loaded in the current context; the configuration and the
        // out-parameter are valid.
        let code =
            unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, function.handle, &config) };
        Ok(code == sys::CUresult::CUDA_SUCCESS && clusters > 0)
    }
}

/// The launch attribute that makes all blocks one cluster.
fn cluster(blocks: u32) -> sys::CUlaunchAttribute {
    let dimensions = sys::CUlaunchAttributeValue_union__bindgen_ty_1 {
        x: blocks,
        y: 1,
        z: 1,
    };
    sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            clusterDim: dimensions,
        },
    }
}

fn configuration(
    blocks: u32,
    threads: u32,
    shared: u32,
    stream: sys::CUstream,
    attribute: &mut sys::CUlaunchAttribute,
) -> sys::CUlaunchConfig {
    sys::CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shared,
        hStream: stream,
        attrs: attribute,
        numAttrs: 1,
    }
}
