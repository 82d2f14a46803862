//! Matrices, right-hand sides, and conjugate gradients as textbooks have them.

use cudafactor::algo::krylov::blocks::Preconditioner;
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::krylov::outcome::{Solution, Stopping};
use cudafactor::algo::krylov::pcg::pcg;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};
use faer::prelude::Solve;
use faer::{Mat, Side};

/// The Laplacian of a grid with Dirichlet boundaries, all entries stored.
pub fn poisson(sides: &[usize]) -> Csc {
    let n = sides.iter().product();
    let mut a = Csc::with_rows(n);
    for i in 0..n {
        let mut column = vec![(i, 2.0 * sides.len() as f64)];
        let mut step = 1;
        for side in sides {
            let at = i / step % side;
            if at > 0 {
                column.push((i - step, -1.0));
            }
            if at + 1 < *side {
                column.push((i + step, -1.0));
            }
            step *= side;
        }
        a.push(column);
    }
    a
}

/// What is kept of the entries.
pub fn only(a: &Csc, keep: impl Fn(usize, usize) -> bool) -> Csc {
    let mut out = Csc::with_rows(a.rows);
    for j in 0..a.columns() {
        let (rows, values) = a.column(j);
        let entries = rows.iter().zip(values).filter(|(i, _)| keep(**i, j));
        out.push(entries.map(|(i, v)| (*i, *v)).collect());
    }
    out
}

pub fn lower(a: &Csc) -> Csc {
    only(a, |i, j| i >= j)
}

pub fn upper(a: &Csc) -> Csc {
    only(a, |i, j| i <= j)
}

pub fn dense(a: &Csc) -> Mat<f64> {
    let mut out = Mat::zeros(a.rows, a.columns());
    for j in 0..a.columns() {
        let (rows, values) = a.column(j);
        rows.iter().zip(values).for_each(|(i, v)| out[(*i, j)] = *v);
    }
    out
}

pub fn sparse(a: &Mat<f64>) -> Csc {
    let values: Vec<f64> = (0..a.ncols())
        .flat_map(|j| (0..a.nrows()).map(move |i| a[(i, j)]))
        .collect();
    Csc::from_dense(a.nrows(), &values).unwrap()
}

/// Numbers in (-1, 1) that look random.
pub fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

pub fn block(rows: usize, columns: usize, seed: u64) -> HostBlock {
    HostBlock::new(rows, columns, numbers(rows * columns, seed)).unwrap()
}

pub fn view(b: &HostBlock) -> faer::MatRef<'_, f64> {
    let (rows, columns) = b.shape();
    faer::MatRef::from_column_major_slice(b.values(), rows, columns)
}

/// By the dense Cholesky factor.
pub fn direct(a: &Csc, b: &HostBlock) -> Mat<f64> {
    let factor = dense(a).llt(Side::Lower).unwrap();
    factor.solve(view(b))
}

/// `||b - A x|| / ||b||` of a column, 0 of b = 0.
pub fn residual(a: &Csc, x: &[f64], b: &[f64]) -> f64 {
    let mut product = vec![0.0; b.len()];
    a.add_times(x, &mut product);
    let square = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let norm = square(&mut b.iter().copied());
    let off = square(&mut b.iter().zip(&product).map(|(b, p)| b - p));
    if norm > 0.0 {
        off / norm
    } else {
        off
    }
}

/// Two threads, all entries stored.
pub fn run(
    a: &Csc,
    m: &impl Preconditioner<Host>,
    b: &HostBlock,
    tol: f64,
    maxit: usize,
) -> Solution<HostBlock> {
    let a = Symmetric::new(a, Stored::All).unwrap();
    pcg(&Host::new(2), &a, m, b, None, Stopping { tol, maxit }).unwrap()
}

/// Conjugate gradients for one right-hand side as in Golub & Van Loan, Matrix Computations,
/// algorithm 11.5.1: iterations until the recurrence's residual is within the tolerance.
pub fn textbook(a: &Csc, solve: impl Fn(&[f64]) -> Vec<f64>, b: &[f64], tol: f64) -> usize {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let target = tol * dot(b, b).sqrt();
    let (mut r, mut p, mut before) = (b.to_vec(), vec![0.0; b.len()], 0.0);
    let mut iterations = 0;
    while dot(&r, &r).sqrt() > target {
        let z = solve(&r);
        let rho = dot(&r, &z);
        let beta = if iterations > 0 { rho / before } else { 0.0 };
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
        let mut q = vec![0.0; b.len()];
        a.add_times(&p, &mut q);
        let step = rho / dot(&p, &q);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= step * q);
        before = rho;
        iterations += 1;
    }
    iterations
}

/// IC(0) of the Laplacian of a grid in natural order, where it changes the diagonal alone: M = (D +
/// E) D^-1 (D + E'), with E what is below the diagonal (Meijerink & van der Vorst 1977).
pub fn grid_ic0(a: &Csc) -> impl Fn(&[f64]) -> Vec<f64> + '_ {
    let n = a.columns();
    let mut d = vec![0.0; n];
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (i, v) in rows.iter().zip(values) {
            if *i < j {
                d[j] -= v * v / d[*i];
            } else if *i == j {
                d[j] += v;
            }
        }
    }
    move |r: &[f64]| {
        let mut x = r.to_vec();
        for j in 0..n {
            let (rows, values) = a.column(j);
            let before = rows.iter().zip(values).filter(|(i, _)| **i < j);
            let known: f64 = before.map(|(i, v)| v * x[*i]).sum();
            x[j] = (x[j] - known) / d[j];
        }
        for j in (0..n).rev() {
            let (rows, values) = a.column(j);
            let behind = rows.iter().zip(values).filter(|(i, _)| **i > j);
            let known: f64 = behind.map(|(i, v)| v * x[*i]).sum();
            x[j] -= known / d[j];
        }
        x
    }
}
