//! Values of a matrix of the host, on the device that is chosen for it.

use faer::MatRef;

use super::direct;
use super::eigen::symmetric;
use super::host::{HostLinear, OnHost};
use super::operator::{mirrored, Dense, SparseSymmetric};
use super::svd::largest;
use super::wanted::{Found, Wanted, Which};
use crate::algo::dense::svd::Small;
use crate::algo::dense::symmetry::is_symmetric;
use crate::algo::krylov::host_blocks::Host;
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::base::sparse::symmetric::Symmetric;
use crate::cost::plan::device::suits_sparse;
use crate::cost::work::Work;
use crate::device::dispatch::{AnyDevice, Dispatch, Routine};
use crate::device::elementwise::Elementwise;
use crate::device::memory::Memory;
use crate::device::sparse::Columns;
use crate::device::spectral::{SingularValues, SymmetricEigen};

/// A matrix in memory of the host.
#[derive(Clone, Copy)]
pub enum Matrix<'m> {
    /// All entries by columns. Of a symmetric matrix the lower triangle counts.
    Dense(&'m [f64], (usize, usize)),
    /// A symmetric one.
    Sparse(Columns<'m>),
    /// One that multiplies.
    Linear(&'m dyn HostLinear),
}

/// What a call asks for.
pub struct Task<'h, H> {
    pub wanted: Wanted,
    /// The arithmetic of matrices that multiply on the host.
    pub host: Host,
    /// What decomposes small matrices.
    pub small: &'h H,
}

/// Products with a dense matrix until values are found, roughly.
pub fn work(dim: (usize, usize), wanted: &Wanted) -> Work {
    Work::repeated(dim, 4 * wanted.room())
}

/// Eigenvalues of a symmetric matrix: see [`symmetric`].
///
/// A dense matrix goes to the device for [`work`]. A sparse one goes to a GPU if [`suits_sparse`]
/// or the user names one. What multiplies on the host stays there.
///
/// # Errors
/// Those of [`symmetric`] and of the device. A sparse matrix with parts that do not fit together is
/// [`Error::Dimension`].
pub fn eigen<H: Small>(
    task: &Task<'_, H>,
    a: Matrix<'_>,
    which: Which,
    devices: &impl Dispatch,
) -> Result<Found> {
    match a {
        Matrix::Dense(x, dim) => with_dense(task, x, dim, Some(which), devices),
        Matrix::Sparse(a) => with_sparse(task, a, which, devices),
        Matrix::Linear(a) => on_host(task, a, Some(which), devices),
    }
}

/// Singular values: see [`largest`]. As [`eigen`] otherwise. A [`Matrix::Sparse`] must be
/// symmetric.
///
/// # Errors
/// As of [`eigen`].
pub fn singular<H: Small>(
    task: &Task<'_, H>,
    a: Matrix<'_>,
    devices: &impl Dispatch,
) -> Result<Found> {
    match a {
        Matrix::Dense(x, dim) => with_dense(task, x, dim, None, devices),
        Matrix::Sparse(a) => {
            let n = a.starts.len().saturating_sub(1);
            let a = Symmetric::new(&a.copied(n)?, a.stored)?;
            on_host(task, &a, None, devices)
        }
        Matrix::Linear(a) => on_host(task, a, None, devices),
    }
}

fn with_dense<H: Small>(
    task: &Task<'_, H>,
    x: &[f64],
    dim: (usize, usize),
    which: Option<Which>,
    devices: &impl Dispatch,
) -> Result<Found> {
    let mut routine = WithDense {
        task,
        x,
        dim,
        which,
        devices,
    };
    devices.run(work(dim, &task.wanted), &mut routine)
}

/// A dense matrix; without `which`, its singular values.
struct WithDense<'s, 'h, H, P> {
    task: &'s Task<'h, H>,
    x: &'s [f64],
    dim: (usize, usize),
    which: Option<Which>,
    devices: &'s P,
}

impl<H: Small, P: Dispatch> Routine for WithDense<'_, '_, H, P> {
    type Value = Found;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Found> {
        let x = T::borrow_host(self.x)?;
        let x = MatRef::from_column_major_slice(&x, self.dim.0, self.dim.1);
        let (Task { wanted, small, .. }, devices) = (self.task, self.devices);
        let Some(which) = self.which else {
            let a = Memory::<T>::load(dev, x)?;
            return dense_singular::<T, D, _>(dev, *small, &a, wanted, devices);
        };
        if is_symmetric(x)? {
            let a = Memory::<T>::load(dev, x)?;
            return dense_symmetric::<T, D, _>(dev, *small, &a, which, wanted, devices);
        }
        let lower = Memory::<T>::load_temporary(dev, x, Part::Lower)?;
        let a = mirrored::<T, D>(dev, &lower)?;
        drop(lower);
        dense_symmetric::<T, D, _>(dev, *small, &a, which, wanted, devices)
    }
}

/// Eigenvalues of a symmetric matrix of the device, by the quicker method.
///
/// # Errors
/// Those of [`symmetric`].
pub fn dense_symmetric<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>, H: Small>(
    dev: &D,
    small: &H,
    a: &D::Mat<'_>,
    which: Which,
    wanted: &Wanted,
    devices: &impl Dispatch,
) -> Result<Found> {
    let all = || direct::eigen::<T, D>(dev, a, which, wanted);
    let few = |wanted: &Wanted| {
        symmetric::<T, D, _, _>(dev, small, &Dense::symmetric(dev, a), which, wanted)
    };
    let matrix = (dev.processor(), dev.shape(a), false);
    by_quicker(devices, matrix, wanted, &all, &few)
}

/// Singular values of a matrix of the device, by the quicker method.
///
/// # Errors
/// Those of [`largest`].
pub fn dense_singular<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    small: &H,
    a: &D::Mat<'_>,
    wanted: &Wanted,
    devices: &impl Dispatch,
) -> Result<Found> {
    let all = || direct::singular::<T, D, H>(dev, small, a, wanted);
    let few = |wanted: &Wanted| largest::<T, D, _, _>(dev, small, &Dense::new(dev, a), wanted);
    let matrix = (dev.processor(), dev.shape(a), true);
    by_quicker(devices, matrix, wanted, &all, &few)
}

/// Values of a dense matrix, with its processor, its shape, and whether they are singular values.
///
/// `all` computes all values, `few` iterates. An iteration that has not found what is wanted in
/// twice the time of all values gives way to these, unless the caller wants fewer restarts.
fn by_quicker(
    devices: &impl Dispatch,
    (processor, shape, singular): (Processor, (usize, usize), bool),
    wanted: &Wanted,
    all: &dyn Fn() -> Result<Found>,
    few: &dyn Fn(&Wanted) -> Result<Found>,
) -> Result<Found> {
    // All values take more memory.
    let all = || match all() {
        Err(e) if e.is_lack_of_memory() || matches!(e, Error::NotConverged { .. }) => Ok(None),
        found => found.map(Some),
    };
    if direct::is_quicker(devices, processor, shape, singular, wanted) {
        return all()?.map_or_else(|| few(wanted), Ok);
    }
    let maxit = direct::patience(devices, processor, shape, singular, wanted);
    if wanted.maxit <= maxit {
        return few(wanted);
    }
    let found = few(&Wanted { maxit, ..*wanted })?;
    if !found.converged.contains(&false) {
        return Ok(found);
    }
    match all()? {
        None => few(wanted),
        Some(mut whole) => {
            whole.restarts = found.restarts;
            whole.products += found.products;
            Ok(whole)
        }
    }
}

/// A sparse symmetric matrix on a GPU, or on the host.
fn with_sparse<H: Small>(
    task: &Task<'_, H>,
    a: Columns<'_>,
    which: Which,
    devices: &impl Dispatch,
) -> Result<Found> {
    let n = a.starts.len().saturating_sub(1);
    let flops = if suits_sparse(n, a.index.len()) {
        f64::MAX
    } else {
        0.0
    };
    let processor = devices.processor(Work::from(flops).of((n, n)));
    if processor != Processor::Cpu && !task.wanted.is_most(n) {
        match devices.run_on(processor, None, &mut WithSparse { task, a, which }) {
            Err(e) if devices.recovers(&e) => {}
            found => return found,
        }
    }
    let a = Symmetric::new(&a.copied(n)?, a.stored)?;
    on_host(task, &a, Some(which), devices)
}

struct WithSparse<'s, 'h, H> {
    task: &'s Task<'h, H>,
    a: Columns<'s>,
    which: Which,
}

impl<H: Small> Routine for WithSparse<'_, '_, H> {
    type Value = Found;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Found> {
        let a = dev.sparse_load(self.a)?;
        let a = SparseSymmetric::new(dev, &a);
        let (wanted, small) = (&self.task.wanted, self.task.small);
        symmetric::<f64, D, _, _>(dev, small, &a, self.which, wanted)
    }
}

fn on_host<H: Small>(
    task: &Task<'_, H>,
    inner: &dyn HostLinear,
    which: Option<Which>,
    devices: &impl Dispatch,
) -> Result<Found> {
    let host = task.host;
    let a = OnHost { host, inner };
    devices.run_on(Processor::Cpu, None, &mut Multiplying { task, a, which })
}

struct Multiplying<'s, 'h, H> {
    task: &'s Task<'h, H>,
    a: OnHost<'s>,
    which: Option<Which>,
}

impl<H: Small> Routine for Multiplying<'_, '_, H> {
    type Value = Found;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Found> {
        let (wanted, small) = (&self.task.wanted, self.task.small);
        match self.which {
            Some(which) => symmetric::<f64, D, _, _>(dev, small, &self.a, which, wanted),
            None => largest::<f64, D, _, _>(dev, small, &self.a, wanted),
        }
    }
}
