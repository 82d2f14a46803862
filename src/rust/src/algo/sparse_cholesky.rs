//! The complete Cholesky factor of a sparse symmetric positive definite matrix, on the host: ordered by approximate minimum degree, factored by faer.
//!
//! Ordering comes first and tells how many operations the factor takes, so that a caller can do without it. Amestoy, Davis & Duff (1996), An approximate minimum degree
//! ordering algorithm, SIAM J. Matrix Anal. Appl. 17:886.

use std::cell::RefCell;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::perm::PermRef;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    factorize_symbolic_cholesky, CholeskySymbolicParams, LltRef, SymbolicCholesky,
    SymmetricOrdering,
};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

use super::lp_csc::Csc;
use super::pcg_blocks::{check_diagonal, require_order, Blocks, Preconditioner};
use super::pcg_host::{Host, HostBlock};
use super::pcg_sparse::{Sparse, Stored};
use super::sparse_levels::widest_level;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::scalar::{filled, try_zeroed};
use crate::threads::share;

/// An entry of the matrix costs an iteration with IC(0) as much time as so many of the factor's multiplications.
const ITERATION: f64 = 20.0;

/// What iterations with IC(0) are expected to cost, in the factor's multiplications.
fn iterations_cost(rows: usize, entries: f64, columns: usize) -> f64 {
    let iterations = (0.5 * (rows as f64).sqrt()).max(10.0);
    iterations * ITERATION * entries * columns.max(1) as f64
}

/// Grids in the plane and in space take about this many times the cube of their widest level for a factor, in an order of minimum degree.
const CUBES: f64 = 10.0;

/// By how much that has to be too dear before the order, which may be dear itself, is not asked.
const CLEARLY: f64 = 4.0;

/// Whether a factor may pay, as far as the graph's levels tell: [`Ordered::pays`] knows it, but takes longer, for graphs without structure several times as long as all of the iterations.
///
/// # Errors
/// As of [`widest_level`].
pub fn may_pay(a: &Sparse, columns: usize) -> Result<bool> {
    let width = widest_level(a)? as f64;
    let cost = iterations_cost(a.rows(), a.entries() as f64, columns);
    Ok(CUBES * width.powi(3) <= CLEARLY * cost)
}

/// A matrix and the order in which it is to be factored.
pub struct Ordered<'a> {
    a: &'a Csc,
    side: Side,
    forward: Vec<usize>,
    inverse: Vec<usize>,
    multiplications: f64,
    /// Entries of both triangles, whatever is stored.
    entries: f64,
}

/// The factor.
pub struct SparseCholesky {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
    /// For one right-hand side, kept from one to the next.
    memory: RefCell<MemBuffer>,
}

fn room(needed: StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(needed).map_err(|_| Error::HostMemory {
        needed: needed.unaligned_bytes_required() as u64,
    })
}

fn by_faer(e: FaerError) -> Error {
    match e {
        FaerError::OutOfMemory => Error::HostMemory { needed: 0 },
        FaerError::IndexOverflow => Error::Dimension {
            what: "a sparse matrix is too large to be factored".into(),
        },
        other => Error::Internal {
            what: format!("the analysis of a sparse matrix failed: {other:?}"),
        },
    }
}

fn diagonal(a: &Csc) -> Result<Vec<f64>> {
    let mut out = try_zeroed(a.columns())?;
    for (j, d) in out.iter_mut().enumerate() {
        let (rows, values) = a.column(j);
        *d = rows.binary_search(&j).map_or(0.0, |p| values[p]);
    }
    Ok(out)
}

impl<'a> Ordered<'a> {
    /// Of a symmetric matrix, of which one triangle is read.
    ///
    /// Errors: as of [`IncompleteCholesky::new`](super::incomplete_cholesky::IncompleteCholesky::new).
    pub fn new(a: &'a Csc, stored: Stored) -> Result<Self> {
        let n = a.columns();
        if a.rows != n {
            return Err(Error::Dimension {
                what: "a sparse matrix is not square".into(),
            });
        }
        if !a.values.iter().all(|v| v.is_finite()) {
            return Err(Error::NonFiniteIn { argument: "A" });
        }
        check_diagonal(&diagonal(a)?)?;
        let (mut forward, mut inverse) = (filled(n, 0)?, filled(n, 0)?);
        let needed = amd::order_maybe_unsorted_scratch::<usize>(n, a.index.len());
        let mut memory = room(needed)?;
        let flops = amd::order_maybe_unsorted(
            &mut forward,
            &mut inverse,
            SymbolicSparseColMatRef::new_checked(n, n, &a.starts, None, &a.index),
            amd::Control::default(),
            MemStack::new(&mut memory),
        )
        .map_err(by_faer)?;
        let side = match stored {
            Stored::Lower => Side::Lower,
            Stored::Upper | Stored::All => Side::Upper,
        };
        let beside = |j: usize| {
            let rows = a.column(j).0;
            match side {
                Side::Lower => rows.len() - rows.partition_point(|i| *i <= j),
                Side::Upper => rows.partition_point(|i| *i < j),
            }
        };
        Ok(Ordered {
            a,
            side,
            entries: (0..n).map(|j| 1.0 + 2.0 * beside(j) as f64).sum(),
            forward,
            inverse,
            multiplications: flops.n_mult_subs_ldl,
        })
    }

    /// About how many multiplications the factor takes; of those, pairs with a subtraction each.
    pub fn multiplications(&self) -> f64 {
        self.multiplications
    }

    /// Whether the factor is likely to take less time than conjugate gradients with IC(0), for so many right-hand sides. How many iterations there will be depends on numbers, too;
    /// on a grid they grow as its sides, and what is counted on is what Poisson's equation in the plane takes to half of the digits. In space, where there are fewer, factors
    /// cost so much more that it makes no difference.
    pub fn pays(&self, columns: usize) -> bool {
        self.multiplications <= iterations_cost(self.a.rows, self.entries, columns)
    }

    /// Errors: [`Error::IndefinitePivot`] of a matrix that is not positive definite.
    pub fn factor(&self, host: &Host) -> Result<SparseCholesky> {
        interrupt::poll()?;
        let (n, a) = (self.a.rows, self.a);
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &a.starts, None, &a.index);
        let order = PermRef::new_checked(&self.forward, &self.inverse, n);
        let symbolic = factorize_symbolic_cholesky(
            pattern,
            self.side,
            SymmetricOrdering::Custom(order),
            CholeskySymbolicParams::default(),
        )
        .map_err(by_faer)?;
        let mut values = try_zeroed(symbolic.len_val())?;
        let par = par(host.threads, self.multiplications);
        let needed = symbolic.factorize_numeric_llt_scratch::<f64>(par, Default::default());
        let mut memory = room(needed)?;
        symbolic
            .factorize_numeric_llt(
                &mut values,
                SparseColMatRef::new(pattern, &a.values),
                self.side,
                Default::default(),
                par,
                MemStack::new(&mut memory),
                Default::default(),
            )
            .map_err(|_| Error::IndefinitePivot)?;
        let one = room(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq))?;
        Ok(SparseCholesky {
            symbolic,
            values,
            memory: RefCell::new(one),
        })
    }
}

fn par(threads: usize, multiplications: f64) -> Par {
    match share(threads, multiplications) {
        0 | 1 => Par::Seq,
        threads => Par::rayon(threads),
    }
}

impl SparseCholesky {
    /// Numbers of the factor that are kept, some of which may be zero.
    pub fn entries(&self) -> usize {
        self.values.len()
    }
}

impl Preconditioner<Host> for SparseCholesky {
    fn solve(&self, host: &Host, r: &HostBlock, out: &mut HostBlock) -> Result<()> {
        let (n, k) = r.shape();
        require_order(self.symbolic.nrows(), n)?;
        host.assign(r, out)?;
        let factor = LltRef::new(&self.symbolic, &self.values);
        let mut one = self.memory.try_borrow_mut().map_err(|e| Error::Internal {
            what: e.to_string(),
        })?;
        // One by one: each is then what it would be alone.
        for j in 0..k {
            interrupt::poll()?;
            let x = MatMut::from_column_major_slice_mut(out.column_mut(j), n, 1);
            factor.solve_in_place_with_conj(Conj::No, x, Par::Seq, MemStack::new(&mut one));
        }
        Ok(())
    }
}
