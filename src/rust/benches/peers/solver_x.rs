//! cuSOLVER's eigenvalues and singular values through its 64-bit interface, in double precision.
//! Nothing waits unless it says so.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::device::memory::Memory;

use super::library::{check, Address, Handle, Peers};
use super::Outcome;

/// `CUDA_R_64F`.
pub(super) const DOUBLE: c_int = 1;

pub(super) type CreateParams = unsafe extern "C" fn(*mut Handle) -> c_int;
type SyevdQuery = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    c_int,
    *mut usize,
    *mut usize,
) -> c_int;
type Syevd = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    c_int,
    Address,
    usize,
    *mut c_void,
    usize,
    Address,
) -> c_int;
type GesvdpQuery = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    i64,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    i64,
    c_int,
    *mut usize,
    *mut usize,
) -> c_int;
type Gesvdp = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    i64,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    i64,
    c_int,
    Address,
    usize,
    *mut c_void,
    usize,
    Address,
    *mut f64,
) -> c_int;

/// What is computed: of a symmetric matrix, or all of a singular value decomposition.
#[derive(Clone, Copy, PartialEq)]
pub enum Verb {
    Values,
    Vectors,
    Singular,
}

impl Verb {
    pub fn name(self) -> &'static str {
        match self {
            Verb::Values => "cusolverDnXsyevd, values",
            Verb::Vectors => "cusolverDnXsyevd",
            Verb::Singular => "cusolverDnXgesvdp",
        }
    }
}

enum Call {
    Syevd(Syevd, c_int),
    Gesvdp(Gesvdp, Box<[Matrix<'static, f64>; 2]>),
}

/// One decomposition of matrices of one order, with all the memory it asks for.
pub struct Decomposition {
    handle: Handle,
    params: Handle,
    call: Call,
    verb: Verb,
    n: i64,
    values: Matrix<'static, f64>,
    work: Matrix<'static, f64>,
    bytes: usize,
    host: RefCell<Vec<u8>>,
    info: Matrix<'static, f64>,
}

impl Decomposition {
    pub fn new(peers: &Peers, dev: &CudaDevice, verb: Verb, a: &Matrix<'_, f64>) -> Outcome<Self> {
        let order = dev.shape(a).0;
        let n = i64::try_from(order)?;
        let handle = peers.solver_handle;
        let values = dev.zeros(order, 1)?;
        let (mut params, mut bytes, mut host) = (std::ptr::null_mut(), 0, 0);
        let (a, w) = (a.address(), values.address());
        // SAFETY: the signatures are those of cuSOLVER's header; the matrices are n x n.
        let call = unsafe {
            let create: CreateParams = peers.solver("cusolverDnCreateParams")?;
            check("cusolverDnCreateParams", create(&mut params))?;
            if verb == Verb::Singular {
                let vectors = Box::new([dev.zeros(order, order)?, dev.zeros(order, order)?]);
                let [u, v] = vectors.each_ref().map(|m| m.address());
                let query: GesvdpQuery = peers.solver("cusolverDnXgesvdp_bufferSize")?;
                let status = query(
                    handle, params, 1, 1, n, n, DOUBLE, a, n, DOUBLE, w, DOUBLE, u, n, DOUBLE, v,
                    n, DOUBLE, &mut bytes, &mut host,
                );
                check("bufferSize", status)?;
                Call::Gesvdp(peers.solver("cusolverDnXgesvdp")?, vectors)
            } else {
                let job = c_int::from(verb == Verb::Vectors);
                let query: SyevdQuery = peers.solver("cusolverDnXsyevd_bufferSize")?;
                let status = query(
                    handle, params, job, 0, n, DOUBLE, a, n, DOUBLE, w, DOUBLE, &mut bytes,
                    &mut host,
                );
                check("bufferSize", status)?;
                Call::Syevd(peers.solver("cusolverDnXsyevd")?, job)
            }
        };
        Ok(Decomposition {
            handle,
            params,
            call,
            verb,
            n,
            values,
            work: dev.zeros(bytes.div_ceil(8).max(1), 1)?,
            bytes,
            host: RefCell::new(vec![0; host]),
            info: dev.zeros(1, 1)?,
        })
    }

    /// Decomposes the matrix, which is overwritten through its address.
    pub fn run(&self, a: &Matrix<'_, f64>) -> Outcome<()> {
        let (h, p, n, a) = (self.handle, self.params, self.n, a.address());
        let (w, work, info) = (
            self.values.address(),
            self.work.address(),
            self.info.address(),
        );
        let mut host = self.host.borrow_mut();
        let (host_work, host_bytes) = (host.as_mut_ptr().cast(), host.len());
        // SAFETY: n x n matrices, n values, the workspaces asked for.
        let status = unsafe {
            match &self.call {
                Call::Syevd(f, job) => f(
                    h, p, *job, 0, n, DOUBLE, a, n, DOUBLE, w, DOUBLE, work, self.bytes, host_work,
                    host_bytes, info,
                ),
                Call::Gesvdp(f, vectors) => {
                    let [u, v] = vectors.each_ref().map(|m| m.address());
                    let mut error = 0.0;
                    f(
                        h, p, 1, 1, n, n, DOUBLE, a, n, DOUBLE, w, DOUBLE, u, n, DOUBLE, v, n,
                        DOUBLE, work, self.bytes, host_work, host_bytes, info, &mut error,
                    )
                }
            }
        };
        check(self.verb.name(), status)
    }

    /// The values of the last run. Waits; an error when it did not end with `info = 0`.
    pub fn values(&self, dev: &CudaDevice) -> Outcome<Vec<f64>> {
        let mut info = faer::Mat::<f64>::zeros(1, 1);
        dev.read(&self.info, info.as_mut())?;
        if info[(0, 0)].to_bits() as u32 != 0 {
            return Err(format!("{}: info is not 0", self.verb.name()).into());
        }
        let n = dev.shape(&self.values).0;
        let mut values = faer::Mat::<f64>::zeros(n, 1);
        dev.read(&self.values, values.as_mut())?;
        Ok(values.col(0).iter().copied().collect())
    }
}
