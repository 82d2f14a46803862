//! Many small symmetric eigenproblems beside cuSOLVER's `XsyevBatched`, in double precision.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::Part;
use cudafactor::device::memory::Memory;
use cudafactor::device::spectral::EigenBatch;

use super::cases::{agreed, contenders, cube, Bench};
use super::data::random;
use super::library::{check, Address, Handle, Peers};
use super::report::Row;
use super::solver_x::{CreateParams, DOUBLE};
use super::timing::{in_turn, once};
use super::Outcome;

const NAME: &str = "cusolverDnXsyevBatched";

type Query = unsafe extern "C" fn(
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
    i64,
) -> c_int;
type Syev = unsafe extern "C" fn(
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
    i64,
) -> c_int;

/// The peer's routine for matrices of one order, with all the memory it asks for.
struct Batch {
    handle: Handle,
    params: Handle,
    call: Syev,
    vectors: c_int,
    n: i64,
    count: i64,
    values: Matrix<'static, f64>,
    work: Matrix<'static, f64>,
    bytes: usize,
    host: RefCell<Vec<u8>>,
    info: Matrix<'static, f64>,
}

impl Batch {
    fn new(
        peers: &Peers,
        dev: &CudaDevice,
        (n, count): (usize, usize),
        vectors: bool,
        a: &Matrix<'_, f64>,
    ) -> Outcome<Self> {
        let (order, many) = (i64::try_from(n)?, i64::try_from(count)?);
        let handle = peers.solver_handle;
        let values = dev.zeros(n, count)?;
        let (mut params, mut bytes, mut host) = (std::ptr::null_mut(), 0, 0);
        let job = c_int::from(vectors);
        // SAFETY: the signatures are those of cuSOLVER's header; there are `count` matrices.
        let call = unsafe {
            let create: CreateParams = peers.solver("cusolverDnCreateParams")?;
            check("cusolverDnCreateParams", create(&mut params))?;
            let query: Query = peers.solver("cusolverDnXsyevBatched_bufferSize")?;
            let (a, w) = (a.address(), values.address());
            let status = query(
                handle, params, job, 0, order, DOUBLE, a, order, DOUBLE, w, DOUBLE, &mut bytes,
                &mut host, many,
            );
            check("bufferSize", status)?;
            peers.solver(NAME)?
        };
        Ok(Batch {
            handle,
            params,
            call,
            vectors: job,
            n: order,
            count: many,
            values,
            work: dev.zeros(bytes.div_ceil(8).max(1), 1)?,
            bytes,
            host: RefCell::new(vec![0; host]),
            info: dev.zeros(count, 1)?,
        })
    }

    /// Decomposes the matrices, which are overwritten through their address.
    fn run(&self, a: &Matrix<'_, f64>) -> Outcome<()> {
        let mut host = self.host.borrow_mut();
        // SAFETY: matrices, values and workspaces are those of the query.
        let status = unsafe {
            (self.call)(
                self.handle,
                self.params,
                self.vectors,
                0,
                self.n,
                DOUBLE,
                a.address(),
                self.n,
                DOUBLE,
                self.values.address(),
                DOUBLE,
                self.work.address(),
                self.bytes,
                host.as_mut_ptr().cast(),
                host.len(),
                self.info.address(),
                self.count,
            )
        };
        check(NAME, status)
    }
}

/// The largest difference of our values, which descend, from the peer's, which ascend, over the
/// largest value.
fn apart(w: &[f64], peer: &faer::Mat<f64>) -> f64 {
    let n = peer.nrows();
    let at = |k: usize| peer[(n - 1 - k % n, k / n)];
    let size = w.iter().fold(0.0_f64, |size, x| size.max(x.abs()));
    let each = w.iter().enumerate().map(|(k, x)| (x - at(k)).abs());
    each.fold(0.0, f64::max) / size
}

/// `count` random symmetric matrices, with vectors or without.
pub fn eigen_batched(bench: &Bench<'_>, count: usize, n: usize, vectors: bool) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    // Both sides read lower triangles alone.
    let a = random::<f64>(dev, (n, n * count), 6)?;
    let mut peer_a = dev.duplicate(&a, Part::All)?;
    let theirs = Batch::new(peers, dev, (n, count), vectors, &peer_a)?;
    let mut w = vec![0.0; n * count];
    let mut z = dev.zeros(n, if vectors { n * count } else { 0 })?;
    let mut solve = || -> Outcome<()> {
        let z = vectors.then_some(&mut z);
        match dev.syev_batched(&a, &mut w, z, &|_| Ok(()))?.len() {
            0 => Ok(()),
            failed => Err(format!("{failed} matrices are not solved").into()),
        }
    };
    solve()?;
    theirs.run(&peer_a)?;
    let mut ours = || once(dev, 1, &mut solve);
    let mut peer = || {
        dev.copy(&a, &mut peer_a)?;
        once(dev, 1, || theirs.run(&peer_a))
    };
    let times = in_turn(&mut [&mut ours, &mut peer], bench.repeats)?;
    let (ours_times, peer_times, _) = contenders(times)?;
    let mut values = faer::Mat::<f64>::zeros(n, count);
    dev.read(&theirs.values, values.as_mut())?;
    let difference = agreed::<f64>(n, 8.0, apart(&w, &values))?;
    let (what, operations) = if vectors {
        ("vectors", 14.0)
    } else {
        ("values", 4.0)
    };
    let flops = count as f64 * operations / 3.0 * cube(n);
    Ok(Row {
        ours: format!("{count} times eigen, {what}"),
        peer: format!("{NAME}, {what}"),
        m: n,
        n,
        ours_times,
        peer_times,
        ours_flops: flops,
        peer_flops: flops,
        share: None,
        also: None,
        difference,
    })
}
