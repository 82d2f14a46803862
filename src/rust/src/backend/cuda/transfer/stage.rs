//! A lock on the pinned memory of a GPU: one transfer holds it at a time.

use crate::backend::cuda::driver::staging::Staging;
use std::sync::MutexGuard;

/// Staging memory that is there, for one user.
pub(super) type Stage = MutexGuard<'static, Option<Staging>>;
