//! Sparse matrices against what their definitions say, as dense matrices.

use super::matrices::*;
use super::on_each_device;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Error;
use cudafactor::base::sparse::symmetric::Stored;
use cudafactor::base::threads::share;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::multigrid::{Interpolation, LevelOperator, Step};
use cudafactor::device::sparse::{priority, Columns, Sparse, DOMINANT};

use faer::Mat;

on_each_device!(
    what_is_stored_becomes_all,
    faults_are_found,
    products_and_steps,
    aggregates_are_pairs_and_what_joins,
    coarser_matrices_are_products,
);

fn what_is_stored_becomes_all<D: Sparse>(dev: &D) {
    for (name, a) in cases() {
        let mut kinds = [Stored::All, Stored::Lower, Stored::Upper]
            .map(|stored| dev.sparse_read(&a.try_load(dev, stored).unwrap()).unwrap())
            .into_iter();
        let all = kinds.next().unwrap();
        let (starts, index, values) = a.columns(Stored::All);
        let begins = starts.iter().map(|s| *s as usize);
        assert!(all.starts.iter().copied().eq(begins));
        assert!(all.index == index && all.values == values);
        assert!(kinds.all(|other| other == all), "{name}");
        let own = dev.sparse_diagonal(&a.load(dev)).unwrap();
        let wanted = a.dense();
        assert!((0..a.n).all(|i| own[i] == wanted[(i, i)]), "{name}");
    }
    // What is outside the triangle is not read.
    for (stored, values) in [
        (Stored::Lower, [2.0, 1.0, f64::NAN, 3.0]),
        (Stored::Upper, [2.0, f64::NAN, 1.0, 3.0]),
    ] {
        let a = dev.sparse_load(Columns {
            starts: &[0, 2, 4],
            index: &[0, 1, 0, 1],
            values: &values,
            stored,
        });
        let all = dev.sparse_read(&a.unwrap()).unwrap();
        assert_eq!(all.values, [2.0, 1.0, 1.0, 3.0]);
    }
}

/// What is done to the parts of a matrix.
type Change<'c> = &'c dyn Fn(&mut Vec<i32>, &mut Vec<i32>, &mut Vec<f64>);

fn faults_are_found<D: Sparse>(dev: &D) {
    let good = grid([9, 9, 1], [1.0; 3], 0.1);
    let with = |change: Change| {
        let (mut starts, mut index, mut values) = good.columns(Stored::All);
        change(&mut starts, &mut index, &mut values);
        dev.sparse_load(Columns {
            starts: &starts,
            index: &index,
            values: &values,
            stored: Stored::All,
        })
        .err()
    };
    assert_eq!(with(&|_, _, _| ()), None);
    let dimension = |e: Option<Error>| matches!(e, Some(Error::Dimension { .. }));
    assert!(dimension(with(&|starts, _, _| starts[0] = 1)));
    assert!(dimension(with(&|starts, _, _| starts[5] = 400)));
    assert!(dimension(with(&|_, index, _| index[7] = 81)));
    assert!(dimension(with(&|_, index, _| index[0] = -1)));
    assert!(dimension(with(&|_, index, _| index.swap(3, 4))));
    assert!(dimension(with(&|_, _, values| values.truncate(9))));
    for bad in [f64::NAN, f64::INFINITY] {
        let e = with(&|_, _, values| values[20] = bad);
        assert_eq!(e, Some(Error::NonFiniteIn { argument: "A" }));
    }
    let triangle = |index: &[i32], values: &[f64]| {
        dev.sparse_load(Columns {
            starts: &[0, 2, 3],
            index,
            values,
            stored: Stored::Lower,
        })
        .err()
    };
    assert_eq!(triangle(&[0, 1, 1], &[1.0, 0.5, 1.0]), None);
    assert!(dimension(triangle(&[1, 0, 1], &[0.5, 1.0, 1.0])));
    assert!(dimension(triangle(&[0, 2, 1], &[1.0, 0.5, 1.0])));
    let e = triangle(&[0, 1, 1], &[1.0, f64::NAN, 1.0]);
    assert_eq!(e, Some(Error::NonFiniteIn { argument: "A" }));
    let asymmetric = Some(Error::NotSymmetric { argument: "A" });
    assert_eq!(with(&|_, _, values| values[1] = -0.5), asymmetric);
    // An entry without an image: fine if it is zero.
    let alone = |v: f64| {
        dev.sparse_load(Columns {
            starts: &[0, 2, 3],
            index: &[0, 1, 1],
            values: &[1.0, v, 1.0],
            stored: Stored::All,
        })
        .err()
    };
    assert_eq!(alone(0.0), None);
    assert_eq!(alone(0.5), asymmetric);
}

fn products_and_steps<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let (n, a) = (made.n, made.dense());
        let csr = made.load(dev);
        let scale = 1.0 + a.norm_max() * n as f64;
        let relaxed = |i: usize| {
            let sum: f64 = (0..n).map(|j| a[(i, j)].abs()).sum();
            f64::max(a[(i, i)], sum / 2.0)
        };
        let d: Vec<f64> = (0..n).map(relaxed).collect();
        for columns in [1, 2, 4, 9] {
            let draw = |seed| numbers(n * columns, seed);
            let (b, x, p) = (draw(2), draw(3), draw(4));
            let [db, dx] = [&b, &x].map(|v| block(dev, n, columns, v));
            let mut dp = block(dev, n, columns, &p);
            let mut out = dev.blank(n, columns).unwrap();
            let (b, x, p) = (of(n, columns, &b), of(n, columns, &x), of(n, columns, &p));
            csr.residual(dev, None, &dx, &mut out).unwrap();
            close(name, &fetch(dev, &out), &(&a * &x), scale);
            csr.residual(dev, Some(&db), &dx, &mut out).unwrap();
            close(name, &fetch(dev, &out), &(&b - &a * &x), scale);
            let scaled = |r: &Mat<f64>| Mat::from_fn(n, columns, |i, j| 0.7 * r[(i, j)] / d[i]);
            let step = Step {
                rate: 0.7,
                momentum: 0.3,
            };
            csr.relax(dev, &db, Some(&dx), step, &mut dp, &mut out)
                .unwrap();
            let wanted = Mat::from_fn(n, columns, |i, j| 0.3 * p[(i, j)]) + scaled(&(&b - &a * &x));
            close(name, &fetch(dev, &dp), &wanted, scale);
            close(name, &fetch(dev, &out), &(&x + &wanted), scale);
            // Without momentum, and without x, nothing of p is read.
            let unread = vec![f64::NAN; n * columns];
            let mut dp = block(dev, n, columns, &unread);
            let first = Step {
                rate: 0.7,
                momentum: 0.0,
            };
            csr.relax(dev, &db, Some(&dx), first, &mut dp, &mut out)
                .unwrap();
            close(name, &fetch(dev, &dp), &scaled(&(&b - &a * &x)), scale);
            let mut dp = block(dev, n, columns, &unread);
            csr.relax(dev, &db, None, step, &mut dp, &mut out).unwrap();
            close(name, &fetch(dev, &dp), &scaled(&b), scale);
            close(name, &fetch(dev, &out), &scaled(&b), scale);
        }
    }
}

fn aggregates_are_pairs_and_what_joins<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let (n, csr) = (made.n, made.load(dev));
        let found = dev.sparse_aggregate(&csr, DOMINANT).unwrap();
        let (count, of) = (
            dev.sparse_count(&found),
            dev.sparse_members(&found).unwrap(),
        );
        assert_eq!(of.len(), n);
        let a = made.dense();
        let mut members = vec![Vec::new(); count];
        for i in 0..n {
            let others = (0..n).filter(|j| *j != i).map(|j| a[(i, j)].abs());
            let apart = others.sum::<f64>() <= a[(i, i)] / 8.0;
            assert_eq!(of[i] < 0, apart, "{name} {i}");
            if of[i] >= 0 {
                members[of[i] as usize].push(i);
            }
        }
        assert!(members.iter().all(|m| !m.is_empty()), "{name}");
        for m in &members {
            // Negative entries lead from the first to all of them.
            let mut reached = vec![m[0]];
            let mut at = 0;
            while let Some(i) = reached.get(at).copied() {
                at += 1;
                for j in m {
                    if a[(i, *j)] < 0.0 && !reached.contains(j) {
                        reached.push(*j);
                    }
                }
            }
            assert_eq!(reached.len(), m.len(), "{name}");
        }
        let relaxed = |i: usize| {
            let sum: f64 = (0..n).map(|j| a[(i, j)].abs()).sum();
            f64::max(a[(i, i)], sum / 2.0)
        };
        let d: Vec<f64> = (0..n).map(relaxed).collect();
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        let strongest = pairs
            .filter(|(i, j)| a[(*i, *j)] < 0.0 && of[*i] >= 0 && of[*j] >= 0)
            .max_by_key(|(i, j)| {
                let strength = -a[(*i, *j)] / (d[*i].sqrt() * d[*j].sqrt());
                priority(*i as u32, *j as u32, strength)
            });
        if let Some((i, j)) = strongest {
            assert_eq!(of[i], of[j], "{name}: {i} {j}");
        }
        if ["plane", "space", "graph", "slanted"].contains(&name) {
            assert!(2 * count <= n + 1, "{name}: {count} of {n}");
            assert!(members.iter().all(|m| m.len() <= 9), "{name}");
        }
        if name == "diagonal" {
            assert_eq!(count, 0);
        }
        // Whatever has entries is in one where nothing is apart.
        let all = dev.sparse_aggregate(&csr, -1.0).unwrap();
        let of = dev.sparse_members(&all).unwrap();
        assert!(of.iter().all(|k| *k >= 0), "{name}");
    }
}

fn coarser_matrices_are_products<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let csr = made.load(dev);
        let first = dev.sparse_aggregate(&csr, DOMINANT).unwrap();
        let middle = dev.sparse_coarsen(&csr, &first, 1.0).unwrap();
        let second = dev.sparse_aggregate(&middle, -1.0).unwrap();
        let last = dev.sparse_coarsen(&middle, &second, 0.5).unwrap();
        let both = dev.sparse_compose(&first, &second).unwrap();
        let (n, count) = (made.n, dev.sparse_count(&both));
        assert_eq!(count, dev.sparse_order(&last));
        let of = dev.sparse_members(&both).unwrap();
        let p = Mat::from_fn(n, count, |i, k| f64::from(u8::from(of[i] == k as i32)));
        let a = made.dense();
        let scale = 1.0 + a.norm_max() * n as f64;
        assert_eq!(count, dev.sparse_count(&second));
        let wanted = faer::Scale(0.5) * (p.transpose() * &a * &p);
        close(
            name,
            &dense(&dev.sparse_read(&last).unwrap()),
            &wanted,
            scale,
        );
        let x = numbers(n * 5, 6);
        let mut down = dev.blank(count, 5).unwrap();
        both.restrict(dev, &block(dev, n, 5, &x), &mut down)
            .unwrap();
        let x = Mat::from_fn(n, 5, |i, j| x[j * n + i]);
        close(name, &fetch(dev, &down), &(p.transpose() * x), n as f64);
        // Prolongation adds.
        let mut out = block(dev, n, 5, &vec![2.0; n * 5]);
        both.prolong(dev, &down, &mut out).unwrap();
        let wanted = &p * fetch(dev, &down) + Mat::from_fn(n, 5, |_, _| 2.0);
        close(name, &fetch(dev, &out), &wanted, n as f64);
    }
}

/// Of so many rows and columns that two threads share the work.
#[test]
fn threads_change_nothing() {
    let made = grid([500, 500, 1], [1.0, 0.5, 0.0], 0.1);
    let (n, columns) = (made.n, 36);
    let (b, x) = (numbers(n * columns, 7), numbers(n * columns, 8));
    let step = Step {
        rate: 0.7,
        momentum: 0.3,
    };
    assert!(share(2, (n * columns) as f64) > 1);
    let all = [1, 2].map(|threads| {
        let dev = &CpuDevice::new(threads);
        let csr = made.load(dev);
        let of = dev.sparse_aggregate(&csr, DOMINANT).unwrap();
        let blank = |rows| <CpuDevice as Elementwise<f64>>::blank(dev, rows, columns).unwrap();
        let (b, x) = (block(dev, n, columns, &b), block(dev, n, columns, &x));
        let (mut p, mut out, mut small) = (blank(n), blank(n), blank(dev.sparse_count(&of)));
        csr.residual(dev, Some(&b), &x, &mut p).unwrap();
        csr.relax(dev, &b, Some(&x), step, &mut p, &mut out)
            .unwrap();
        of.restrict(dev, &out, &mut small).unwrap();
        of.prolong(dev, &small, &mut p).unwrap();
        [p, out, small].map(|m| fetch(dev, &m))
    });
    assert!(all[0] == all[1]);
}
