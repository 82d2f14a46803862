//! NVIDIA GPUs, by kernels of our own (`kernels/`).
//!
//! - `driver`: a GPU's context, streams, memory and kernels; `matrix`: matrices in its memory;
//!   `transfer`: their way to and from it
//! - `gemm`, `triangular`, `precision`, `panel`: what factorizations consist of; `cholesky`, `lu`,
//!   `qr`: these
//! - `spectral`: eigenvalues and eigenvectors of symmetric matrices
//! - `elementwise`, `multigrid`: arithmetic by entries, and the steps of multigrid
//! - `streamed`: factors and products from host to host, computed while blocks travel
//! - `device`: the contracts; start there

mod cholesky;
mod device;
pub mod driver;
mod elementwise;
mod gemm;
mod lu;
pub(super) mod matrix;
mod multigrid;
mod panel;
mod precision;
mod qr;
mod spectral;
mod streamed;
mod transfer;
mod triangular;

pub use self::cholesky::update::Reflections;
use self::driver::context::Context;
pub use self::elementwise::covariance::DevicePoints;
pub use self::matrix::views::Matrix;
use self::matrix::views::{set_identity, View};
pub use self::multigrid::sparse_aggregates::DeviceAggregates;
pub use crate::backend::cuda::multigrid::csr::DeviceCsr;
use crate::base::error::Result;
pub use crate::device::report::Usage;

/// One GPU, opened at first use for the life of the process.
#[derive(Clone, Copy)]
pub struct CudaDevice {
    ctx: &'static Context,
}

impl CudaDevice {
    pub fn open(ordinal: usize) -> Result<CudaDevice> {
        Ok(CudaDevice {
            ctx: Context::open(ordinal)?,
        })
    }

    /// Its number, counted from 0.
    pub fn ordinal(&self) -> usize {
        self.ctx.ordinal
    }

    /// Starts a kernel that writes outside of memory, after which the GPU fails for this process:
    /// for tests of a failed GPU.
    pub fn fault(&self) -> Result<()> {
        set_identity(self.ctx, View::<f64>::new(256, 64, 64, 64))
    }

    /// Waits until the GPU has done all work.
    #[cfg(feature = "testing")]
    pub fn synchronize(&self) -> Result<()> {
        self.ctx.wait()
    }
}

/// Bytes that this process has sent to GPUs, and fetched.
pub fn bytes_moved() -> (u64, u64) {
    driver::traffic::bytes_moved()
}
