//! What a GPU tells of itself.

/// One look at the way from this process to a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeStep {
    pub step: String,
    pub ok: bool,
    pub detail: String,
    /// What to do about it; empty when `ok`.
    pub fix: String,
}

/// A GPU as its driver describes it. Memory is in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuInfo {
    pub ordinal: usize,
    pub name: String,
    pub compute_capability: String,
    pub memory_total: u64,
    pub memory_free: u64,
    pub driver: String,
    pub multiprocessors: usize,
    /// How many operations in single precision take as long as one in double precision.
    pub single_per_double: f64,
    /// The order from which double products of square matrices are computed from integers; infinite
    /// for never.
    pub integers_from: f64,
}

/// Memory of a GPU, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// What the driver has to give.
    pub free: u64,
    pub total: u64,
    /// In buffers of ours, for as long as a call or an object needs them.
    pub allocated: u64,
    /// Freed by us, and kept by the pool for our next call.
    pub pooled: u64,
    /// Host memory that copies to and from this GPU go through.
    pub staging: u64,
}
