//! cuSOLVER's factorizations, in place. Nothing waits unless it says so.

use cudafactor::device::memory::Memory;
use std::ffi::c_int;

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Part, Uplo};
use cudafactor::base::scalar::Scalar;
use cudarc::driver::result::memcpy_dtoh_sync;

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

/// One routine for one shape, with all the memory it asks for.
pub struct Factorization<T: 'static> {
    handle: Handle,
    call: Call,
    name: String,
    /// The triangle, or the number of rows.
    first: c_int,
    m: c_int,
    n: c_int,
    work: Matrix<'static, T>,
    work_len: c_int,
    /// Pivots or the factors of reflectors.
    vector: Matrix<'static, T>,
    info: Info,
}

impl<T: Scalar> Factorization<T> {
    pub fn new(
        peers: &Peers,
        dev: &CudaDevice,
        routine: Routine,
        a: &Matrix<'_, T>,
    ) -> Outcome<Self> {
        let (rows, cols) = dev.shape(a);
        let (m, n) = (c_int::try_from(rows)?, c_int::try_from(cols)?);
        let name = routine.name::<T>();
        let first = match routine {
            Routine::Potrf(uplo) => uplo.code(),
            Routine::Getrf | Routine::Geqrf => m,
        };
        let handle = peers.solver_handle;
        let mut work_len = 0;
        // SAFETY: the signatures are those of cuSOLVER's header; the matrix is m x n.
        let call = unsafe {
            let query: Query = peers.solver(&format!("{name}_bufferSize"))?;
            check(
                "bufferSize",
                query(handle, first, n, a.address(), m, &mut work_len),
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
            m,
            n,
            work: dev.zeros(usize::try_from(work_len)?.max(1), 1)?,
            work_len,
            vector: dev.zeros(rows.min(cols), 1)?,
            info: Info::new(dev, 1)?,
        })
    }

    /// Factors the matrix, written through its address.
    pub fn run(&self, a: &Matrix<'_, T>) -> Outcome<()> {
        let (h, first, n, lda) = (self.handle, self.first, self.n, self.m);
        let (a, info) = (a.address(), self.info.0.address());
        let (work, vector) = (self.work.address(), self.vector.address());
        // SAFETY: an m x n matrix, the workspace asked for, min(m, n) elements of at least four
        // bytes in `vector`.
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
        self.info.all_zero(dev, &self.name)
    }

    /// The exchanges of `Getrf`'s last run, counted from 0. Waits.
    pub fn pivots(&self, dev: &CudaDevice) -> Outcome<Vec<usize>> {
        dev.synchronize()?;
        let mut pivots = vec![0i32; dev.shape(&self.vector).0];
        // SAFETY: as many integers were written to the vector, whose elements are no smaller, and
        // nobody writes now.
        unsafe { memcpy_dtoh_sync(&mut pivots, self.vector.address()) }?;
        Ok(pivots
            .into_iter()
            .map(|p| usize::try_from(p - 1))
            .collect::<Result<_, _>>()?)
    }
}

type OrgqrQuery =
    unsafe extern "C" fn(Handle, c_int, c_int, c_int, Address, c_int, Address, *mut c_int) -> c_int;
type Orgqr = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    Address,
    c_int,
    Address,
    Address,
    c_int,
    Address,
) -> c_int;

/// `orgqr`: Q of a factored square matrix, in its place.
pub struct Orthogonal<T: 'static> {
    handle: Handle,
    call: Orgqr,
    pub name: String,
    n: c_int,
    tau: Matrix<'static, T>,
    work: Matrix<'static, T>,
    work_len: c_int,
    info: Info,
}

impl<T: Scalar> Orthogonal<T> {
    /// For reflectors with these factors.
    pub fn new(
        peers: &Peers,
        dev: &CudaDevice,
        a: &Matrix<'_, T>,
        tau: &[T],
    ) -> Outcome<Orthogonal<T>> {
        let name = solver_name::<T>("orgqr");
        let n = c_int::try_from(tau.len())?;
        let tau = faer::MatRef::from_column_major_slice(tau, tau.len(), 1);
        let tau = dev.load_temporary(tau, Part::All)?;
        let handle = peers.solver_handle;
        let mut work_len = 0;
        // SAFETY: the signatures are those of cuSOLVER's header; the matrix is n x n.
        let call = unsafe {
            let query: OrgqrQuery = peers.solver(&format!("{name}_bufferSize"))?;
            let (a, tau) = (a.address(), tau.address());
            check(
                "bufferSize",
                query(handle, n, n, n, a, n, tau, &mut work_len),
            )?;
            peers.solver(&name)?
        };
        Ok(Orthogonal {
            handle,
            call,
            name,
            n,
            tau,
            work: dev.zeros(usize::try_from(work_len)?.max(1), 1)?,
            work_len,
            info: Info::new(dev, 1)?,
        })
    }

    /// Turns the factored matrix into Q, written through its address.
    pub fn run(&self, a: &Matrix<'_, T>) -> Outcome<()> {
        let (n, a, info) = (self.n, a.address(), self.info.0.address());
        let (tau, work) = (self.tau.address(), self.work.address());
        // SAFETY: an n x n matrix, n factors, the workspace asked for.
        let status =
            unsafe { (self.call)(self.handle, n, n, n, a, n, tau, work, self.work_len, info) };
        check(&self.name, status)
    }

    /// Waits; an error when the last run did not end with `info = 0`.
    pub fn succeeded(&self, dev: &CudaDevice) -> Outcome<()> {
        self.info.all_zero(dev, &self.name)
    }
}

/// The outcomes of some factorizations, two integers in each double.
struct Info(Matrix<'static, f64>);

impl Info {
    fn new(dev: &CudaDevice, count: usize) -> Outcome<Info> {
        Ok(Info(dev.zeros(count.div_ceil(2), 1)?))
    }

    fn all_zero(&self, dev: &CudaDevice, name: &str) -> Outcome<()> {
        let mut info = faer::Mat::<f64>::zeros(dev.shape(&self.0).0, 1);
        dev.read(&self.0, info.as_mut())?;
        if info.col(0).iter().all(|pair| pair.to_bits() == 0) {
            Ok(())
        } else {
            Err(format!("{name}: info is not 0").into())
        }
    }
}

type PotrfBatched =
    unsafe extern "C" fn(Handle, c_int, c_int, Address, c_int, Address, c_int) -> c_int;

/// Cholesky of matrices of order n that stand side by side.
pub struct Batch {
    handle: Handle,
    call: PotrfBatched,
    pub name: String,
    n: c_int,
    count: c_int,
    /// Addresses of the matrices, as the bits of doubles.
    addresses: Matrix<'static, f64>,
    info: Info,
}

impl Batch {
    /// For the matrices in `a`, which must outlive the batch's runs.
    pub fn new<T: Scalar>(
        peers: &Peers,
        dev: &CudaDevice,
        n: usize,
        a: &Matrix<'_, T>,
    ) -> Outcome<Batch> {
        let count = dev.shape(a).1 / n;
        let address = |k: usize| a.address() + (k * n * n * size_of::<T>()) as u64;
        let addresses = faer::Mat::from_fn(count, 1, |k, _| f64::from_bits(address(k)));
        let name = solver_name::<T>("potrfBatched");
        Ok(Batch {
            handle: peers.solver_handle,
            // SAFETY: the signature is that of cuSOLVER's header.
            call: unsafe { peers.solver(&name) }?,
            name,
            n: c_int::try_from(n)?,
            count: c_int::try_from(count)?,
            addresses: dev.load_temporary(addresses.as_ref(), Part::All)?,
            info: Info::new(dev, count)?,
        })
    }

    pub fn run(&self, uplo: Uplo) -> Outcome<()> {
        let (n, addresses, info) = (self.n, self.addresses.address(), self.info.0.address());
        // SAFETY: `count` addresses of n x n matrices, and room for as many outcomes.
        let status =
            unsafe { (self.call)(self.handle, uplo.code(), n, addresses, n, info, self.count) };
        check(&self.name, status)
    }

    /// Waits; an error when a matrix of the last run was not factored.
    pub fn succeeded(&self, dev: &CudaDevice) -> Outcome<()> {
        self.info.all_zero(dev, &self.name)
    }
}
