//! `A = Q1 B Q1'` by panels of two launches and by those of many.

use std::time::Instant;

use faer::Mat;

use super::super::back::BAND;
use super::super::tests::symmetric;
use super::*;
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::matrix::Part;

/// What is left in the reduced matrix's place, the factors, the number of refused panels, and the
/// time.
struct Reduced {
    there: Mat<f64>,
    taus: Vec<f64>,
    refused: usize,
    seconds: f64,
}

impl Reduced {
    /// B, of which one triangle is there.
    fn band(&self, i: usize, j: usize) -> f64 {
        match i.abs_diff(j) <= BAND {
            true => self.there[(i.max(j), i.min(j))],
            false => 0.0,
        }
    }
}

fn reduced(ctx: &'static Context, a: &Mat<f64>, together: bool) -> Reduced {
    let n = a.nrows();
    let on_gpu = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
    let mut reduction = Reduction::new(ctx, on_gpu.view(), BAND).unwrap();
    reduction.together = reduction.together.filter(|_| together);
    let start = Instant::now();
    let taus = reduction.finish(n - BAND).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let mut there = Mat::zeros(n, n);
    on_gpu.read(ctx, there.as_mut()).unwrap();
    Reduced {
        there,
        taus,
        refused: reduction.refused,
        seconds,
    }
}

/// `||A - Q1 B Q1'||` and `||Q1'Q1 - I||` in units of eps, over that of A and the order's root.
fn errors(ctx: &'static Context, a: &Mat<f64>, by: &Reduced) -> [f64; 2] {
    let n = a.nrows();
    let on_gpu = Matrix::from_host(ctx, by.there.as_ref(), Part::All).unwrap();
    let z = Matrix::<f64>::new(ctx, n, n).unwrap();
    z.set_identity(ctx).unwrap();
    back(ctx, on_gpu.view(), BAND, &by.taus, z.view()).unwrap();
    let mut q = Mat::zeros(n, n);
    z.read(ctx, q.as_mut()).unwrap();
    let band = Mat::from_fn(n, n, |i, j| by.band(i, j));
    let apart = &q * &band * q.transpose() - a;
    let orthogonality = q.transpose() * &q - Mat::<f64>::identity(n, n);
    let unit = f64::EPSILON * (n as f64).sqrt();
    let size = a.norm_l2().max(f64::MIN_POSITIVE);
    [
        apart.norm_l2() / (size * unit),
        orthogonality.norm_l2() / (unit * (n as f64).sqrt()),
    ]
}

/// `cargo test both_panels -- --nocapture` shows the errors.
#[test]
fn both_panels_give_the_matrix() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for n in [66, 96, 97, 100, 128, 130, 257, 600, 1000, 1031] {
        let a = symmetric(n, "random");
        for together in [true, false] {
            let by = reduced(ctx, &a, together);
            let worst = errors(ctx, &a, &by);
            println!("{n} {together}: {worst:.2?}, {} refused", by.refused);
            assert!(worst.iter().all(|x| *x < 20.0), "{n} {together}: {worst:?}");
            assert_eq!(by.refused, 0, "{n} {together}");
        }
    }
}

/// The same panels are refused either way, and then factored by columns.
#[test]
fn refused_panels_are_the_same() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let n = 700;
    let random = symmetric(n, "random");
    let identity = Mat::identity(n, n);
    let one_block = Mat::from_fn(n, n, |i, j| match i.max(j) < 200 {
        true => random[(i, j)],
        false => f64::from(u8::from(i == j)),
    });
    // Columns of the fourth panel depend on one another.
    let dependent = Mat::from_fn(n, n, |i, j| {
        let of = |i: usize| if (100..128).contains(&i) { 99 } else { i };
        random[(of(i).max(of(j)), of(i).min(of(j)))]
    });
    for (kind, a) in [
        ("identity", &identity),
        ("one block", &one_block),
        ("dependent", &dependent),
    ] {
        let [new, old] = [true, false].map(|together| reduced(ctx, a, together));
        println!("{kind}: {} and {} refused", new.refused, old.refused);
        assert_eq!(new.refused, old.refused, "{kind}");
        for by in [&new, &old] {
            let worst = errors(ctx, a, by);
            assert!(worst.iter().all(|x| *x < 20.0), "{kind}: {worst:?}");
        }
    }
}

/// The same bits every time.
#[test]
fn panels_repeat() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let a = symmetric(900, "random");
    let first = reduced(ctx, &a, true);
    for _ in 0..20 {
        let again = reduced(ctx, &a, true);
        assert!(again.there == first.there && again.taus == first.taus);
    }
}

/// Panels of all sizes up to those of order 4096, in the trace and the norm. `--nocapture` shows
/// the times; those of the second round are without what the first one loads.
#[test]
fn trace_and_norm_remain() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for n in [1024, 2048, 4096] {
        let a = symmetric(n, "random");
        let trace: f64 = (0..n).map(|i| a[(i, i)]).sum();
        for together in [true, false, true, false] {
            let by = reduced(ctx, &a, together);
            println!("{n} {together}: {:.2} ms", 1e3 * by.seconds);
            let kept: f64 = (0..n).map(|i| by.band(i, i)).sum();
            let near = |i: usize| i.saturating_sub(BAND)..(i + BAND + 1).min(n);
            let squares = (0..n).map(|i| near(i).map(|j| by.band(i, j).powi(2)).sum::<f64>());
            let (norm, exact) = (squares.sum::<f64>().sqrt(), a.norm_l2());
            assert!((trace - kept).abs() < 1e-12 * n as f64, "{n} {together}");
            assert!((norm - exact).abs() < 1e-12 * exact, "{n} {together}");
        }
    }
}
