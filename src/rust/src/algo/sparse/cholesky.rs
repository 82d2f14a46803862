//! The complete Cholesky factor of a sparse symmetric positive definite matrix, on the host:
//! ordered by approximate minimum degree and analysed by faer, factored by
//! [`fronts`](super::fronts).
//!
//! Ordering comes first and tells how many operations the factor takes, so that a caller can do
//! without it. Amestoy, Davis & Duff (1996), An approximate minimum degree ordering algorithm, SIAM
//! J. Matrix Anal. Appl. 17:886.

use std::cell::RefCell;
use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::perm::PermRef;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    factorize_symbolic_cholesky, CholeskySymbolicParams, LltRef, SymbolicCholesky,
    SymbolicCholeskyRaw, SymmetricOrdering,
};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

use super::fronts::{Fronts, Lower};
use crate::algo::krylov::blocks::{check_diagonal, require_order, Blocks, Preconditioner};
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::base::error::{Error, Result};
use crate::base::interrupt::{self, aside, attended, Stop};
use crate::base::packing;
use crate::base::scalar::{filled, room, try_zeroed};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Stored;
use crate::base::threads::{share, BRIEF};

/// Where a matrix has entries, for threads that may outlive the call.
struct Pattern {
    starts: Vec<usize>,
    index: Vec<usize>,
}

impl Pattern {
    fn of(a: &Csc) -> Result<Self> {
        let copied = |x: &[usize]| {
            let mut out = room(x.len())?;
            out.extend_from_slice(x);
            Ok(out)
        };
        Ok(Pattern {
            starts: copied(&a.starts)?,
            index: copied(&a.index)?,
        })
    }

    fn view(&self) -> SymbolicSparseColMatRef<'_, usize> {
        let n = self.starts.len() - 1;
        SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.index)
    }
}

/// New places of rows, and the rows in these places.
struct Order {
    forward: Vec<usize>,
    inverse: Vec<usize>,
    multiplications: f64,
}

impl Order {
    /// By approximate minimum degree.
    fn new(a: &Pattern) -> Result<Self> {
        let n = a.starts.len() - 1;
        let (mut forward, mut inverse) = (filled(n, 0)?, filled(n, 0)?);
        let needed = amd::order_maybe_unsorted_scratch::<usize>(n, a.index.len());
        let mut memory = workspace(needed)?;
        let flops = amd::order_maybe_unsorted(
            &mut forward,
            &mut inverse,
            a.view(),
            amd::Control::default(),
            MemStack::new(&mut memory),
        )
        .map_err(by_faer)?;
        Ok(Order {
            forward,
            inverse,
            multiplications: flops.n_mult_subs_ldl,
        })
    }

    /// What the factor's structure is. Fronts can be interrupted, and pay for factors of some size.
    fn analysed(&self, a: &Pattern, side: Side) -> Result<SymbolicCholesky<usize>> {
        let n = a.starts.len() - 1;
        let mut params = CholeskySymbolicParams::default();
        if self.multiplications > SHORT {
            params.supernodal_flop_ratio_threshold = SupernodalThreshold::FORCE_SUPERNODAL;
        }
        let order = PermRef::new_checked(&self.forward, &self.inverse, n);
        let order = SymmetricOrdering::Custom(order);
        factorize_symbolic_cholesky(a.view(), side, order, params).map_err(by_faer)
    }
}

/// Multiplications of a sparse factor that are over in a moment.
const SHORT: f64 = 1e8;

/// Entries of a matrix whose analysis is over in a moment.
const FEW: usize = 50_000;

/// Runs an analysis of a matrix with so many entries.
fn analyse<R: Send + 'static>(
    entries: usize,
    f: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    match entries > FEW {
        true => aside(f)?,
        false => f(),
    }
}

/// A matrix and the order in which it is to be factored.
pub struct Ordered<'a> {
    a: &'a Csc,
    pattern: Arc<Pattern>,
    order: Arc<Order>,
    side: Side,
    entries: f64,
}

/// The factor.
pub struct SparseCholesky {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
    /// For one right-hand side, kept from one to the next.
    memory: RefCell<MemBuffer>,
}

fn workspace(needed: StackReq) -> Result<MemBuffer> {
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
    /// Errors: as of
    /// [`IncompleteCholesky::new`](super::incomplete_cholesky::IncompleteCholesky::new).
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
        let pattern = Arc::new(Pattern::of(a)?);
        let of = pattern.clone();
        let order = analyse(a.index.len(), move || Order::new(&of))?;
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
            pattern,
            order: Arc::new(order),
        })
    }

    /// About how many multiplications the factor takes; of those, pairs with a subtraction each.
    pub fn multiplications(&self) -> f64 {
        self.order.multiplications
    }

    /// Entries of both triangles, whatever is stored.
    pub fn entries(&self) -> f64 {
        self.entries
    }

    /// Errors: [`Error::IndefinitePivot`] of a matrix that is not positive definite.
    pub fn factor(&self, host: &Host) -> Result<SparseCholesky> {
        packing::ready()?;
        let (pattern, order, side) = (self.pattern.clone(), self.order.clone(), self.side);
        let symbolic = analyse(self.a.index.len(), move || order.analysed(&pattern, side))?;
        let mut values = try_zeroed(symbolic.len_val())?;
        match symbolic.raw() {
            SymbolicCholeskyRaw::Supernodal(structure) => {
                let a = self.lower()?;
                let fronts = Fronts::new(structure, &a)?;
                let work = fronts.total();
                let threads = share(host.threads, work);
                if threads > 1 && work > BRIEF {
                    attended(|stop| fronts.factor(&mut values, threads, stop))?;
                } else {
                    fronts.factor(&mut values, threads, Stop::HERE)?;
                }
            }
            SymbolicCholeskyRaw::Simplicial(_) => self.by_columns(&symbolic, &mut values)?,
        }
        let one = workspace(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq))?;
        Ok(SparseCholesky {
            symbolic,
            values,
            memory: RefCell::new(one),
        })
    }

    /// The numbers of a factor that is over in a moment.
    fn by_columns(&self, symbolic: &SymbolicCholesky<usize>, values: &mut [f64]) -> Result<()> {
        interrupt::poll()?;
        let needed = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let mut memory = workspace(needed)?;
        symbolic
            .factorize_numeric_llt(
                values,
                SparseColMatRef::new(self.pattern.view(), &self.a.values),
                self.side,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            )
            .map(drop)
            .map_err(|_| Error::IndefinitePivot)
    }

    /// The matrix in the order of elimination.
    fn lower(&self) -> Result<Lower> {
        let (n, place) = (self.a.rows, &self.order.inverse);
        let each = |f: &mut dyn FnMut(usize, usize, f64)| {
            for j in 0..n {
                let (rows, values) = self.a.column(j);
                for (i, v) in rows.iter().zip(values) {
                    let read = match self.side {
                        Side::Lower => *i >= j,
                        Side::Upper => *i <= j,
                    };
                    if read {
                        let (x, y) = (place[*i], place[j]);
                        f(x.max(y), x.min(y), *v);
                    }
                }
            }
        };
        let mut starts: Vec<usize> = filled(n + 1, 0)?;
        each(&mut |_, column, _| starts[column + 1] += 1);
        (0..n).for_each(|j| starts[j + 1] += starts[j]);
        let mut next: Vec<usize> = room(n + 1)?;
        next.extend_from_slice(&starts);
        let len = starts[n];
        let (mut rows, mut values) = (filled(len, 0)?, try_zeroed(len)?);
        each(&mut |row, column, v| {
            let at = next[column];
            next[column] += 1;
            rows[at] = row;
            values[at] = v;
        });
        Ok(Lower {
            starts,
            rows,
            values,
        })
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
