//! Householder reflectors, one by one and in blocks.

use faer::{Accum, MatMut, MatRef};

use crate::backend::cpu::gemm::product;
use crate::backend::cpu::matrix::views::{Columns, ColumnsMut};
use crate::backend::cpu::vector::{axpy, dot, norm2, scale};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::simd::vectorized;

/// The treatment of a column that is zero below its first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Convention {
    /// No reflection: `tau = 0`.
    Lapack,
    /// It is reflected, `tau = 2`, unless its first entry is zero or it has no other.
    Linpack,
}

/// Turns `x` into `(beta, v)` with `H x = beta e1`, `H = I - tau (1, v)(1, v)'`.
pub(crate) fn reflector<T: Scalar>(x: &mut [T], convention: Convention) -> T {
    let zero = T::from_f64(0.0);
    let Some((alpha, tail)) = x.split_first_mut() else {
        return zero;
    };
    // Norms of subnormal numbers are too inaccurate for an orthogonal Q.
    let (small, up) = if T::EPS > 1e-10 {
        (1e-31, 2f64.powi(60))
    } else {
        (1e-290, 2f64.powi(600))
    };
    let mut norm = norm2(tail);
    if norm == 0.0 {
        if convention == Convention::Linpack && *alpha != zero && !tail.is_empty() {
            *alpha = -*alpha;
            return T::from_f64(2.0);
        }
        return zero;
    }
    let mut head: f64 = (*alpha).into();
    let mut down = 1.0;
    if norm.hypot(head) < small {
        down = 1.0 / up;
        scale(T::from_f64(up), tail);
        head *= up;
        norm = norm2(tail);
    }
    let beta = -norm.hypot(head).copysign(head);
    let inverse = T::from_f64(1.0 / (head - beta));
    scale(inverse, tail);
    *alpha = T::from_f64(beta * down);
    T::from_f64((beta - head) / beta)
}

vectorized! {
    /// `C <- H C` on rows `k..` for the reflector `(1, v)`.
    pub(crate) fn apply_reflector<'a, T>(tau: T, v: &'a [T], c: ColumnsMut<'a, T>, k: usize) {
        let mut c = c;
        if tau == T::from_f64(0.0) {
            return;
        }
        for j in 0..c.ncols() {
            let column = &mut c.as_mut().col_mut(j).as_slice_mut()[k..];
            let Some((head, tail)) = column.split_first_mut() else {
                continue;
            };
            let w = tau * (*head + dot(v, tail));
            *head -= w;
            axpy(-w, v, tail);
        }
    }
}

/// Columns reduced one by one, each reflector applied to the others at once.
const BASE: usize = 4;

/// `I - V T V'` for several reflectors, V with its unit lower trapezoid written out.
pub(crate) struct BlockReflector<T> {
    v: Vec<T>,
    t: Vec<T>,
    rows: usize,
    width: usize,
}

impl<T: Scalar> BlockReflector<T> {
    /// Reduces `a` to upper trapezoidal form by its reflectors. Wants `tau.len() <= min(m, n)`
    /// columns.
    pub(crate) fn factor(
        a: ColumnsMut<'_, T>,
        tau: &mut [T],
        convention: Convention,
    ) -> Result<Self> {
        let (rows, width) = (a.nrows(), tau.len());
        let mut block = Self::empty(rows, width)?;
        let v = MatMut::from_column_major_slice_mut(&mut block.v, rows, width);
        let t = MatMut::from_column_major_slice_mut(&mut block.t, width, width);
        let mut work = try_zeroed(2 * width * width)?;
        factor(a, v, t, tau, convention, &mut work)?;
        Ok(block)
    }

    /// For the reflectors below the diagonal of `a`.
    pub(crate) fn new(a: Columns<'_, T>, tau: &[T]) -> Result<Self> {
        let (rows, width) = (a.nrows(), tau.len());
        let mut block = Self::empty(rows, width)?;
        for (j, column) in block.v.chunks_exact_mut(rows.max(1)).enumerate() {
            store_reflector(&a.col(j).as_slice()[j..], &mut column[j..]);
        }
        let mut gram = try_zeroed(width * width)?;
        let v = MatRef::from_column_major_slice(&block.v, rows, width);
        product(
            MatMut::from_column_major_slice_mut(&mut gram, width, width),
            Accum::Replace,
            v.transpose(),
            v,
            T::from_f64(1.0),
            1,
        )?;
        // T's column j is -tau_j T (V'v_j) above the diagonal and tau_j on it.
        for j in 0..width {
            let (done, column) = block.t.split_at_mut(j * width);
            for (l, before) in done.chunks_exact(width).enumerate() {
                let by = -tau[j] * gram[j * width + l];
                axpy(by, &before[..=l], &mut column[..=l]);
            }
            column[j] = tau[j];
        }
        Ok(block)
    }

    /// The number of its reflectors.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    fn empty(rows: usize, width: usize) -> Result<Self> {
        Ok(BlockReflector {
            v: try_zeroed(rows * width)?,
            t: try_zeroed(width * width)?,
            rows,
            width,
        })
    }

    /// `C <- Q' C` (`Trans::Yes`) or `Q C`.
    pub(crate) fn apply(&self, trans: Trans, c: ColumnsMut<'_, T>, threads: usize) -> Result<()> {
        let n = c.ncols();
        if n == 0 || self.width == 0 {
            return Ok(());
        }
        let mut work = try_zeroed(2 * self.width * n)?;
        let v = MatRef::from_column_major_slice(&self.v, self.rows, self.width);
        let t = MatRef::from_column_major_slice(&self.t, self.width, self.width);
        apply(v, t, trans, c, &mut work, threads)
    }
}

/// `(1, v)` from a column that holds `(beta, v)`.
fn store_reflector<T: Scalar>(from: &[T], to: &mut [T]) {
    to.copy_from_slice(from);
    if let Some(head) = to.first_mut() {
        *head = T::from_f64(1.0);
    }
}

/// `C <- (I - V T' V') C`, or with T itself; `work` has room for twice `t.ncols() * c.ncols()`
/// entries.
fn apply<T: Scalar>(
    v: MatRef<'_, T>,
    t: MatRef<'_, T>,
    trans: Trans,
    c: ColumnsMut<'_, T>,
    work: &mut [T],
    threads: usize,
) -> Result<()> {
    let (k, n) = (t.ncols(), c.ncols());
    let one = T::from_f64(1.0);
    let (w, tw) = work[..2 * k * n].split_at_mut(k * n);
    let mut w = MatMut::from_column_major_slice_mut(w, k, n);
    let mut tw = MatMut::from_column_major_slice_mut(tw, k, n);
    let t = if trans.is_yes() { t.transpose() } else { t };
    let mut c = c.as_dyn_stride_mut();
    product(
        w.as_mut(),
        Accum::Replace,
        v.transpose(),
        c.as_ref(),
        one,
        threads,
    )?;
    product(tw.as_mut(), Accum::Replace, t, w.as_ref(), one, threads)?;
    product(c.as_mut(), Accum::Add, v, tw.as_ref(), -one, threads)
}

/// Halves the columns: the left half's block is applied to the right half.
/// V's reflectors and T end in `v` and `t`, which are zero before.
fn factor<T: Scalar>(
    mut a: ColumnsMut<'_, T>,
    mut v: MatMut<'_, T>,
    mut t: MatMut<'_, T>,
    tau: &mut [T],
    convention: Convention,
    work: &mut [T],
) -> Result<()> {
    let (m, n) = (a.nrows(), tau.len());
    if n == 0 {
        return Ok(());
    }
    if n <= BASE {
        return factor_base(a, v, t, tau, convention);
    }
    let half = (n / 2).next_multiple_of(BASE);
    let (tau1, tau2) = tau.split_at_mut(half);
    let (mut left, mut right) = a.as_mut().split_at_col_mut(half);
    let (mut v1, mut v2) = v.as_mut().split_at_col_mut(half);
    let (mut t11, mut t12, _, mut t22) = t.as_mut().split_at_mut(half, half);
    factor(
        left.as_mut(),
        v1.as_mut(),
        t11.as_mut(),
        tau1,
        convention,
        work,
    )?;
    apply(
        v1.as_ref(),
        t11.as_ref(),
        Trans::Yes,
        right.as_mut(),
        work,
        1,
    )?;
    factor(
        right.subrows_mut(half, m - half),
        v2.as_mut().subrows_mut(half, m - half),
        t22.as_mut(),
        tau2,
        convention,
        work,
    )?;
    // (I - V1 T1 V1')(I - V2 T2 V2') has -T1 V1'V2 T2 in the corner.
    let one = T::from_f64(1.0);
    let (low1, low2) = (
        v1.as_ref().split_at_row(half).1,
        v2.as_ref().split_at_row(half).1,
    );
    let corner = &mut work[..half * (n - half)];
    let mut corner = MatMut::from_column_major_slice_mut(corner, half, n - half);
    product(t12.as_mut(), Accum::Replace, low1.transpose(), low2, one, 1)?;
    product(
        corner.as_mut(),
        Accum::Replace,
        t11.as_ref(),
        t12.as_ref(),
        -one,
        1,
    )?;
    product(
        t12.as_mut(),
        Accum::Replace,
        corner.as_ref(),
        t22.as_ref(),
        one,
        1,
    )
}

vectorized! {
    /// `A[k.., ]' x` for at most [`BASE`] columns.
    fn products_with<'a, T>(a: Columns<'a, T>, x: &'a [T], k: usize) -> [T; BASE] {
        let mut products = [T::from_f64(0.0); BASE];
        for (l, product) in products.iter_mut().enumerate().take(a.ncols()) {
            *product = dot(&a.col(l).as_slice()[k..], x);
        }
        products
    }
}

/// At most [`BASE`] columns.
fn factor_base<T: Scalar>(
    mut a: ColumnsMut<'_, T>,
    mut v: MatMut<'_, T>,
    mut t: MatMut<'_, T>,
    tau: &mut [T],
    convention: Convention,
) -> Result<()> {
    let mut v = crate::backend::cpu::matrix::views::columns_mut(v.as_mut())?;
    for (k, tau) in tau.iter_mut().enumerate() {
        let (mut done, rest) = a.as_mut().split_at_col_mut(k + 1);
        let column = &mut done.as_mut().col_mut(k).as_slice_mut()[k..];
        *tau = reflector(column, convention);
        let (before, mut now) = v.as_mut().split_at_col_mut(k);
        let now = &mut now.as_mut().col_mut(0).as_slice_mut()[k..];
        store_reflector(column, now);
        apply_reflector(*tau, &column[1..], rest, k);
        let inner = products_with(before.as_ref(), &*now, k);
        for i in 0..k {
            let mut sum = T::from_f64(0.0);
            for l in i..k {
                sum += t[(i, l)] * inner[l];
            }
            t[(i, k)] = -*tau * sum;
        }
        t[(k, k)] = *tau;
    }
    Ok(())
}
