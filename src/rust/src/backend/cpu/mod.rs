//! The processor: faer's kernels, blocked and threaded for R's layout.
//!
//! Operands are borrowed from R's memory, and results are written where R will read them.

mod cholesky;
mod device;
mod elementwise;
mod few;
mod gemm;
mod lu;
mod matrix;
mod multigrid;
mod qr;
mod separate;
pub mod spectral;
mod triangular;
mod update;
pub(crate) mod vector;

pub use self::device::usage::memory;
pub use self::matrix::views::CpuMat;
pub use self::update::factor::Reflections;
pub use crate::backend::cpu::multigrid::csr::{HostAggregates, HostCsr};

/// The processor with a number of threads.
#[derive(Debug, Clone)]
pub struct CpuDevice {
    threads: usize,
    /// Whether tiles are copied to separate memory, as on a GPU.
    apart: bool,
    /// Whether others of its kind reach that memory.
    reached: bool,
}

impl CpuDevice {
    /// At most this many threads; 0 asks the environment and the machine.
    pub fn new(threads: usize) -> Self {
        CpuDevice {
            threads: crate::base::threads::resolve(threads),
            apart: false,
            reached: false,
        }
    }

    /// As [`CpuDevice::new`], with separate memory for tiles, as a GPU has: tests of drivers for
    /// several GPUs need none.
    #[cfg(feature = "testing")]
    pub fn with_separate_memory(threads: usize) -> Self {
        CpuDevice {
            apart: true,
            reached: true,
            ..CpuDevice::new(threads)
        }
    }

    /// As [`CpuDevice::with_separate_memory`], which no other device reaches.
    #[cfg(feature = "testing")]
    pub fn without_peer_access(threads: usize) -> Self {
        CpuDevice {
            reached: false,
            ..CpuDevice::with_separate_memory(threads)
        }
    }

    /// The threads in force.
    pub fn threads(&self) -> usize {
        self.threads
    }
}
