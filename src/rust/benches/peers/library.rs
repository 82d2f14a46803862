//! cuBLAS and cuSOLVER, found at run time, with handles that work in the stream of our device.

use std::ffi::{c_int, c_void};

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::base::matrix::{Diag, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use libloading::Library;

use super::Outcome;

pub type Handle = *mut c_void;
pub type Address = u64;

type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type BlasVersion = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type SolverVersion = unsafe extern "C" fn(*mut c_int) -> c_int;

pub struct Peers {
    blas: Library,
    solver: Library,
    pub blas_handle: Handle,
    pub solver_handle: Handle,
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

/// A function of a library as a plain pointer, good as long as the library is loaded.
///
/// # Safety
/// `F` must be the type of a pointer to that function.
unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Outcome<F> {
    // SAFETY: the caller's promise.
    Ok(*unsafe { library.get::<F>(name.as_bytes()) }?)
}

pub fn check(what: &str, status: c_int) -> Outcome<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(format!("{what} returned {status}").into())
    }
}

/// `D` or `S`: how the peers' names tell the element types.
pub fn letter<T: Scalar>() -> char {
    if std::mem::size_of::<T>() == 8 {
        'D'
    } else {
        'S'
    }
}

/// A routine's name in cuBLAS.
pub fn blas_name<T: Scalar>(stem: &str) -> String {
    format!("cublas{}{stem}", letter::<T>())
}

/// A routine's name in cuSOLVER.
pub fn solver_name<T: Scalar>(stem: &str) -> String {
    format!("cusolverDn{}{stem}", letter::<T>())
}

impl Peers {
    pub fn load(dev: &CudaDevice) -> Outcome<Self> {
        let blas = open("cublas", &["", ".13", ".12", ".11"])?;
        let solver = open("cusolver", &["", ".12", ".11"])?;
        let (mut blas_handle, mut solver_handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the signatures are those of the libraries' headers; the device's context is
        // current.
        unsafe {
            let create: Create = symbol(&blas, "cublasCreate_v2")?;
            check("cublasCreate", create(&mut blas_handle))?;
            let create: Create = symbol(&solver, "cusolverDnCreate")?;
            check("cusolverDnCreate", create(&mut solver_handle))?;
            let set: SetStream = symbol(&blas, "cublasSetStream_v2")?;
            check("cublasSetStream", set(blas_handle, dev.stream()))?;
            let set: SetStream = symbol(&solver, "cusolverDnSetStream")?;
            check("cusolverDnSetStream", set(solver_handle, dev.stream()))?;
        }
        Ok(Peers {
            blas,
            solver,
            blas_handle,
            solver_handle,
        })
    }

    /// A function of cuBLAS.
    ///
    /// # Safety
    /// `F` must be the type of a pointer to that function.
    pub unsafe fn blas<F: Copy>(&self, name: &str) -> Outcome<F> {
        // SAFETY: the caller's promise.
        unsafe { symbol(&self.blas, name) }
    }

    /// A function of cuSOLVER.
    ///
    /// # Safety
    /// `F` must be the type of a pointer to that function.
    pub unsafe fn solver<F: Copy>(&self, name: &str) -> Outcome<F> {
        // SAFETY: the caller's promise.
        unsafe { symbol(&self.solver, name) }
    }

    /// The versions as the libraries report them.
    pub fn versions(&self) -> Outcome<String> {
        let (mut blas, mut solver) = (0, 0);
        // SAFETY: the signatures are those of the libraries' headers; out-parameters are valid.
        unsafe {
            let version: BlasVersion = self.blas("cublasGetVersion_v2")?;
            check("cublasGetVersion", version(self.blas_handle, &mut blas))?;
            let version: SolverVersion = self.solver("cusolverGetVersion")?;
            check("cusolverGetVersion", version(&mut solver))?;
        }
        Ok(format!(
            "cuBLAS {blas} (cublasGetVersion), cuSOLVER {solver} (cusolverGetVersion)"
        ))
    }
}

/// The enumerations of both libraries.
pub trait Code {
    fn code(self) -> c_int;
}

impl Code for Uplo {
    fn code(self) -> c_int {
        c_int::from(self == Uplo::Upper)
    }
}

impl Code for Trans {
    fn code(self) -> c_int {
        c_int::from(self == Trans::Yes)
    }
}

impl Code for Side {
    fn code(self) -> c_int {
        c_int::from(self == Side::Right)
    }
}

impl Code for Diag {
    fn code(self) -> c_int {
        c_int::from(self == Diag::Unit)
    }
}
