//! LU with partial pivoting.
//!
//! It imports `panel`, `gemm`, `triangular`, `matrix` and `driver`. Start with [`factor`], the
//! order of work; `pipeline` and `cluster` are two ways to factor a panel.

pub(super) mod cluster;
pub(super) mod exchange;
pub(super) mod factor;
pub(super) mod pipeline;
pub(super) mod work;
