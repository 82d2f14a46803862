//! Divide and conquer by the tables, with plain loops for kernels.

use faer::Mat;

use super::*;
use crate::backend::cuda::spectral::cases::{cases, judge};
use crate::backend::cuda::spectral::split::{leaves, scale, tear};
use crate::base::deflate::{ascending, deflate, Place};

/// Root j of the secular equation as nearest pole and offset, by bisection of the offset's
/// exponent and then of the offset.
fn root(d: &[f64], z: &[f64], rho: f64, j: usize) -> (usize, f64) {
    let f = |pole: usize, x: f64| {
        let term = |(d_i, z_i): (&f64, &f64)| z_i * z_i / ((d_i - d[pole]) - x);
        1.0 + rho * d.iter().zip(z).map(term).sum::<f64>()
    };
    let last = j + 1 == d.len();
    let half = if last {
        1.5 * rho
    } else {
        (d[j + 1] - d[j]) / 2.0
    };
    let (pole, sign) = match last || f(j, half) >= 0.0 {
        true => (j, 1.0),
        false => (j + 1, -1.0),
    };
    let (mut near, mut far) = (half * 1e-40, half * 1.01);
    for k in 0..200 {
        let x = if k < 20 {
            (near * far).sqrt()
        } else {
            (near + far) / 2.0
        };
        // Next to the pole the function has the sign of the side.
        match f(pole, sign * x) * sign < 0.0 {
            true => near = x,
            false => far = x,
        }
    }
    (pole, sign * near)
}

fn solved(leaf: usize, d: &[f64], e: &[f64]) -> (Vec<f64>, Mat<f64>) {
    let n = d.len();
    let scaled = scale(d, e).unwrap();
    let (bounds, levels) = leaves(n, leaf);
    let torn = tear::<f64>(&scaled, &bounds);
    let mut q = vec![0.0; n * n];
    let mut values = vec![0.0; n];
    for w in bounds.windows(2) {
        let (first, m) = (w[0] as usize, (w[1] - w[0]) as usize);
        let block = Mat::from_fn(m, m, |i, j| match i.abs_diff(j) {
            0 => torn[first + i],
            1 => scaled.e[first + i.min(j)],
            _ => 0.0,
        });
        let found = block.self_adjoint_eigen(faer::Side::Lower).unwrap();
        for j in 0..m {
            values[first + j] = found.S()[j];
            for i in 0..m {
                q[first + i + (first + j) * n] = found.U()[(i, j)];
            }
        }
    }
    for level in 0..levels {
        join(n, &bounds, 1 << level, &scaled.e, &mut values, &mut q);
    }
    let order = ascending(0, &values);
    let factor = 2f64.powi(scaled.exponent);
    let vectors = Mat::from_fn(n, n, |i, j| q[i + order[j] * n]);
    (order.iter().map(|&i| values[i] * factor).collect(), vectors)
}

fn join(n: usize, bounds: &[i32], stride: usize, off: &[f64], values: &mut [f64], q: &mut [f64]) {
    let mut z = vec![0.0; n];
    let mut level = Vec::new();
    for p in 0..(bounds.len() - 1) / (2 * stride) {
        let at = |i: usize| bounds[(2 * p + i) * stride] as usize;
        let (start, mid, end) = (at(0), at(1), at(2));
        for j in start..end {
            z[j] = q[j * n + if j < mid { mid - 1 } else { mid }];
        }
        let place = Place { start, mid, end };
        level.push(deflate(place, off[mid - 1], f64::EPSILON, values, &mut z));
    }
    let t = tables(&level, values, &z, n);
    for chain in t.chains.chunks(4) {
        let chain: Vec<usize> = chain.iter().map(|x| *x as usize).collect();
        for r in chain[0]..chain[0] + chain[1] {
            let [x, y] = [t.columns[2 * r], t.columns[2 * r + 1]].map(|x| x as usize);
            let (c, s) = (t.rotations[2 * r], t.rotations[2 * r + 1]);
            for i in chain[2]..chain[2] + chain[3] {
                let (a, b) = (q[i + x * n], q[i + y * n]);
                (q[i + x * n], q[i + y * n]) = (c * a + s * b, c * b - s * a);
            }
        }
    }
    // Whatever is not written is NaN.
    let mut work = vec![f64::NAN; t.workspace];
    for copy in t.out.chunks(3) {
        let [from, to, rows] = [copy[0], copy[1], copy[2]].map(|x| x as usize);
        work[to..to + rows].copy_from_slice(&q[from..from + rows]);
    }
    let mut roots = Vec::new();
    for half in 0..2 {
        for (w, merge) in t.merges.chunks(4).enumerate() {
            let [first, k] = [merge[0], merge[1]].map(|x| x as usize);
            assert!(t.owner[first..first + k].iter().all(|x| *x as usize == w));
            let (d, z) = (&t.d[first..first + k], &t.z[first..first + k]);
            let found: Vec<_> = (0..k).map(|j| root(d, z, t.rho[w], j)).collect();
            let apart = |i: usize, j: usize| (d[i] - d[found[j].0]) - found[j].1;
            let restored = |i: usize| {
                let factor = |j: usize| match i == j {
                    true => apart(i, j),
                    false => apart(i, j) / (d[i] - d[j]),
                };
                (0..k)
                    .map(factor)
                    .product::<f64>()
                    .abs()
                    .sqrt()
                    .copysign(z[i])
            };
            let z: Vec<f64> = (0..k).map(restored).collect();
            let rows = merge[2 + half] as usize;
            let list = &t.lists[t.lists[2 * w + half] as usize..][..rows];
            for j in 0..k {
                let norm = (0..k)
                    .map(|i| (z[i] / apart(i, j)).powi(2))
                    .sum::<f64>()
                    .sqrt();
                for (r, &i) in list.iter().enumerate() {
                    let i = i as usize;
                    work[t.places[w] as usize + j * rows + r] = z[i] / apart(i, j) / norm;
                }
            }
            if half == 0 {
                roots.extend(found.iter().map(|(p, x)| d[*p] + x));
            }
        }
        for p in t.products.iter().filter(|p| p.half == half) {
            for j in 0..p.cols {
                for i in 0..p.rows {
                    let term = |l: usize| work[p.a + i + l * p.rows] * work[p.s + l + j * p.depth];
                    q[p.row + i + (p.col + j) * n] = (0..p.depth).map(term).sum();
                }
            }
        }
    }
    for copy in t.back.chunks(3) {
        let [from, to, rows] = [copy[0], copy[1], copy[2]].map(|x| x as usize);
        q[to..to + rows].copy_from_slice(&work[from..from + rows]);
    }
    let mut roots = roots.into_iter();
    for merge in &level {
        let Place { start, end, .. } = merge.place;
        if !merge.poles.is_empty() {
            let mut new: Vec<f64> = roots.by_ref().take(merge.poles.len()).collect();
            new.extend(merge.deflated.iter().map(|&i| values[i]));
            values[start..end].copy_from_slice(&new);
        }
    }
}

#[test]
fn tables_lead_to_eigenvectors() {
    for n in [1, 2, 9, 33, 60] {
        for (name, d, e) in cases(n) {
            let (values, vectors) = solved(4, &d, &e);
            judge(
                &format!("{name} {n}"),
                f64::EPSILON,
                &d,
                &e,
                &values,
                &vectors,
            );
        }
    }
}

/// The workspace is n^2 unless halves have equal eigenvalues, and never exceeds 5/4 n^2.
#[test]
fn workspace_is_bounded() {
    let n = 64;
    for same in [0, 10, 32] {
        let mut d: Vec<f64> = (0..n).map(|i| (i % 32) as f64 / 32.0).collect();
        for x in d.iter_mut().skip(32 + same) {
            *x += 1e-2;
        }
        let mut z = vec![0.2; n];
        let place = Place {
            start: 0,
            mid: 32,
            end: 64,
        };
        let merge = deflate(place, 0.3, f64::EPSILON, &mut d, &mut z);
        assert_eq!(merge.deflated.len(), same);
        let used = tables(&[merge], &d, &z, n).workspace;
        assert!(4 * used <= 5 * n * n, "{used}");
        assert!(same > 0 || used <= n * n, "{used}");
    }
}
