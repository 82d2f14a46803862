//! How kernels are started, and what a launch is allowed.

use std::sync::atomic::Ordering;

use cudarc::driver::sys;

use super::context::Context;
use super::kernels::{Arg, Function, Kernel};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// A launch whose arguments fit the kernel.
struct Start {
    handle: sys::CUfunction,
    blocks: u32,
    slices: u32,
    values: Vec<u64>,
}

impl Start {
    /// Makes the context current and gives the kernel its shared memory.
    fn new(
        ctx: &Context,
        kernel: Kernel,
        suffix: &'static str,
        (blocks, slices): (usize, usize),
        shared: usize,
        args: &[Arg],
    ) -> Result<Start> {
        let function = ctx.function(kernel, suffix)?;
        let fits = function.params.len() == args.len()
            && function.params.iter().zip(args).all(|(p, a)| *p == a.kind);
        let grid = u32::try_from(blocks).ok().filter(|b| *b <= i32::MAX as u32);
        let (true, Some(blocks), Ok(slices @ 1..=65535)) = (fits, grid, u32::try_from(slices))
        else {
            return Err(Error::Internal {
                what: format!("kernel {} started with wrong arguments", kernel.name),
            });
        };
        ctx.allow_shared(function, shared)?;
        Ok(Start {
            handle: function.handle,
            blocks,
            slices,
            values: args.iter().map(|a| a.bits).collect(),
        })
    }
}

/// The address of each argument, as the driver wants them.
fn pointers(values: &mut [u64]) -> Vec<*mut std::ffi::c_void> {
    let address = |v: &mut u64| std::ptr::from_mut(v).cast();
    values.iter_mut().map(address).collect()
}

impl Context {
    /// Starts `kernel` for element type `T` with `blocks` x `slices` blocks of `threads` threads. No blocks: nothing to do.
    pub(super) fn launch<T: Scalar>(
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
    pub(super) fn launch_shared<T: Scalar>(
        &self,
        kernel: Kernel,
        (blocks, slices): (usize, usize),
        threads: u32,
        shared: usize,
        args: &[Arg],
    ) -> Result<()> {
        if blocks == 0 || slices == 0 {
            return Ok(());
        }
        let start = Start::new(self, kernel, T::SUFFIX, (blocks, slices), shared, args)?;
        let mut values = start.values;
        let mut pointers = pointers(&mut values);
        // SAFETY: `pointers` has one valid address for each of the kernel's parameters, of the parameter's size (checked by
        // `Start`); the driver copies the values before it returns. The context is current (`Start` binds it).
        let code = unsafe {
            sys::cuLaunchKernel(
                start.handle,
                start.blocks,
                start.slices,
                1,
                threads,
                1,
                1,
                shared as u32,
                self.stream,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check(code, kernel.name)
    }

    /// As [`Context::launch_shared`], for blocks that wait for one another: all are resident together, or none is started.
    pub(super) fn launch_together<T: Scalar>(
        &self,
        kernel: Kernel,
        blocks: usize,
        threads: u32,
        shared: usize,
        args: &[Arg],
    ) -> Result<()> {
        let start = Start::new(self, kernel, T::SUFFIX, (blocks, 1), shared, args)?;
        let mut values = start.values;
        let mut pointers = pointers(&mut values);
        // SAFETY: as in `launch_shared`.
        let code = unsafe {
            sys::cuLaunchCooperativeKernel(
                start.handle,
                start.blocks,
                start.slices,
                1,
                threads,
                1,
                1,
                shared as u32,
                self.stream,
                pointers.as_mut_ptr(),
            )
        };
        self.check(code, kernel.name)
    }

    /// Lets a function be started with that much dynamic shared memory. The context is current.
    fn allow_shared(&self, function: &Function, shared: usize) -> Result<()> {
        if shared <= function.allowed.load(Ordering::Relaxed) {
            return Ok(());
        }
        if shared > self.properties.shared {
            return Err(Error::Internal {
                what: format!("a kernel is started with {shared} bytes of shared memory"),
            });
        }
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded in the current context; the size is within the device's limit, an i32.
        let code = unsafe { sys::cuFuncSetAttribute(function.handle, attribute, shared as i32) };
        self.check(code, "cuFuncSetAttribute")?;
        function.allowed.fetch_max(shared, Ordering::Relaxed);
        Ok(())
    }

    /// How many blocks of a kernel one multiprocessor holds at once. A kernel is always asked about and started with the same
    /// numbers.
    pub(super) fn resident<T: Scalar>(
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
}
