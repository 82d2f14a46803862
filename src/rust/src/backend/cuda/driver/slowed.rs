//! Double precision as slow as on a graphics card, for benchmarks on a GPU where it is fast. It is
//! not in the library that users install.
//!
//! `CUDAFACTOR_SLOWED=4` lets a kernel in double precision take at least as long as its operations
//! take on its multiprocessors with 4 operations a cycle on each: a 64th of what an H200 does on
//! its tensor cores, and what graphics cards do. After the kernel, a thread waits in the same
//! stream. Kernels that only move numbers, and those of products from integers, are as fast as
//! ever. So are kernels of double precision that no graphics card takes: `CUDAFACTOR_BELIEVE` must
//! name one.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::sys;

use super::context::{check, Context};
use super::kernels::{Arg, Kernel};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::flops::{lu_flops, qr_flops, ProductSize};

/// `slowed_mark(at)` stores the time; `slowed_wait(at, nanoseconds, stop)` waits until so much has
/// passed since, unless the flag `stop` has cancelled what was launched.
const PTX: &std::ffi::CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry slowed_mark(.param .u64 at) {
  .reg .u64 %d<2>;
  ld.param.u64 %d0, [at];
  mov.u64 %d1, %globaltimer;
  st.global.u64 [%d0], %d1;
  ret;
}
.visible .entry slowed_wait(.param .u64 at, .param .u64 nanoseconds, .param .u64 stop) {
  .reg .u64 %d<5>;
  .reg .u32 %r0;
  .reg .pred %p<3>;
  ld.param.u64 %d0, [at];
  ld.param.u64 %d1, [nanoseconds];
  ld.param.u64 %d4, [stop];
  setp.eq.u64 %p1, %d4, 0;
  @%p1 bra GO;
  ld.global.u32 %r0, [%d4];
  setp.ne.u32 %p2, %r0, 0;
  @%p2 ret;
GO:
  ld.global.u64 %d2, [%d0];
  add.u64 %d2, %d2, %d1;
AGAIN:
  mov.u64 %d3, %globaltimer;
  setp.lt.u64 %p0, %d3, %d2;
  @%p0 bra AGAIN;
  ret;
}
";

/// From one launch to the next, any GPU takes so many seconds. What would be slowed to less is left
/// alone.
const SHORTEST: f64 = 3e-6;

/// Operations in double precision in a cycle of a multiprocessor, at most; none if nothing is
/// slowed.
fn per_cycle() -> Option<f64> {
    static PER_CYCLE: OnceLock<Option<f64>> = OnceLock::new();
    *PER_CYCLE.get_or_init(|| {
        let text = std::env::var("CUDAFACTOR_SLOWED").ok()?;
        let number = text.parse().ok().filter(|n| *n > 0.0);
        assert!(number.is_some(), "CUDAFACTOR_SLOWED is \"{text}\"");
        number
    })
}

/// The operations of a launch in double precision; none if its time is not theirs.
fn operations(kernel: Kernel, args: &[Arg]) -> Option<f64> {
    let size = |i: usize| args.get(i).map_or(0.0, |arg| arg.bits as u32 as f64);
    let whole = |i: usize| size(i) as usize;
    let name = kernel.name;
    Some(match name {
        "matrix_multiply_tiled" => {
            let size = ProductSize {
                m: whole(0),
                n: whole(1),
                k: whole(2),
                triangle: whole(15) != 0,
            };
            size.operations()
        }
        "triangle_solve_block" => size(0).powi(2) * size(1),
        "cholesky_factor_block" | "panel_factor_gram" | "reflectors_triangle_block" => {
            size(0).powi(3) / 3.0
        }
        "panel_reconstruct_block" => 2.0 * size(0).powi(3),
        "panel_eliminate_column" => 2.0 * size(0) * size(1),
        "panel_reflect_column" => 4.0 * size(0) * size(1),
        "panel_divide_rows" | "panel_divide_tall" | "panel_finish_rows" | "panel_finish_tall" => {
            size(0) * size(1).powi(2)
        }
        _ if name.starts_with("columns_eliminate_pipeline") => lu_flops((whole(0), whole(1))),
        _ if name.starts_with("columns_reflect_pipeline") => qr_flops((whole(0), whole(1))),
        _ => return None,
    })
}

/// The address of the flag that cancels a launch, or 0.
fn stop(kernel: Kernel, args: &[Arg]) -> u64 {
    match kernel.name {
        "matrix_multiply_tiled" | "triangle_solve_block" | "cholesky_factor_block" => {
            args.last().map_or(0, |arg| arg.bits)
        }
        _ => 0,
    }
}

/// The functions of a context, and a word of memory for each of its streams.
struct Clock {
    mark: usize,
    wait: usize,
    words: HashMap<usize, u64>,
}

/// A launch that is to be slowed.
pub(super) struct Slowed {
    wait: usize,
    word: u64,
    nanoseconds: u64,
    stop: u64,
}

impl Context {
    /// Notes the time before a launch that is to be slowed. The context must be current.
    pub(super) fn before<T: Scalar>(
        &self,
        kernel: Kernel,
        blocks: usize,
        args: &[Arg],
    ) -> Result<Option<Slowed>> {
        let double = size_of::<T>() == size_of::<f64>();
        let Some(per_cycle) = per_cycle().filter(|_| double && kernel.typed) else {
            return Ok(None);
        };
        let Some(operations) = operations(kernel, args) else {
            return Ok(None);
        };
        let units = blocks.min(self.properties.multiprocessors) as f64;
        let seconds = operations / (per_cycle * units * self.properties.clock);
        if seconds < SHORTEST {
            return Ok(None);
        }
        static CLOCKS: Mutex<Vec<(usize, Clock)>> = Mutex::new(Vec::new());
        let mut clocks = CLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::ptr::from_ref(self) as usize;
        let at = match clocks.iter().position(|(context, _)| *context == own) {
            Some(at) => at,
            None => {
                clocks.push((own, Clock::new()?));
                clocks.len() - 1
            }
        };
        let clock = &mut clocks[at].1;
        let stream = self.stream_now();
        let word = match clock.words.get(&(stream as usize)) {
            Some(word) => *word,
            None => {
                let mut word = 0;
                // SAFETY: the context is current; the out-parameter is valid. Never freed.
                check(unsafe { sys::cuMemAlloc_v2(&mut word, 8) }, "cuMemAlloc")?;
                clock.words.insert(stream as usize, word);
                word
            }
        };
        one_thread(clock.mark, stream, &mut [word])?;
        Ok(Some(Slowed {
            wait: clock.wait,
            word,
            nanoseconds: (1e9 * seconds) as u64,
            stop: stop(kernel, args),
        }))
    }

    /// Lets the stream wait as long as the launch since [`Context::before`] was too fast.
    pub(super) fn after(&self, slowed: Option<Slowed>) -> Result<()> {
        let Some(slowed) = slowed else {
            return Ok(());
        };
        let mut values = [slowed.word, slowed.nanoseconds, slowed.stop];
        one_thread(slowed.wait, self.stream_now(), &mut values)
    }
}

impl Clock {
    /// Loads the functions into the current context.
    fn new() -> Result<Clock> {
        let mut module = std::ptr::null_mut();
        // SAFETY: a context is current; the image is PTX that ends in a zero byte.
        let code = unsafe { sys::cuModuleLoadData(&mut module, PTX.as_ptr().cast()) };
        check(code, "cuModuleLoadData")?;
        let function = |name: &std::ffi::CStr| {
            let mut function = std::ptr::null_mut();
            // SAFETY: the module was loaded; the name ends in a zero byte.
            let code = unsafe { sys::cuModuleGetFunction(&mut function, module, name.as_ptr()) };
            check(code, "cuModuleGetFunction").map(|()| function as usize)
        };
        Ok(Clock {
            mark: function(c"slowed_mark")?,
            wait: function(c"slowed_wait")?,
            words: HashMap::new(),
        })
    }
}

/// Launches a function of 64-bit parameters with one thread.
fn one_thread(function: usize, stream: sys::CUstream, values: &mut [u64]) -> Result<()> {
    let address = |v: &mut u64| std::ptr::from_mut(v).cast::<c_void>();
    let mut pointers: Vec<*mut c_void> = values.iter_mut().map(address).collect();
    let none = std::ptr::null_mut();
    // SAFETY: function and stream belong to the current context; each parameter has an address.
    let code = unsafe {
        let function = function as sys::CUfunction;
        let params = pointers.as_mut_ptr();
        sys::cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, none)
    };
    check(code, "a launch that slows another")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver::kernels::{args, scalar, Family};

    #[test]
    fn operations_follow_from_arguments() {
        let count = |family, name, args: &[Arg]| operations(Kernel::new(family, name), args);
        let product = args![
            20usize,
            10usize,
            30usize,
            30usize,
            scalar(1.0f64),
            0u64,
            1i64,
            1i64,
            0u64,
            1i64,
            1i64,
            scalar(0.0f64),
            0u64,
            1i64,
            1i64,
            1i32,
            0u64
        ];
        let flops = count(Family::Gemm, "matrix_multiply_tiled", &product);
        // A triangle of order 10 and ten rows below it.
        assert_eq!(flops, Some(9000.0));
        let solve = args![8i32, 100usize];
        let flops = count(Family::Triangular, "triangle_solve_block", &solve);
        assert_eq!(flops, Some(6400.0));
        assert_eq!(count(Family::Lu, "rows_exchange_list", &solve), None);
        let kernel = Kernel::new(Family::Gemm, "matrix_multiply_tiled");
        assert_eq!(stop(kernel, &args![3usize, 77u64]), 77);
    }
}
