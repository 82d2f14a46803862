//! Operators on grids against what their definitions say, as dense matrices, and multigrid with
//! them.

mod cycles;

use super::matrices::{block, close as near, fetch, numbers};
use super::on_each_device;
use cudafactor::algo::krylov::device_blocks::OnDevice;
use cudafactor::algo::krylov::outcome::Stopping;
use cudafactor::algo::krylov::pcg::pcg;
use cudafactor::algo::multigrid::geometric::Multigrid;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::threads::share;
use cudafactor::device::memory::Memory;
use cudafactor::device::multigrid::Step;
use cudafactor::device::stencil::{Grid, Operator, Reach, Stencil, Weights};
use cycles::{
    approximate_inverses_are_positive_definite, approximate_inverses_are_symmetric,
    systems_of_any_shape_are_solved,
};
use faer::Mat;

on_each_device!(
    products_and_steps,
    coarse_operators_are_products,
    weights_are_means,
    approximate_inverses_are_symmetric,
    approximate_inverses_are_positive_definite,
    systems_of_any_shape_are_solved,
);

/// Dimensions with odd and even ends, and axes that are not there.
const SHAPES: [[usize; 3]; 9] = [
    [7, 5, 1],
    [8, 8, 1],
    [1, 9, 1],
    [6, 1, 1],
    [5, 4, 3],
    [4, 6, 2],
    [1, 5, 6],
    [3, 1, 4],
    [1, 1, 5],
];

/// An operator's entries: couplings over orders of magnitude, some of them none, and an excess at
/// some points.
fn entries(grid: Grid, reach: Reach, seed: u64) -> Vec<f64> {
    let n = grid.points();
    let mut all = numbers(n * grid.entries(reach), seed);
    for (k, v) in all.iter_mut().enumerate() {
        let sparse = if k < n { *v < 0.7 } else { *v < 0.1 };
        *v = if sparse { 0.0 } else { (-12.0 * *v).exp() };
    }
    all[0] = 0.5;
    all
}

/// As the definition has it.
fn dense(grid: Grid, reach: Reach, entries: &[f64]) -> Mat<f64> {
    let n = grid.points();
    let mut a = Mat::zeros(n, n);
    for i in 0..n {
        a[(i, i)] += entries[i];
        for (f, offset) in grid.forwards(reach).into_iter().enumerate() {
            if let Some(j) = grid.place(grid.beside(i, offset)) {
                let w = entries[(1 + f) * n + i];
                a[(i, i)] += w;
                a[(j, j)] += w;
                a[(i, j)] -= w;
                a[(j, i)] -= w;
            }
        }
    }
    a
}

fn operator<D: Stencil>(
    dev: &D,
    grid: Grid,
    reach: Reach,
    seed: u64,
) -> (Operator<D::Mat<'static>>, Mat<f64>) {
    let all = entries(grid, reach, seed);
    let made = block(dev, grid.points(), grid.entries(reach), &all);
    let a = dense(grid, reach, &all);
    (
        Operator {
            grid,
            reach,
            entries: made,
        },
        a,
    )
}

fn close(x: &Mat<f64>, y: &Mat<f64>, scale: f64) {
    near("stencil", x, y, 0.1 * scale.max(1.0));
}

fn shapes(mut f: impl FnMut(Grid, Reach)) {
    for dims in SHAPES {
        for reach in [Reach::Axes, Reach::All] {
            f(Grid { dims }, reach);
        }
    }
}

fn products_and_steps<D: Stencil>(dev: &D) {
    shapes(|grid, reach| {
        let n = grid.points();
        let mut all = entries(grid, reach, 1);
        // As on coarse grids, some couplings are negative.
        if reach == Reach::All {
            all.iter_mut().skip(n).step_by(3).for_each(|w| *w = -*w);
        }
        let entries = block(dev, n, grid.entries(reach), &all);
        let (op, a) = (
            Operator {
                grid,
                reach,
                entries,
            },
            dense(grid, reach, &all),
        );
        let divisors: Vec<f64> = (0..n)
            .map(|i| {
                let sum: f64 = (0..n).map(|j| a[(i, j)].abs()).sum();
                a[(i, i)].max(sum / 2.0)
            })
            .collect();
        for columns in [1, 2, 5] {
            let draw = |seed| numbers(n * columns, seed);
            let (b, x, p) = (draw(2), draw(3), draw(4));
            let of = |v: &[f64]| Mat::from_fn(n, columns, |i, j| v[j * n + i]);
            let [db, dx] = [&b, &x].map(|v| block(dev, n, columns, v));
            let mut dp = block(dev, n, columns, &p);
            let mut out = dev.zeros(n, columns).unwrap();
            let (b, x, p) = (of(&b), of(&x), of(&p));
            dev.stencil_residual(&op, None, &dx, &mut out).unwrap();
            close(&fetch(dev, &out), &(&a * &x), 1.0);
            dev.stencil_residual(&op, Some(&db), &dx, &mut out).unwrap();
            close(&fetch(dev, &out), &(&b - &a * &x), 1.0);
            if divisors.contains(&0.0) {
                continue;
            }
            let scaled = |r: &Mat<f64>, by: f64| {
                Mat::from_fn(n, columns, |i, j| by * r[(i, j)] / divisors[i])
            };
            let step = Step {
                rate: 0.7,
                momentum: 0.3,
            };
            dev.stencil_relax(&op, &db, Some(&dx), step, &mut dp, &mut out)
                .unwrap();
            let wanted =
                Mat::from_fn(n, columns, |i, j| 0.3 * p[(i, j)]) + scaled(&(&b - &a * &x), 0.7);
            let scale = wanted.norm_max();
            close(&fetch(dev, &dp), &wanted, scale);
            close(&fetch(dev, &out), &(&x + &wanted), scale);
            // Without x nothing of p is read.
            let mut dp = block(dev, n, columns, &vec![f64::NAN; n * columns]);
            dev.stencil_relax(&op, &db, None, step, &mut dp, &mut out)
                .unwrap();
            let wanted = scaled(&b, 0.7);
            close(&fetch(dev, &dp), &wanted, scale);
            close(&fetch(dev, &out), &wanted, scale);
        }
    });
}

/// P as a dense matrix, from what prolongation makes of unit vectors.
fn interpolation<D: Stencil>(dev: &D, grid: Grid, weights: &Weights<D::Mat<'static>>) -> Mat<f64> {
    let (fine, coarse) = (grid.points(), grid.coarse().points());
    let unit = Mat::<f64>::identity(coarse, coarse);
    let all: Vec<f64> = (0..coarse * coarse)
        .map(|k| unit[(k % coarse, k / coarse)])
        .collect();
    let mut out = dev.zeros(fine, coarse).unwrap();
    dev.stencil_prolong(weights, &block(dev, coarse, coarse, &all), &mut out)
        .unwrap();
    fetch(dev, &out)
}

fn coarse_operators_are_products<D: Stencil>(dev: &D) {
    shapes(|grid, reach| {
        let (op, a) = operator(dev, grid, reach, 5);
        let weights = dev.stencil_interpolation(&op).unwrap();
        let p = interpolation(dev, grid, &weights);
        let coarse = dev.stencil_coarsen(&op, &weights).unwrap();
        assert_eq!((coarse.grid, coarse.reach), (grid.coarse(), Reach::All));
        let made = fetch(dev, &coarse.entries);
        let n = coarse.grid.points();
        let all: Vec<f64> = (0..made.ncols() * n)
            .map(|k| made[(k % n, k / n)])
            .collect();
        close(
            &dense(coarse.grid, Reach::All, &all),
            &(p.transpose() * &a * &p),
            10.0,
        );
        // Restriction is the transpose.
        let fine = grid.points();
        let x = numbers(fine * 3, 6);
        let mut down = dev.zeros(n, 3).unwrap();
        dev.stencil_restrict(&weights, &block(dev, fine, 3, &x), &mut down)
            .unwrap();
        let x = Mat::from_fn(fine, 3, |i, j| x[j * fine + i]);
        close(&fetch(dev, &down), &(p.transpose() * x), 10.0);
        // Prolongation adds.
        let mut out = block(dev, fine, 3, &vec![2.0; fine * 3]);
        dev.stencil_prolong(&weights, &down, &mut out).unwrap();
        let wanted = &p * fetch(dev, &down) + Mat::from_fn(fine, 3, |_, _| 2.0);
        close(&fetch(dev, &out), &wanted, 10.0);
    });
}

fn weights_are_means<D: Stencil>(dev: &D) {
    shapes(|grid, reach| {
        // Without an excess a constant is interpolated exactly where couplings are, and with one a
        // point is between it and zero.
        let n = grid.points();
        let mut all = entries(grid, reach, 9);
        all.iter_mut().skip(n).for_each(|w| *w += 1e-3);
        for excess in [0.0, 0.1] {
            all[..n].fill(excess);
            let entries = block(dev, n, grid.entries(reach), &all);
            let weights = dev
                .stencil_interpolation(&Operator {
                    grid,
                    reach,
                    entries,
                })
                .unwrap();
            let p = interpolation(dev, grid, &weights);
            let sums = p * Mat::from_fn(grid.coarse().points(), 1, |_, _| 1.0);
            for i in 0..n {
                let at = grid.beside(i, [0; 3]);
                let coarse = at.iter().all(|c| c % 2 == 0);
                let sum = sums[(i, 0)];
                assert!((0.0..=1.0 + 1e-14).contains(&sum));
                if coarse || excess == 0.0 {
                    assert!((sum - 1.0).abs() < 1e-14, "{grid:?} {at:?} {sum}");
                } else {
                    assert!(sum < 1.0);
                }
            }
        }
    });
}

/// What a device makes of everything that it does with an operator.
fn all_steps(threads: usize, grid: Grid, columns: usize) -> Vec<Mat<f64>> {
    let reach = Reach::Axes;
    let dev = &CpuDevice::new(threads);
    let n = grid.points();
    let op = Operator {
        grid,
        reach,
        entries: block(
            dev,
            n,
            grid.entries(reach),
            &numbers(n * grid.entries(reach), 1),
        ),
    };
    let draw = |seed| block(dev, n, columns, &numbers(n * columns, seed));
    let (b, x, mut p) = (draw(2), draw(3), draw(4));
    let mut out = dev.zeros(n, columns).unwrap();
    let mut all = Vec::new();
    dev.stencil_residual(&op, Some(&b), &x, &mut out).unwrap();
    all.push(fetch(dev, &out));
    let step = Step {
        rate: 0.7,
        momentum: 0.3,
    };
    dev.stencil_relax(&op, &b, Some(&x), step, &mut p, &mut out)
        .unwrap();
    all.extend([fetch(dev, &p), fetch(dev, &out)]);
    let weights = dev.stencil_interpolation(&op).unwrap();
    let coarse = dev.stencil_coarsen(&op, &weights).unwrap();
    all.extend([fetch(dev, &weights.entries), fetch(dev, &coarse.entries)]);
    let mut down = dev.zeros(grid.coarse().points(), columns).unwrap();
    dev.stencil_restrict(&weights, &out, &mut down).unwrap();
    dev.stencil_prolong(&weights, &down, &mut out).unwrap();
    all.extend([fetch(dev, &down), fetch(dev, &out)]);
    all
}

/// Bit by bit.
#[test]
fn threads_change_nothing() {
    for (dims, columns) in [([700, 601, 1], 5), ([40, 41, 42], 10)] {
        let grid = Grid { dims };
        // What costs least counts so many multiplications: the restriction in the plane, where it
        // has enough of them, and else a product.
        let least = match grid.axes() {
            2 => 16 * grid.coarse().points(),
            _ => 12 * grid.points(),
        };
        assert!(share(2, (least * columns) as f64) > 1);
        assert!(all_steps(1, grid, columns) == all_steps(2, grid, columns));
    }
}
