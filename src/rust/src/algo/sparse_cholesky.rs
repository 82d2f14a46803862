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
use super::pcg_sparse::Stored;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::packing;
use crate::scalar::{filled, try_zeroed};
use crate::threads::share;

/// A matrix and the order in which it is to be factored.
pub struct Ordered<'a> {
    a: &'a Csc,
    side: Side,
    forward: Vec<usize>,
    inverse: Vec<usize>,
    multiplications: f64,
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

    /// Entries of both triangles, whatever is stored.
    pub fn entries(&self) -> f64 {
        self.entries
    }

    /// Errors: [`Error::IndefinitePivot`] of a matrix that is not positive definite.
    pub fn factor(&self, host: &Host) -> Result<SparseCholesky> {
        interrupt::poll()?;
        packing::ready()?;
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
        packing::ready()?;
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
