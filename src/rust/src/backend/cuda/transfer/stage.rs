//! A lock on the pinned memory of a GPU: one transfer holds it at a time.

use crate::backend::cuda::driver::staging::Staging;
use std::sync::MutexGuard;

/// Exclusive access to staging memory that exists.
pub(super) type Stage = MutexGuard<'static, Option<Staging>>;
