//! Functions of R that a computation calls, with a matrix, for a matrix with as many columns.

use std::ffi::c_void;

use extendr_api::prelude::*;

use crate::algo::krylov::host_blocks::HostBlock;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::cost::plan::call as plan;

extern "C" {
    /// In `callback.c`. 1, or -1 where R jumped out of the function, 0 of a matrix that R cannot
    /// hold; jumps nowhere.
    fn cudafactor_apply(
        function: *mut c_void,
        continuation: *mut c_void,
        x: *const f64,
        out: *mut f64,
        rows: usize,
        columns: usize,
        results: usize,
    ) -> i32;
}

/// A function of R's, and what a jump out of it is kept in, which the caller of the native routine
/// keeps alive. Results have been checked by the R code around the user's function.
pub struct Callback {
    function: Robj,
    continuation: Robj,
}

impl Callback {
    pub fn new(function: &Robj, continuation: &Robj) -> Self {
        Callback {
            function: function.clone(),
            continuation: continuation.clone(),
        }
    }

    /// `out = f(x)`. After [`Error::Jumped`] nothing is left to do but to return to R.
    pub fn apply(&self, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        let (rows, columns) = x.shape();
        let results = out.shape().0;
        // The function may call this package, which then has the threads: no other work is under
        // way.
        let threads = threads::want(0);
        let plan = plan::take();
        // SAFETY: the blocks have so many rows and columns; R's objects are alive; called on R's
        // thread, which runs the native routine.
        let done = unsafe {
            cudafactor_apply(
                self.function.get().cast(),
                self.continuation.get().cast(),
                x.values().as_ptr(),
                out.values_mut().as_mut_ptr(),
                rows,
                columns,
                results,
            )
        };
        plan::put_back(plan);
        threads::want(threads);
        match done {
            1 => Ok(()),
            -1 => Err(Error::Jumped),
            _ => Err(Error::Dimension {
                what: "a matrix has more rows than R can hold".into(),
            }),
        }
    }
}
