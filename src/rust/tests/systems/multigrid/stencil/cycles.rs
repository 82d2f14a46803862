//! Multigrid with operators on grids: approximate inverses, and systems solved.

use super::*;

/// All points joined, some of them by little.
pub(super) fn joined<D: Stencil>(
    dev: &D,
    grid: Grid,
    reach: Reach,
) -> (Operator<D::Mat<'static>>, Mat<f64>) {
    let mut all = entries(grid, reach, 11);
    let n = grid.points();
    all.iter_mut().skip(n).for_each(|w| *w += 1e-6);
    let made = block(dev, n, grid.entries(reach), &all);
    (
        Operator {
            grid,
            reach,
            entries: made,
        },
        dense(grid, reach, &all),
    )
}

pub(super) fn approximate_inverses_are_symmetric<D: Stencil>(dev: &D) {
    for dims in [[20, 18, 1], [9, 8, 7], [300, 1, 1]] {
        let grid = Grid { dims };
        let n = grid.points();
        let (op, _) = joined(dev, grid, Reach::Axes);
        let m = Multigrid::new(dev, op).unwrap();
        let x = numbers(n * 4, 3);
        let mut out = dev.zeros(n, 4).unwrap();
        m.apply(&block(dev, n, 4, &x), &mut out).unwrap();
        let x = Mat::from_fn(n, 4, |i, j| x[j * n + i] - 0.5);
        let values: Vec<f64> = (0..n * 4).map(|k| x[(k % n, k / n)]).collect();
        m.apply(&block(dev, n, 4, &values), &mut out).unwrap();
        let products = x.transpose() * fetch(dev, &out);
        let scale = products.norm_max();
        for i in 0..4 {
            assert!(products[(i, i)] > 0.0);
            for j in 0..i {
                let off = (products[(i, j)] - products[(j, i)]).abs();
                assert!(off < 1e-11 * scale, "{off:e} {scale:e}");
            }
        }
    }
}

/// Couplings over ten orders of magnitude, that are the same along an axis or everywhere else:
/// coarse grids have negative ones, of the size of the others.
pub(super) fn approximate_inverses_are_positive_definite<D: Stencil>(dev: &D) {
    for (dims, along) in [
        ([24, 24, 24], true),
        ([24, 24, 24], false),
        ([90, 80, 1], false),
    ] {
        let grid = Grid { dims };
        let n = grid.points();
        let line = |i: usize| if along { i / dims[0] } else { i };
        let draws = numbers(n * grid.entries(Reach::Axes), 4);
        let mut all = vec![0.0; draws.len()];
        for (k, w) in all.iter_mut().enumerate().skip(n) {
            *w = (-23.0 * draws[n * (k / n) + line(k % n)]).exp();
        }
        if along {
            all[n..2 * n].fill(1.0);
        }
        all[n / 3] = 1.0;
        let made = block(dev, n, grid.entries(Reach::Axes), &all);
        let op = Operator {
            grid,
            reach: Reach::Axes,
            entries: made,
        };
        let m = Multigrid::new(dev, op).unwrap();
        let b = block(dev, n, 1, &numbers(n, 8));
        let stop = Stopping {
            tol: 1e-12,
            maxit: 60,
        };
        let found = pcg(&OnDevice::new(dev), &m, &m, &b, None, stop).unwrap();
        assert_eq!(found.verdict(), Ok(()), "{dims:?}");
        assert!(found.iterations[0] > 20, "{dims:?}: too easy");
    }
}

pub(super) fn systems_of_any_shape_are_solved<D: Stencil>(dev: &D) {
    for dims in SHAPES
        .into_iter()
        .chain([[33, 40, 1], [11, 12, 13], [513, 1, 1], [0, 3, 1]])
    {
        let grid = Grid { dims };
        let n = grid.points();
        if n == 0 {
            continue;
        }
        let (op, a) = joined(dev, grid, Reach::Axes);
        let m = Multigrid::new(dev, op).unwrap();
        let b = numbers(n * 2, 8);
        let b = Mat::from_fn(n, 2, |i, j| b[j * n + i]);
        let mut x = Mat::<f64>::zeros(n, 2);
        let mut out = dev.zeros(n, 2).unwrap();
        let (mut before, mut first) = (f64::INFINITY, 0.0);
        for _ in 0..60 {
            let r = &b - &a * &x;
            let values: Vec<f64> = (0..n * 2).map(|k| r[(k % n, k / n)]).collect();
            m.apply(&block(dev, n, 2, &values), &mut out).unwrap();
            let e = fetch(dev, &out);
            let energy = (e.transpose() * &r).norm_max();
            // In the norm of A the error shrinks in every step.
            assert!(
                energy <= before * 1.0001 || energy < 1e-15 * first,
                "{dims:?}: {energy:e} after {before:e}"
            );
            before = energy;
            first = energy.max(first);
            x += e;
        }
        assert!(before < 1e-2 * first, "{dims:?}: {before:e} of {first:e}");
    }
}

/// Bit for bit on the CPU, with any number of threads.
#[test]
fn columns_are_as_if_they_were_alone() {
    let (one, two) = (CpuDevice::new(1), CpuDevice::new(2));
    for (dims, reach) in [([30, 21, 1], Reach::Axes), ([9, 8, 7], Reach::All)] {
        let grid = Grid { dims };
        let n = grid.points();
        let x = numbers(n * 5, 7);
        let applied = |dev: &CpuDevice, x: &[f64]| {
            let m = Multigrid::new(dev, joined(dev, grid, reach).0).unwrap();
            let columns = x.len() / n;
            let mut out = dev.zeros(n, columns).unwrap();
            m.apply(&block(dev, n, columns, x), &mut out).unwrap();
            fetch(dev, &out)
        };
        let all = applied(&two, &x);
        assert!(all == applied(&one, &x));
        for c in 0..5 {
            let alone = applied(&two, &x[c * n..(c + 1) * n]);
            assert!(alone.col(0) == all.col(c), "{dims:?}, column {c}");
        }
    }
}
