//! Sparse matrices that no dense one can stand beside: rows with very many entries, and very many
//! rows.

use super::matrices::*;
use super::on_each_device;
use crate::common::few;
use cudafactor::algo::krylov::outcome::Stopping;
use cudafactor::algo::systems::preconditioner::Built;
use cudafactor::algo::systems::resident::pcg_resident;
use cudafactor::base::sparse::symmetric::Stored;
use cudafactor::device::multigrid::{Interpolation, LevelOperator, Step};
use cudafactor::device::sparse::{Columns, Sparse, DOMINANT};

use faer::Mat;

on_each_device!(rows_with_very_many_entries, very_many_rows);

const STEP: Step = Step {
    rate: 0.7,
    momentum: 0.3,
};

/// What P does to numbers of aggregates, and what P' does to those of rows.
fn prolonged(of: &[i32], x: &[f64]) -> Vec<f64> {
    let at = |k: &i32| usize::try_from(*k).map_or(0.0, |k| x[k]);
    of.iter().map(at).collect()
}

fn restricted(of: &[i32], count: usize, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; count];
    for (k, x) in of.iter().zip(x) {
        if let Ok(k) = usize::try_from(*k) {
            out[k] += x;
        }
    }
    out
}

fn near(x: &Mat<f64>, y: &[f64], scale: f64) {
    close("large", x, &of(y.len(), 1, y), scale);
}

fn rows_with_very_many_entries<D: Sparse>(dev: &D) {
    let n = if few() { 5000 } else { 20_000 };
    let a = star(n, n / 3);
    let csr = a.load(dev);
    let scale = 10.0 * n as f64;
    for columns in [1, 2, 5] {
        let (x, p) = (numbers(n * columns, 3), numbers(n * columns, 4));
        let dx = block(dev, n, columns, &x);
        let (mut out, mut dp) = (dev.blank(n, columns).unwrap(), block(dev, n, columns, &p));
        csr.residual(dev, None, &dx, &mut out).unwrap();
        let wanted: Vec<f64> = x.chunks_exact(n).flat_map(|x| a.times(x)).collect();
        close("star", &fetch(dev, &out), &of(n, columns, &wanted), scale);
        // Of b = 0, with rates by the diagonal, which is what rows sum up to.
        let b = block(dev, n, columns, &vec![0.0; n * columns]);
        csr.relax(dev, &b, Some(&dx), STEP, &mut dp, &mut out)
            .unwrap();
        let own = dev.sparse_diagonal(&csr).unwrap();
        let moved = (0..n * columns).map(|i| 0.3 * p[i] - 0.7 / own[i % n] * wanted[i]);
        let moved: Vec<f64> = moved.collect();
        close("star", &fetch(dev, &dp), &of(n, columns, &moved), scale);
        let there: Vec<f64> = moved.iter().zip(&x).map(|(p, x)| p + x).collect();
        close("star", &fetch(dev, &out), &of(n, columns, &there), scale);
    }
    let found = dev.sparse_aggregate(&csr, DOMINANT).unwrap();
    let members = dev.sparse_members(&found).unwrap();
    let count = dev.sparse_count(&found);
    let mut sizes = vec![0; count];
    members.iter().for_each(|k| sizes[*k as usize] += 1);
    assert!(sizes.iter().any(|s| *s > 1000), "{sizes:?}");
    let x = numbers(n, 5);
    let mut down = dev.blank(count, 1).unwrap();
    found
        .restrict(dev, &block(dev, n, 1, &x), &mut down)
        .unwrap();
    near(&fetch(dev, &down), &restricted(&members, count, &x), scale);
    let coarse = dev.sparse_coarsen(&csr, &found, 1.0).unwrap();
    let y = numbers(count, 6);
    let mut out = dev.blank(count, 1).unwrap();
    let dy = block(dev, count, 1, &y);
    coarse.residual(dev, None, &dy, &mut out).unwrap();
    let fine = a.times(&prolonged(&members, &y));
    near(
        &fetch(dev, &out),
        &restricted(&members, count, &fine),
        scale,
    );
    let stop = Stopping {
        tol: 1e-8,
        maxit: 100,
    };
    let b = block(dev, n, 1, &x);
    let found = pcg_resident(dev, csr, Built::Multigrid, &b, None, stop).unwrap();
    assert!(found.converged()[0], "{:?}", found.residuals);
}

/// A chain whose couplings vary, of more rows than a scan's blocks and a launch's threads have at
/// once.
fn very_many_rows<D: Sparse>(dev: &D) {
    let n = if few() { 9000 } else { 3_000_001 };
    let w = numbers(n + 1, 9);
    let (mut starts, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        if i > 0 {
            index.push(i as i32 - 1);
            values.push(-w[i]);
        }
        index.push(i as i32);
        values.push(w[i] + w[i + 1] + 0.01);
        if i + 1 < n {
            index.push(i as i32 + 1);
            values.push(-w[i + 1]);
        }
        starts.push(index.len() as i32);
    }
    let times = |x: &[f64]| -> Vec<f64> {
        let at = |e: usize| values[e] * x[index[e] as usize];
        let row = |i: usize| (starts[i] as usize..starts[i + 1] as usize).map(at).sum();
        (0..n).map(row).collect()
    };
    let all = Columns {
        starts: &starts,
        index: &index,
        values: &values,
        stored: Stored::All,
    };
    let csr = dev.sparse_load(all).unwrap();
    // The same of a triangle.
    let (mut begins, mut below, mut v) = (vec![0], Vec::new(), Vec::new());
    for j in 0..n {
        for e in starts[j] as usize..starts[j + 1] as usize {
            if index[e] as usize >= j {
                below.push(index[e]);
                v.push(values[e]);
            }
        }
        begins.push(below.len() as i32);
    }
    let half = Columns {
        starts: &begins,
        index: &below,
        values: &v,
        stored: Stored::Lower,
    };
    let mirrored = dev.sparse_load(half).unwrap();
    assert!(dev.sparse_read(&mirrored).unwrap() == dev.sparse_read(&csr).unwrap());
    drop(mirrored);
    let x = numbers(n, 2);
    let mut out = dev.blank(n, 1).unwrap();
    csr.residual(dev, None, &block(dev, n, 1, &x), &mut out)
        .unwrap();
    near(&fetch(dev, &out), &times(&x), 10.0);
    let found = dev.sparse_aggregate(&csr, DOMINANT).unwrap();
    let (members, count) = (
        dev.sparse_members(&found).unwrap(),
        dev.sparse_count(&found),
    );
    let y = numbers(count, 6);
    let coarse = dev.sparse_coarsen(&csr, &found, 1.0).unwrap();
    let mut out = dev.blank(count, 1).unwrap();
    coarse
        .residual(dev, None, &block(dev, count, 1, &y), &mut out)
        .unwrap();
    let fine = times(&prolonged(&members, &y));
    near(
        &fetch(dev, &out),
        &restricted(&members, count, &fine),
        100.0,
    );
}
