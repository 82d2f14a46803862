//! Cholesky factors in single precision, computed in double precision.

use crate::backend::cuda::cholesky;
use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::update::UpdatedPart;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::precision::via_f64::{pays, F64Copy, LEAF};
use crate::base::error::Result;
use crate::base::scalar::Scalar;

/// Whether a Cholesky factor of this order is made in double precision as a whole, and rounded
/// once.
pub(crate) fn is_whole_cholesky<T: Scalar>(ctx: &Context, order: usize) -> bool {
    pays::<T>(ctx) && order <= cholesky::tiles::LARGEST
}

/// As [`cholesky::tiles::start`], for single precision.
pub(crate) fn start_cholesky<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    largest: usize,
) -> Result<Option<Buffer>> {
    let order = a.rows > LEAF && a.rows <= largest;
    if !pays::<T>(ctx) || !order || (a.rs != 1 && a.cs != 1) {
        return Ok(None);
    }
    let Some(copy) = F64Copy::room(ctx, a)? else {
        return Ok(None);
    };
    let wide = copy.widen(a, UpdatedPart::Lower, 0)?;
    let started = where_there_is_room(cholesky::tiles::start(ctx, wide, largest))?.flatten();
    if started.is_some() {
        copy.narrow(a, UpdatedPart::Lower, 0)?;
    }
    Ok(started)
}
