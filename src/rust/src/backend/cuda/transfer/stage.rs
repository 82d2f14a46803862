//! The pinned memory of a GPU, held by one transfer at a time.

use crate::backend::cuda::driver::staging::Staging;
use std::sync::MutexGuard;

/// Staging memory that is there, for one user.
pub(super) type Stage = MutexGuard<'static, Option<Staging>>;
