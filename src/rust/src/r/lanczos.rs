//! `gpu_eigen` and `gpu_svd` with `k`.

use extendr_api::prelude::*;

use crate::algo::dense::symmetry::is_symmetric_resident;
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::lanczos::host::{Function, HostLinear, Sparse};
use crate::algo::lanczos::operator::mirrored;
use crate::algo::lanczos::solve::{self, dense_singular, dense_symmetric, work, Matrix, Task};
use crate::algo::lanczos::wanted::{Found, Wanted, Which};
use crate::algo::tiled::file_task::{carry_out, WantedMemory};
use crate::algo::tiled::known_file::open_known;
use crate::algo::tiled::product::Stored;
use crate::algo::tiled::tasks::Product;
use crate::backend::cpu::CpuDevice;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::base::sparse::symmetric::Stored as Triangle;
use crate::r::args::{self, Out};
use crate::r::callback::Callback;
use crate::r::handle::{resident, Pin};
use crate::r::on_resident::{on_resident, watch};
use crate::r::pcg_operands::{broken, parts};
use crate::r::reply::reply;
use crate::r::resident::ResidentMatrix;
use crate::r::session::{last, set_last};
use crate::r::sparse;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, path};
use crate::r::tile_task::wanted;
use crate::tiles::kind;

/// What is wanted of a matrix of these dimensions; without `which`, singular values.
struct Asked {
    dim: (usize, usize),
    which: Option<Which>,
    wanted: Wanted,
    how: How,
}

impl Asked {
    fn parse(dim: &Robj, which: Option<Which>, limits: &Robj, how: &Robj) -> Result<Self> {
        let &[k, tol, maxit] = args::doubles(limits)? else {
            return Err(broken("limits"));
        };
        let (dim, k) = (args::dims(dim)?, k as usize);
        if k < 1 || k > dim.0.min(dim.1) {
            return Err(broken("a number of values"));
        }
        Ok(Asked {
            dim,
            which,
            wanted: Wanted::new(k, tol, maxit as usize),
            how: How::parse(how)?,
        })
    }

    fn find(&self, a: Matrix<'_>) -> Result<Found> {
        let small = &CpuDevice::new(self.how.threads);
        let task = Task {
            wanted: self.wanted,
            host: Host::new(self.how.threads),
            small,
        };
        match self.which {
            Some(which) => solve::eigen(&task, a, which, &self.how),
            None => solve::singular(&task, a, &self.how),
        }
    }

    fn find_resident(&self, x: &ResidentMatrix) -> Result<Found> {
        let (how, wanted) = (&self.how, &self.wanted);
        let small = &CpuDevice::new(how.threads);
        let _shown = watch(how, x, work(self.dim, wanted));
        on_resident!(how, x, |dev, T, a| {
            match self.which {
                None => dense_singular::<T, _, _>(dev, small, a, wanted, how),
                Some(which) if is_symmetric_resident::<T, _>(dev, a)? => {
                    dense_symmetric::<T, _, _>(dev, small, a, which, wanted, how)
                }
                Some(which) => {
                    let a = &mirrored::<T, _>(dev, a)?;
                    dense_symmetric::<T, _, _>(dev, small, a, which, wanted, how)
                }
            }
        })
    }

    fn find_in_file<T: Scalar>(&self, file: &str, memory: &WantedMemory) -> Result<Found> {
        let file = open_known::<T>(file, self.dim)?;
        let x = Stored::new(&file)?;
        let multiply = |op: Trans, y: &HostBlock, out: &mut HostBlock| {
            let odim = out.shape();
            let mut product = Product {
                x: &x,
                tile: file.layout().tile(),
                op,
                y: y.values(),
                ydim: y.shape(),
                out: out.values_mut(),
                odim,
            };
            carry_out(&self.how, memory, &mut product)
        };
        let shape = self.dim;
        self.find(Matrix::Linear(&Function {
            shape,
            multiply,
            unit: T::EPS,
        }))
    }

    /// The answer for a list that begins with the kind of a matrix.
    fn of(&self, x: &Robj) -> Result<Found> {
        let (kind_of, parts) = parts(x)?;
        let dim = self.dim;
        let function = |f: &dyn Fn(Trans, &HostBlock, &mut HostBlock) -> Result<()>| {
            let multiply = |op: Trans, x: &HostBlock, out: &mut HostBlock| f(op, x, out);
            self.find(Matrix::Linear(&Function {
                shape: dim,
                multiply,
                unit: f64::EPS,
            }))
        };
        match (kind_of.as_str(), &parts[..]) {
            ("dense", [x]) => self.find(Matrix::Dense(args::matrix(x, dim)?, dim)),
            ("resident", [x]) => {
                let _pinned = Pin::new(x);
                self.find_resident(resident(x)?)
            }
            ("sparse", [starts, rows, values, stored]) => {
                let stored = sparse::stored(stored);
                let a = sparse::columns(starts, rows, values, dim.1, stored)?;
                if stored != Triangle::All || self.which.is_some() {
                    return self.find(Matrix::Sparse(a));
                }
                let a: &dyn HostLinear = &Sparse::new(a.of_rows(dim.0))?;
                self.find(Matrix::Linear(a))
            }
            ("function", [f, continuation]) => {
                let f = Callback::new(f, continuation);
                function(&|_, x, out| f.apply(x, out))
            }
            ("functions", [f, transposed, continuation]) => {
                let both = [f, transposed].map(|f| Callback::new(f, continuation));
                function(&|op, x, out| both[usize::from(op.is_yes())].apply(x, out))
            }
            ("tiles", [file, memory]) => {
                let (file, memory) = (path(file)?, wanted(memory)?);
                by_element!(kind(file)?.element, |T| self
                    .find_in_file::<T>(file, &memory))
            }
            _ => Err(broken("a matrix")),
        }
    }
}

/// The answer to R. The first columns of the vectors fill `left` and `right`.
fn answer(asked: &Asked, x: &Robj, mut left: Out<'_>, mut right: Out<'_>) -> Result<List> {
    let found = asked.of(x)?;
    // A function that was called may have computed elsewhere.
    set_last(found.processor);
    for (to, from) in [(left.slice(), &found.left), (right.slice(), &found.right)] {
        to.copy_from_slice(&from[..to.len()]);
    }
    Ok(list!(
        values = found.values,
        residuals = found.residuals,
        limits = found.limits,
        converged = found.converged,
        restarts = found.restarts as f64,
        products = found.products as f64,
        device = last()
    ))
}

/// vectors = the first columns of eigenvectors of a symmetric matrix; answers as many eigenvalues
/// as `limits` says. Those are k, tolerance and restarts
#[extendr]
fn native_eigen_few(x: Robj, dim: Robj, which: Robj, limits: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let which = match which.as_str() {
            Some("LM") => Which::Magnitude,
            Some("LA") => Which::Largest,
            Some("SA") => Which::Smallest,
            _ => return Err(broken("a choice of eigenvalues")),
        };
        let asked = Asked::parse(&dim, Some(which), &limits, &how)?;
        let columns = out.len() / asked.dim.0;
        if columns > asked.wanted.count {
            return Err(broken("a result of the stated dimensions"));
        }
        let right = Out::new(&out, (asked.dim.0, columns))?;
        let none = Doubles::new(0).into_robj();
        answer(&asked, &x, Out::new(&none, (0, 0))?, right)
    })
}

/// u, v = the first columns of singular vectors; answers singular values as native_eigen_few()
/// answers eigenvalues
#[extendr]
fn native_svd_few(x: Robj, dim: Robj, limits: Robj, u: Robj, v: Robj, how: Robj) -> Robj {
    reply(|| {
        let asked = Asked::parse(&dim, None, &limits, &how)?;
        let (rows, k) = (asked.dim, asked.wanted.count);
        let columns = (u.len() / rows.0, v.len() / rows.1);
        if columns.0.max(columns.1) > k {
            return Err(broken("a result of the stated dimensions"));
        }
        let left = Out::new(&u, (rows.0, columns.0))?;
        let right = Out::new(&v, (rows.1, columns.1))?;
        answer(&asked, &x, left, right)
    })
}

extendr_module! {
    mod lanczos;
    fn native_eigen_few;
    fn native_svd_few;
}
