//! `A_B W A_B' + gamma A_F A_F'` of sparse matrices: one triangle of it, and its Cholesky factor by
//! faer.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    factorize_symbolic_cholesky, CholeskySymbolicParams, LltRef, SymbolicCholesky,
    SymbolicCholeskyRaw, SymmetricOrdering,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

use super::equations::typical;
use crate::base::error::{Error, Result};
use crate::base::packing;
use crate::base::scalar::filled;
use crate::base::sparse::csc::Csc;

/// What takes the place of a pivot that is left out.
const HUGE: f64 = 1e128;

/// The number of its column, and its place among all entries of its matrix.
type Entry = (u32, u32);

pub struct NormalProduct {
    rows: usize,
    /// By rows; bounded columns come before free ones.
    entries_at: Vec<usize>,
    entries: Vec<Entry>,
    /// One triangle, by columns.
    starts: Vec<usize>,
    index: Vec<usize>,
    values: Vec<f64>,
    /// Whether that is the upper one, which faer wants of a matrix whose factor has few entries.
    upper: bool,
    /// What brings the diagonal to 1.
    scales: Vec<f64>,
    /// Zeros between calls.
    work: Vec<f64>,
    symbolic: SymbolicCholesky<usize>,
    factor: Vec<f64>,
    memory: std::cell::RefCell<MemBuffer>,
}

fn by_faer(what: impl std::fmt::Debug) -> Error {
    Error::Internal {
        what: format!("the analysis of a sparse matrix failed: {what:?}"),
    }
}

fn room(needed: StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(needed).map_err(|_| Error::HostMemory {
        needed: needed.unaligned_bytes_required() as u64,
    })
}

/// Of matrices with the same rows side by side: where rows begin, and their entries.
fn by_rows(bounded: &Csc, free: &Csc) -> Result<(Vec<usize>, Vec<Entry>)> {
    let rows = bounded.rows;
    let mut at = vec![0; rows + 1];
    let all = bounded.index.iter().chain(&free.index);
    all.for_each(|i| at[i + 1] += 1);
    (0..rows).for_each(|i| at[i + 1] += at[i]);
    if u32::try_from(at[rows]).is_err()
        || u32::try_from(bounded.columns() + free.columns()).is_err()
    {
        return Err(Error::Dimension {
            what: "a linear program has too many coefficients".into(),
        });
    }
    let mut next = at.clone();
    let mut entries = filled(at[rows], (0, 0))?;
    for (a, first) in [(bounded, 0), (free, bounded.columns())] {
        for j in 0..a.columns() {
            for p in a.starts[j]..a.starts[j + 1] {
                let place = &mut next[a.index[p]];
                entries[*place] = ((first + j) as u32, p as u32);
                *place += 1;
            }
        }
    }
    Ok((at, entries))
}

/// The entries of a row's column in the upper triangle, or in the lower one: rows of those columns
/// of A that the row is in, up to it or from it on.
fn pattern(
    bounded: &Csc,
    free: &Csc,
    (at, entries): (&[usize], &[Entry]),
    upper: bool,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let rows = bounded.rows;
    let (mut starts, mut index) = (vec![0], Vec::<usize>::new());
    let mut seen = vec![usize::MAX; rows];
    for k in 0..rows {
        // The diagonal entry is there in any case.
        seen[k] = k;
        let first = index.len();
        index.push(k);
        for (j, p) in &entries[at[k]..at[k + 1]] {
            let (a, j, p) = place(bounded, free, *j, *p);
            let others = if upper {
                a.starts[j]..p
            } else {
                p..a.starts[j + 1]
            };
            // One more for the diagonal entry of the next row.
            let more = others.len() + 1;
            index.try_reserve(more).map_err(|_| Error::HostMemory {
                needed: (index.len() + more) as u64 * size_of::<usize>() as u64,
            })?;
            for i in &a.index[others] {
                if seen[*i] != k {
                    seen[*i] = k;
                    index.push(*i);
                }
            }
        }
        index[first..].sort_unstable();
        starts.push(index.len());
    }
    Ok((starts, index))
}

fn place<'a>(bounded: &'a Csc, free: &'a Csc, j: u32, p: u32) -> (&'a Csc, usize, usize) {
    let (j, p, columns) = (j as usize, p as usize, bounded.columns());
    if j < columns {
        (bounded, j, p)
    } else {
        (free, j - columns, p)
    }
}

impl NormalProduct {
    /// An order of the rows in which the factor has few entries.
    pub fn order(bounded: &Csc, free: &Csc) -> Result<Vec<usize>> {
        let rows = bounded.rows;
        let (at, entries) = by_rows(bounded, free)?;
        let (starts, index) = pattern(bounded, free, (&at, &entries), true)?;
        let symbolic = SymbolicSparseColMatRef::new_checked(rows, rows, &starts, None, &index);
        let (mut order, mut inverse) = (vec![0; rows], vec![0; rows]);
        let mut memory = room(amd::order_maybe_unsorted_scratch::<usize>(
            rows,
            index.len(),
        ))?;
        let stack = MemStack::new(&mut memory);
        let control = amd::Control::default();
        amd::order(&mut order, &mut inverse, symbolic, control, stack).map_err(by_faer)?;
        Ok(order)
    }

    pub fn new(bounded: &Csc, free: &Csc) -> Result<Self> {
        let rows = bounded.rows;
        let (at, entries) = by_rows(bounded, free)?;
        let (mut starts, mut index) = pattern(bounded, free, (&at, &entries), true)?;
        let params = CholeskySymbolicParams::default();
        let symbolic = SymbolicSparseColMatRef::new_checked(rows, rows, &starts, None, &index);
        let order = SymmetricOrdering::Identity;
        let symbolic =
            factorize_symbolic_cholesky(symbolic, Side::Upper, order, params).map_err(by_faer)?;
        let upper = matches!(symbolic.raw(), SymbolicCholeskyRaw::Simplicial(_));
        if !upper {
            (starts, index) = pattern(bounded, free, (&at, &entries), false)?;
        }
        let factoring = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let solving = symbolic.solve_in_place_scratch::<f64>(1, Par::Seq);
        Ok(NormalProduct {
            rows,
            values: crate::base::scalar::try_zeroed(index.len())?,
            factor: crate::base::scalar::try_zeroed(symbolic.len_val())?,
            memory: std::cell::RefCell::new(room(factoring.or(solving))?),
            entries_at: at,
            entries,
            starts,
            index,
            upper,
            scales: vec![1.0; rows],
            work: vec![0.0; rows],
            symbolic,
        })
    }

    /// Forms the matrix with these weights, and brings its diagonal to 1; gamma, a mean of the
    /// first part's diagonal, or 1 where that has none.
    pub fn form(&mut self, bounded: &Csc, weights: &[f64], free: &Csc) -> f64 {
        let mut gamma = 0.0;
        let work = &mut self.work[..];
        if free.columns() > 0 {
            for (j, w) in weights.iter().enumerate() {
                let (index, values) = bounded.column(j);
                let entries = index.iter().zip(values);
                entries.for_each(|(i, v)| work[*i] += w * v * v);
            }
            gamma = typical(work);
            work.fill(0.0);
        }
        for k in 0..self.rows {
            for (j, p) in &self.entries[self.entries_at[k]..self.entries_at[k + 1]] {
                let weight = weights.get(*j as usize).copied().unwrap_or(gamma);
                let (a, j, p) = place(bounded, free, *j, *p);
                let by = weight * a.values[p];
                let others = if self.upper {
                    a.starts[j]..p + 1
                } else {
                    p..a.starts[j + 1]
                };
                let others = a.index[others.clone()].iter().zip(&a.values[others]);
                others.for_each(|(i, v)| work[*i] += by * v);
            }
            let at = self.starts[k]..self.starts[k + 1];
            for (i, v) in self.index[at.clone()].iter().zip(&mut self.values[at]) {
                *v = work[*i];
                if *i == k {
                    self.scales[k] = if *v > 0.0 { 1.0 / v.sqrt() } else { 1.0 };
                }
                work[*i] = 0.0;
            }
        }
        for k in 0..self.rows {
            let at = self.starts[k]..self.starts[k + 1];
            for (i, v) in self.index[at.clone()].iter().zip(&mut self.values[at]) {
                *v *= self.scales[*i] * self.scales[k];
            }
        }
        gamma
    }

    /// Factors it; how many pivots up to `least` were left out.
    pub fn factor(&mut self, least: f64) -> Result<usize> {
        packing::ready()?;
        let (rows, par) = (self.rows, Par::Seq);
        if !self.values.iter().all(|v| v.is_finite()) {
            return Err(Error::NonFinite);
        }
        let pattern =
            SymbolicSparseColMatRef::new_checked(rows, rows, &self.starts, None, &self.index);
        let a = SparseColMatRef::new(pattern, &self.values);
        let regularization = LltRegularization {
            dynamic_regularization_delta: HUGE,
            dynamic_regularization_epsilon: least,
        };
        let side = if self.upper { Side::Upper } else { Side::Lower };
        let mut memory = self.memory.borrow_mut();
        let stack = MemStack::new(&mut memory);
        self.symbolic
            .factorize_numeric_llt(
                &mut self.factor,
                a,
                side,
                regularization,
                par,
                stack,
                Default::default(),
            )
            .map_err(|_| Error::NonFinite)?;
        Ok(self.left_out())
    }

    /// How many pivots are huge: nothing of faer's tells.
    fn left_out(&self) -> usize {
        let is_huge = |d: &&f64| **d >= 0.5 * HUGE.sqrt();
        self.factor.iter().filter(is_huge).count()
    }

    /// In place.
    pub fn solve(&self, x: &mut [f64]) -> Result<()> {
        let scale = |x: &mut [f64]| x.iter_mut().zip(&self.scales).for_each(|(x, s)| *x *= s);
        scale(x);
        let mut memory = self.memory.try_borrow_mut().map_err(by_faer)?;
        let stack = MemStack::new(&mut memory);
        let view = MatMut::from_column_major_slice_mut(x, self.rows, 1);
        LltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            view,
            Par::Seq,
            stack,
        );
        scale(x);
        Ok(())
    }
}
