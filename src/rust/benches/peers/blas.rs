//! cuBLAS on square matrices of order `n`, in its default math mode: no TF32, no emulation. Nothing waits.

use std::ffi::c_int;

use cudafactor::backend::cuda::Matrix;
use cudafactor::matrix::{Diag, Side, Trans, Uplo};
use cudafactor::scalar::Scalar;

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

/// The routines of one element type and one order. Results are written through the address of the last argument.
pub struct Blas<T> {
    handle: Handle,
    n: c_int,
    gemm: Gemm<T>,
    syrk: Syrk<T>,
    trsm: Trsm<T>,
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
                n,
                &self.one,
                a.address(),
                n,
                b.address(),
                n,
            )
        };
        check("cublas trsm", status)
    }
}
