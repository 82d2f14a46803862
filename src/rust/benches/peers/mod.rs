//! cuBLAS and cuSOLVER, found at run time, and plain device buffers for them.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use cudarc::driver::{result, sys};
use faer::Mat;
use libloading::{Library, Symbol};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
type Handle = *mut c_void;

/// Device memory of the context that is current.
pub struct Buffer {
    ptr: sys::CUdeviceptr,
    len: usize,
}

impl Buffer {
    pub fn zeros(len: usize) -> Outcome<Self> {
        // SAFETY: a context is current (the device under test was opened first); freed in drop.
        let ptr = unsafe { result::malloc_sync(len.max(1) * 8)? };
        let zero = vec![0.0f64; len];
        // SAFETY: both sides hold `len` doubles.
        unsafe { result::memcpy_htod_sync(ptr, &zero)? };
        Ok(Buffer { ptr, len })
    }

    pub fn of(a: &Mat<f64>) -> Outcome<Self> {
        let host: Vec<f64> = (0..a.ncols())
            .flat_map(|j| a.col(j).iter().copied())
            .collect();
        let b = Buffer::zeros(host.len())?;
        // SAFETY: both sides hold as many doubles.
        unsafe { result::memcpy_htod_sync(b.ptr, &host)? };
        Ok(b)
    }

    pub fn copy_from(&self, other: &Buffer) -> Outcome<()> {
        // SAFETY: both hold `len` doubles.
        unsafe { result::memcpy_dtod_sync(self.ptr, other.ptr, self.len * 8)? };
        wait()
    }

    pub fn read(&self, len: usize) -> Outcome<Vec<f64>> {
        let mut v = vec![0.0; len];
        // SAFETY: the buffer holds at least `len` doubles.
        unsafe { result::memcpy_dtoh_sync(&mut v, self.ptr)? };
        Ok(v)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by malloc_sync, freed once.
        let _ = unsafe { result::free_sync(self.ptr) };
    }
}

fn wait() -> Outcome<()> {
    result::ctx::synchronize()?;
    Ok(())
}

fn open(stem: &str, versions: &[&str]) -> Outcome<Library> {
    let mut last = String::new();
    for v in versions {
        // SAFETY: NVIDIA's libraries have no load-time side effects that matter here.
        match unsafe { Library::new(format!("lib{stem}.so{v}")) } {
            Ok(l) => return Ok(l),
            Err(e) => last = e.to_string(),
        }
    }
    Err(format!("no lib{stem}: {last}").into())
}

fn check(what: &str, status: c_int) -> Outcome<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(format!("{what} returned {status}").into())
    }
}

pub struct Peers {
    blas: Library,
    solver: Library,
    blas_handle: Handle,
    solver_handle: Handle,
    /// Workspace, pivots or tau, and info: kept, so that allocating them is in no timed region but the warm-up's.
    work: RefCell<Buffer>,
    vector: RefCell<Buffer>,
    info: Buffer,
}

/// `b` with room for `len` doubles.
fn grown(b: &RefCell<Buffer>, len: usize) -> Outcome<std::cell::Ref<'_, Buffer>> {
    if b.borrow().len < len {
        *b.borrow_mut() = Buffer::zeros(len)?;
    }
    Ok(b.borrow())
}

type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Dgemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f64,
    sys::CUdeviceptr,
    c_int,
    sys::CUdeviceptr,
    c_int,
    *const f64,
    sys::CUdeviceptr,
    c_int,
) -> c_int;
type PotrfSize =
    unsafe extern "C" fn(Handle, c_int, c_int, sys::CUdeviceptr, c_int, *mut c_int) -> c_int;
type Potrf = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    sys::CUdeviceptr,
    c_int,
    sys::CUdeviceptr,
    c_int,
    sys::CUdeviceptr,
) -> c_int;
type GeSize = PotrfSize;
type Getrf = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    sys::CUdeviceptr,
    c_int,
    sys::CUdeviceptr,
    sys::CUdeviceptr,
    sys::CUdeviceptr,
) -> c_int;
type Geqrf = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    sys::CUdeviceptr,
    c_int,
    sys::CUdeviceptr,
    sys::CUdeviceptr,
    c_int,
    sys::CUdeviceptr,
) -> c_int;

impl Peers {
    pub fn load() -> Outcome<Self> {
        let blas = open("cublas", &["", ".13", ".12", ".11"])?;
        let solver = open("cusolver", &["", ".12", ".11"])?;
        let (mut blas_handle, mut solver_handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the signatures are those of the libraries' headers.
        unsafe {
            let create: Symbol<Create> = blas.get(b"cublasCreate_v2")?;
            check("cublasCreate", create(&mut blas_handle))?;
            let create: Symbol<Create> = solver.get(b"cusolverDnCreate")?;
            check("cusolverDnCreate", create(&mut solver_handle))?;
        }
        Ok(Peers {
            blas,
            solver,
            blas_handle,
            solver_handle,
            work: RefCell::new(Buffer::zeros(1)?),
            vector: RefCell::new(Buffer::zeros(1)?),
            info: Buffer::zeros(1)?,
        })
    }

    pub fn dgemm(&self, n: usize, a: &Buffer, b: &Buffer, c: &Buffer) -> Outcome<()> {
        let n = n as c_int;
        // SAFETY: n x n buffers; alpha and beta are host scalars, cuBLAS's default.
        unsafe {
            let f: Symbol<Dgemm> = self.blas.get(b"cublasDgemm_v2")?;
            let status = f(
                self.blas_handle,
                0,
                0,
                n,
                n,
                n,
                &1.0,
                a.ptr,
                n,
                b.ptr,
                n,
                &0.0,
                c.ptr,
                n,
            );
            check("cublasDgemm", status)?;
        }
        wait()
    }

    /// Workspace in doubles, as the routine's own query says.
    fn workspace(&self, query: &[u8], first: c_int, n: c_int, a: &Buffer) -> Outcome<c_int> {
        let mut size = 0;
        // SAFETY: every query used here has this shape: two integers, the matrix, its stride, the answer.
        unsafe {
            let f: Symbol<GeSize> = self.solver.get(query)?;
            check(
                "bufferSize",
                f(self.solver_handle, first, n, a.ptr, n, &mut size),
            )?;
        }
        Ok(size)
    }

    pub fn dpotrf_lower(&self, n: usize, a: &Buffer) -> Outcome<()> {
        let n = n as c_int;
        let size = self.workspace(b"cusolverDnDpotrf_bufferSize", 0, n, a)?;
        let work = grown(&self.work, size as usize)?;
        // SAFETY: lower fill (0); sizes as queried.
        unsafe {
            let f: Symbol<Potrf> = self.solver.get(b"cusolverDnDpotrf")?;
            check(
                "cusolverDnDpotrf",
                f(
                    self.solver_handle,
                    0,
                    n,
                    a.ptr,
                    n,
                    work.ptr,
                    size,
                    self.info.ptr,
                ),
            )?;
        }
        wait()
    }

    pub fn dgetrf(&self, n: usize, a: &Buffer) -> Outcome<()> {
        let rows = n as c_int;
        let size = self.workspace(b"cusolverDnDgetrf_bufferSize", rows, rows, a)?;
        let (work, ipiv) = (grown(&self.work, size as usize)?, grown(&self.vector, n)?);
        // SAFETY: n x n; ipiv holds n integers.
        unsafe {
            let f: Symbol<Getrf> = self.solver.get(b"cusolverDnDgetrf")?;
            let h = self.solver_handle;
            check(
                "cusolverDnDgetrf",
                f(
                    h,
                    rows,
                    rows,
                    a.ptr,
                    rows,
                    work.ptr,
                    ipiv.ptr,
                    self.info.ptr,
                ),
            )?;
        }
        wait()
    }

    pub fn dgeqrf(&self, n: usize, a: &Buffer) -> Outcome<()> {
        let rows = n as c_int;
        let size = self.workspace(b"cusolverDnDgeqrf_bufferSize", rows, rows, a)?;
        let (work, tau) = (grown(&self.work, size as usize)?, grown(&self.vector, n)?);
        // SAFETY: n x n; tau holds n doubles.
        unsafe {
            let f: Symbol<Geqrf> = self.solver.get(b"cusolverDnDgeqrf")?;
            let h = self.solver_handle;
            check(
                "cusolverDnDgeqrf",
                f(
                    h,
                    rows,
                    rows,
                    a.ptr,
                    rows,
                    tau.ptr,
                    work.ptr,
                    size,
                    self.info.ptr,
                ),
            )?;
        }
        wait()
    }
}
