//! cuSOLVER's factorizations of a square matrix, in place. Nothing waits.

use std::ffi::c_int;

use cudafactor::backend::cuda::{CudaDevice, Matrix};
use cudafactor::device::Device;
use cudafactor::matrix::Uplo;
use cudafactor::scalar::Scalar;

use super::library::{check, solver_name, Address, Code, Handle, Peers};
use super::Outcome;

/// Every query has this shape: two integers, the matrix, its stride, the answer.
type Query = unsafe extern "C" fn(Handle, c_int, c_int, Address, c_int, *mut c_int) -> c_int;
type Potrf =
    unsafe extern "C" fn(Handle, c_int, c_int, Address, c_int, Address, c_int, Address) -> c_int;
type Getrf =
    unsafe extern "C" fn(Handle, c_int, c_int, Address, c_int, Address, Address, Address) -> c_int;
type Geqrf = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    Address,
    c_int,
    Address,
    Address,
    c_int,
    Address,
) -> c_int;

#[derive(Clone, Copy)]
pub enum Routine {
    Potrf(Uplo),
    Getrf,
    Geqrf,
}

impl Routine {
    pub fn name<T: Scalar>(self) -> String {
        solver_name::<T>(match self {
            Routine::Potrf(_) => "potrf",
            Routine::Getrf => "getrf",
            Routine::Geqrf => "geqrf",
        })
    }
}

enum Call {
    Potrf(Potrf),
    Getrf(Getrf),
    Geqrf(Geqrf),
}

/// One routine for one order, with all the memory it asks for.
pub struct Factorization<T: 'static> {
    handle: Handle,
    call: Call,
    name: String,
    /// The triangle, or the number of rows.
    first: c_int,
    n: c_int,
    work: Matrix<'static, T>,
    work_len: c_int,
    /// Pivots or the factors of reflectors.
    vector: Matrix<'static, T>,
    /// One integer, in the lower half of a double.
    info: Matrix<'static, f64>,
}

impl<T: Scalar> Factorization<T> {
    pub fn new(
        peers: &Peers,
        dev: &CudaDevice,
        routine: Routine,
        n: usize,
        a: &Matrix<'_, T>,
    ) -> Outcome<Self> {
        let rows = c_int::try_from(n)?;
        let name = routine.name::<T>();
        let first = match routine {
            Routine::Potrf(uplo) => uplo.code(),
            Routine::Getrf | Routine::Geqrf => rows,
        };
        let handle = peers.solver_handle;
        let mut work_len = 0;
        // SAFETY: the signatures are those of cuSOLVER's header; the matrix is n x n.
        let call = unsafe {
            let query: Query = peers.solver(&format!("{name}_bufferSize"))?;
            check(
                "bufferSize",
                query(handle, first, rows, a.address(), rows, &mut work_len),
            )?;
            match routine {
                Routine::Potrf(_) => Call::Potrf(peers.solver(&name)?),
                Routine::Getrf => Call::Getrf(peers.solver(&name)?),
                Routine::Geqrf => Call::Geqrf(peers.solver(&name)?),
            }
        };
        Ok(Factorization {
            handle,
            call,
            name,
            first,
            n: rows,
            work: dev.zeros(usize::try_from(work_len)?.max(1), 1)?,
            work_len,
            vector: dev.zeros(n, 1)?,
            info: dev.zeros(1, 1)?,
        })
    }

    /// Factors the matrix, written through its address.
    pub fn run(&self, a: &Matrix<'_, T>) -> Outcome<()> {
        let (h, first, n, lda) = (self.handle, self.first, self.n, self.n);
        let (a, info) = (a.address(), self.info.address());
        let (work, vector) = (self.work.address(), self.vector.address());
        // SAFETY: an n x n matrix, the workspace asked for, n elements of at least four bytes in `vector`.
        let status = unsafe {
            match self.call {
                Call::Potrf(f) => f(h, first, n, a, lda, work, self.work_len, info),
                Call::Getrf(f) => f(h, first, n, a, lda, work, vector, info),
                Call::Geqrf(f) => f(h, first, n, a, lda, vector, work, self.work_len, info),
            }
        };
        check(&self.name, status)
    }

    /// Waits; an error when the last run did not end with `info = 0`.
    pub fn succeeded(&self, dev: &CudaDevice) -> Outcome<()> {
        let mut info = faer::Mat::<f64>::zeros(1, 1);
        dev.read(&self.info, info.as_mut())?;
        match info[(0, 0)].to_bits() as i32 {
            0 => Ok(()),
            info => Err(format!("{}: info = {info}", self.name).into()),
        }
    }
}
