//! The dense verbs of plain double matrices, which `plain.c` calls.
//!
//! C has checked the operands and made the result. So no argument needs extendr's protection, which
//! takes longer than a small product.

use std::ffi::c_int;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use extendr_api::SEXP;

use crate::algo::dense::lu::permutation;
use crate::base::matrix::Trans;
use crate::cost::work::Verb;
use crate::r::matmult::Factor;
use crate::r::reply::{positions, reply_to_c};
use crate::r::target::How;
use crate::r::{cholesky, lu, matmult, qr};

/// `SETTINGS` of `settings.h`.
const SETTINGS: usize = 9 + Verb::NAMED.len();

/// R's memory of a matrix by columns, as `plain.c` has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PlainMatrix {
    values: *const f64,
    rows: c_int,
    columns: c_int,
}

impl PlainMatrix {
    fn dim(self) -> (usize, usize) {
        (self.rows as usize, self.columns as usize)
    }

    fn len(self) -> usize {
        self.dim().0 * self.dim().1
    }

    /// # Safety
    /// `values` points to `rows * columns` numbers, which live and stay unchanged during `'a`.
    unsafe fn slice<'a>(self) -> &'a [f64] {
        match self.len() {
            // R's address of no numbers is none.
            0 => &[],
            len => from_raw_parts(self.values, len),
        }
    }

    /// # Safety
    /// As of [`PlainMatrix::slice`].
    unsafe fn factor<'a>(self, transposed: c_int) -> Factor<'a> {
        let trans = match transposed {
            0 => Trans::No,
            _ => Trans::Yes,
        };
        (trans, self.slice(), self.dim())
    }
}

/// # Safety
/// `out` points to `len` numbers that nobody else uses during `'a`.
unsafe fn place<'a, T>(out: *mut T, len: usize) -> &'a mut [T] {
    match len {
        0 => &mut [],
        _ => from_raw_parts_mut(out, len),
    }
}

/// # Safety
/// `how` points to as many settings as `settings.h` says.
unsafe fn settings<'a>(how: *const f64) -> &'a [f64] {
    from_raw_parts(how, SETTINGS)
}

/// # Safety
/// The operands and `out` are matrices of R that conform; `how` is as `read_settings()` fills it.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_plain_product(
    how: *const f64,
    tx: c_int,
    x: PlainMatrix,
    ty: c_int,
    y: PlainMatrix,
    out: *mut f64,
) -> SEXP {
    let (how, x, y) = (settings(how), x.factor(tx), y.factor(ty));
    let (rows, columns) = (x.0.shape(x.2).0, y.0.shape(y.2).1);
    let out = place(out, rows * columns);
    reply_to_c(|| matmult::product(&How::read(how)?, x, y, out))
}

/// # Safety
/// As of [`cudafactor_plain_product`].
#[no_mangle]
pub unsafe extern "C" fn cudafactor_plain_crossprod(
    how: *const f64,
    transposed: c_int,
    x: PlainMatrix,
    out: *mut f64,
) -> SEXP {
    let (how, x) = (settings(how), x.factor(transposed));
    let (order, _) = x.0.shape(x.2);
    let out = place(out, order * order);
    reply_to_c(|| matmult::crossproduct(&How::read(how)?, x, out))
}

/// # Safety
/// `x` and `out` are square matrices of R of one order; `how` as of [`cudafactor_plain_product`].
#[no_mangle]
pub unsafe extern "C" fn cudafactor_plain_chol(
    how: *const f64,
    x: PlainMatrix,
    out: *mut f64,
) -> SEXP {
    let (how, values, out) = (settings(how), x.slice(), place(out, x.len()));
    reply_to_c(|| cholesky::factor(&How::read(how)?, values, x.dim().0, out))
}

/// # Safety
/// `a` is a square matrix of R, `b` one with as many rows, or has no values for the inverse. `out`
/// has room for the solution; `how` as of [`cudafactor_plain_product`].
#[no_mangle]
pub unsafe extern "C" fn cudafactor_plain_solve(
    how: *const f64,
    a: PlainMatrix,
    b: PlainMatrix,
    tol: f64,
    out: *mut f64,
) -> SEXP {
    let (how, n) = (settings(how), a.dim().0);
    let given = (!b.values.is_null()).then(|| b.slice());
    let columns = given.map_or(n, |_| b.dim().1);
    let (a, out) = (a.slice(), place(out, n * columns));
    reply_to_c(|| lu::solve_system(&How::read(how)?, a, given, (n, columns), tol, out))
}

/// # Safety
/// `x` and `out` are matrices of R of the same dimensions, `ipiv` has room for the smaller of them,
/// `perm` for the rows; `how` as of [`cudafactor_plain_product`].
#[no_mangle]
pub unsafe extern "C" fn cudafactor_plain_lu(
    how: *const f64,
    x: PlainMatrix,
    out: *mut f64,
    ipiv: *mut i32,
    perm: *mut i32,
    norm1: &mut f64,
    zero: &mut i32,
) -> SEXP {
    let (how, values, out) = (settings(how), x.slice(), place(out, x.len()));
    let (rows, columns) = x.dim();
    let (ipiv, perm) = (place(ipiv, rows.min(columns)), place(perm, rows));
    reply_to_c(|| {
        let (info, norm) = lu::factor(&How::read(how)?, values, x.dim(), out)?;
        ipiv.copy_from_slice(&positions(&info.ipiv));
        perm.copy_from_slice(&positions(&permutation(&info.ipiv, rows)));
        (*norm1, *zero) = (norm, lu::first_zero(&info));
        Ok(())
    })
}

/// # Safety
/// `x` and `out` are matrices of R of the same dimensions, `qraux` and `pivot` have room for as
/// many numbers as these have columns; `how` as of [`cudafactor_plain_product`].
#[no_mangle]
pub unsafe extern "C" fn cudafactor_plain_qr(
    how: *const f64,
    x: PlainMatrix,
    tol: f64,
    out: *mut f64,
    rank: &mut i32,
    qraux: *mut f64,
    pivot: *mut i32,
) -> SEXP {
    let (how, values, out) = (settings(how), x.slice(), place(out, x.len()));
    let (qraux, pivot) = (place(qraux, x.dim().1), place(pivot, x.dim().1));
    reply_to_c(|| {
        let done = qr::factor(&How::read(how)?, values, x.dim(), tol, out)?;
        *rank = done.rank as i32;
        qraux.copy_from_slice(&done.qraux);
        pivot.copy_from_slice(&positions(&done.jpvt));
        Ok(())
    })
}
