//! From the name of a machine to the machine.

/// Evaluates `$body`, a `Result`, with `$dev` a reference to the device of a
/// [`Processor`](crate::base::processor::Processor); on the CPU with `$threads` threads.
///
/// The function around it returns a `Result`: a GPU that cannot be opened ends it.
macro_rules! on_processor {
    ($processor:expr, $threads:expr, |$dev:ident| $body:expr) => {
        match $processor {
            $crate::base::processor::Processor::Cpu => {
                let $dev = &$crate::backend::cpu::CpuDevice::new($threads);
                $body
            }
            $crate::base::processor::Processor::Cuda(ordinal) => {
                let $dev = &$crate::backend::cuda::CudaDevice::open(ordinal)?;
                $body
            }
        }
    };
}
pub(crate) use on_processor;

/// As [`on_processor`], with `$t` the element type: `f32` where `$single`, else `f64`.
macro_rules! on_typed_processor {
    ($processor:expr, $single:expr, $threads:expr, |$dev:ident, $t:ident| $body:expr) => {
        match $single {
            false => {
                #[allow(dead_code)]
                type $t = f64;
                $crate::backend::dispatch::on_processor!($processor, $threads, |$dev| $body)
            }
            true => {
                #[allow(dead_code)]
                type $t = f32;
                $crate::backend::dispatch::on_processor!($processor, $threads, |$dev| $body)
            }
        }
    };
}
pub(crate) use on_typed_processor;
