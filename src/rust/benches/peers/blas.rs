//! cuBLAS on square matrices of order `n`, in its default math mode: no TF32, no emulation. Nothing
//! waits.

use std::ffi::c_int;

use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Diag, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;

use super::library::{blas_name, check, Address, Code, Handle, Peers};
use super::Outcome;

type Gemm<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    Address,
    c_int,
    Address,
    c_int,
    *const T,
    Address,
    c_int,
) -> c_int;
type Syrk<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    Address,
    c_int,
    *const T,
    Address,
    c_int,
) -> c_int;
type Trsm<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    Address,
    c_int,
    Address,
    c_int,
) -> c_int;

type Gemv<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    *const T,
    Address,
    c_int,
    Address,
    c_int,
    *const T,
    Address,
    c_int,
) -> c_int;
type Trsv = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    Address,
    c_int,
    Address,
    c_int,
) -> c_int;

/// The routines of one element type and one order. Results are written through the address of the
/// last argument.
pub struct Blas<T> {
    handle: Handle,
    n: c_int,
    gemm: Gemm<T>,
    syrk: Syrk<T>,
    trsm: Trsm<T>,
    gemv: Gemv<T>,
    trsv: Trsv,
    one: T,
    zero: T,
}

impl<T: Scalar> Blas<T> {
    pub fn new(peers: &Peers, n: usize) -> Outcome<Self> {
        let name = |stem: &str| format!("{}_v2", blas_name::<T>(stem));
        // SAFETY: the signatures are those of cuBLAS's header.
        unsafe {
            Ok(Blas {
                handle: peers.blas_handle,
                n: c_int::try_from(n)?,
                gemm: peers.blas(&name("gemm"))?,
                syrk: peers.blas(&name("syrk"))?,
                trsm: peers.blas(&name("trsm"))?,
                gemv: peers.blas(&name("gemv"))?,
                trsv: peers.blas(&name("trsv"))?,
                one: T::from_f64(1.0),
                zero: T::from_f64(0.0),
            })
        }
    }

    /// `C <- op(A) op(B)`
    pub fn gemm(
        &self,
        ta: Trans,
        a: &Matrix<'_, T>,
        tb: Trans,
        b: &Matrix<'_, T>,
        c: &Matrix<'_, T>,
    ) -> Outcome<()> {
        let n = self.n;
        // SAFETY: n x n matrices; alpha and beta are host scalars, cuBLAS's default.
        let status = unsafe {
            (self.gemm)(
                self.handle,
                ta.code(),
                tb.code(),
                n,
                n,
                n,
                &self.one,
                a.address(),
                n,
                b.address(),
                n,
                &self.zero,
                c.address(),
                n,
            )
        };
        check("cublas gemm", status)
    }

    /// The lower triangle of `C <- A' A`
    pub fn syrk(&self, a: &Matrix<'_, T>, c: &Matrix<'_, T>) -> Outcome<()> {
        let n = self.n;
        // SAFETY: n x n matrices; alpha and beta are host scalars.
        let status = unsafe {
            (self.syrk)(
                self.handle,
                Uplo::Lower.code(),
                Trans::Yes.code(),
                n,
                n,
                &self.one,
                a.address(),
                n,
                &self.zero,
                c.address(),
                n,
            )
        };
        check("cublas syrk", status)
    }

    /// `B <- op(A)^-1 B`
    pub fn trsm(
        &self,
        uplo: Uplo,
        trans: Trans,
        a: &Matrix<'_, T>,
        b: &Matrix<'_, T>,
    ) -> Outcome<()> {
        self.trsm_columns(uplo, trans, a, b, self.n.try_into()?)
    }

    /// The same for so many columns of B.
    pub fn trsm_columns(
        &self,
        uplo: Uplo,
        trans: Trans,
        a: &Matrix<'_, T>,
        b: &Matrix<'_, T>,
        columns: usize,
    ) -> Outcome<()> {
        let n = self.n;
        // SAFETY: n x n matrices; alpha is a host scalar.
        let status = unsafe {
            (self.trsm)(
                self.handle,
                Side::Left.code(),
                uplo.code(),
                trans.code(),
                Diag::NonUnit.code(),
                n,
                c_int::try_from(columns)?,
                &self.one,
                a.address(),
                n,
                b.address(),
                n,
            )
        };
        check("cublas trsm", status)
    }

    /// `y <- op(A) x`
    pub fn gemv(
        &self,
        trans: Trans,
        a: &Matrix<'_, T>,
        x: &Matrix<'_, T>,
        y: &Matrix<'_, T>,
    ) -> Outcome<()> {
        let n = self.n;
        // SAFETY: an n x n matrix and vectors of n entries; alpha and beta are host scalars.
        let status = unsafe {
            (self.gemv)(
                self.handle,
                trans.code(),
                n,
                n,
                &self.one,
                a.address(),
                n,
                x.address(),
                1,
                &self.zero,
                y.address(),
                1,
            )
        };
        check("cublas gemv", status)
    }

    /// `x <- op(A)^-1 x` for the upper triangle of A and each of the first columns of a matrix.
    pub fn trsv(
        &self,
        trans: Trans,
        a: &Matrix<'_, T>,
        x: &Matrix<'_, T>,
        columns: usize,
    ) -> Outcome<()> {
        let n = self.n;
        for column in 0..columns {
            let at = x.address() + (column * n as usize * size_of::<T>()) as Address;
            // SAFETY: an n x n matrix and a vector of n entries.
            let status = unsafe {
                (self.trsv)(
                    self.handle,
                    Uplo::Upper.code(),
                    trans.code(),
                    Diag::NonUnit.code(),
                    n,
                    a.address(),
                    n,
                    at,
                    1,
                )
            };
            check("cublas trsv", status)?;
        }
        Ok(())
    }
}
