//! `A = Q T Q'` in one stage and in two, for matrices of every kind and sizes around those of the
//! band.

use faer::Mat;

use super::back::BAND;
use super::band;
use super::chase::chase;
use super::one_stage::OneStage;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::matrix::views::{Matrix, View};
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;

/// Symmetric, with entries of at most one.
pub(super) fn symmetric(n: usize, kind: &str) -> Mat<f64> {
    let entry = |i: usize, j: usize| {
        let (i, j) = (i.max(j), i.min(j));
        let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (j as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let graded = |i: usize| 10f64.powf(-12.0 * i as f64 / n as f64);
    Mat::from_fn(n, n, |i, j| match kind {
        "random" => entry(i, j),
        "graded" => entry(i, j) * graded(i) * graded(j),
        "identity" => f64::from(u8::from(i == j)),
        "zero" => 0.0,
        "ones" => 1.0,
        "one row" => match (i, j) {
            (0, _) | (_, 0) => 1.0,
            _ => 0.0,
        },
        _ => unreachable!("{kind}"),
    })
}

/// A reduction to tridiagonal form.
#[derive(Debug, Clone, Copy)]
enum Way {
    One(OneStage),
    Two,
}

/// Diagonal of T, what is below it, and Q in `z`.
fn reduced<T: Scalar>(ctx: &'static Context, a: View<T>, way: Way, z: View<T>) -> (Vec<T>, Vec<T>) {
    match way {
        Way::One(plan) => {
            let reduced = plan.reduce(ctx, a).unwrap();
            reduced.back(ctx, a, z).unwrap();
            (reduced.diagonal, reduced.below)
        }
        Way::Two => {
            let taus = band::reduce(ctx, a, BAND).unwrap();
            let chased = chase(ctx, a).unwrap();
            chased.back(ctx, z).unwrap();
            band::back(ctx, a, BAND, &taus, z).unwrap();
            (chased.diagonal, chased.below)
        }
    }
}

/// `||A - Q T Q'||` and `||Q'Q - I||` in units of eps, over that of A and the order's root.
fn errors<T: Scalar>(ctx: &'static Context, a: &Mat<f64>, way: Way) -> [f64; 2] {
    let n = a.nrows();
    let given = Mat::from_fn(n, n, |i, j| T::from_f64(a[(i, j)]));
    let there = Matrix::from_host(ctx, given.as_ref(), Part::All).unwrap();
    let z = Matrix::<T>::new(ctx, n, n).unwrap();
    z.set_identity(ctx).unwrap();
    let (diagonal, below) = reduced(ctx, there.view(), way, z.view());
    let mut q = Mat::<T>::zeros(n, n);
    z.read(ctx, q.as_mut()).unwrap();
    let q = Mat::from_fn(n, n, |i, j| q[(i, j)].into());
    let of = |list: &[T], i: usize| -> f64 { list[i].into() };
    let t = Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => of(&diagonal, i),
        1 => of(&below, i.min(j)),
        _ => 0.0,
    });
    let exact = Mat::from_fn(n, n, |i, j| given[(i, j)].into());
    let apart = &q * &t * q.transpose() - &exact;
    let unit = T::EPS * (n as f64).sqrt();
    let orthogonality = q.transpose() * &q - Mat::<f64>::identity(n, n);
    let size = exact.norm_l2().max(f64::MIN_POSITIVE);
    [
        apart.norm_l2() / (size * unit),
        orthogonality.norm_l2() / (unit * (n as f64).sqrt()),
    ]
}

#[test]
fn both_stages_give_the_matrix() {
    given::<f64>();
    given::<f32>();
}

fn given<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let sizes = [
        1, 2, 3, 31, 32, 33, 34, 63, 64, 65, 66, 67, 96, 127, 128, 129, 130, 200, 321, 700, 1100,
    ];
    for n in sizes {
        let one = OneStage::of::<T>(ctx, n).map(Way::One);
        for way in one.into_iter().chain([Way::Two]) {
            for kind in ["random", "graded", "identity", "zero", "ones", "one row"] {
                if n > 200 && kind != "random" {
                    continue;
                }
                let worst = errors::<T>(ctx, &symmetric(n, kind), way);
                assert!(
                    worst.iter().all(|x| *x < 20.0),
                    "{kind} {n} {way:?}: {worst:?}"
                );
            }
        }
    }
}

/// The largest orders for one stage, which keep some columns in place.
#[test]
fn columns_in_place_are_reduced() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let fits = |n: &usize| OneStage::of::<f64>(ctx, *n).is_some();
    let Some(n) = (1..=3072).rev().find(fits) else {
        return;
    };
    let way = Way::One(OneStage::of::<f64>(ctx, n).unwrap());
    let worst = errors::<f64>(ctx, &symmetric(n, "random"), way);
    assert!(worst.iter().all(|x| *x < 20.0), "{n} {way:?}: {worst:?}");
}

/// The same bits every time, and whatever number of blocks has the columns.
#[test]
fn one_stage_repeats() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let a = symmetric(500, "random");
    let reduced = |plan: OneStage| {
        let there = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
        let found = plan.reduce::<f64>(ctx, there.view()).unwrap();
        (found.diagonal, found.below)
    };
    let Some(plan) = OneStage::of::<f64>(ctx, 500) else {
        return;
    };
    let first = reduced(plan);
    for _ in 0..20 {
        assert!(reduced(plan) == first);
    }
    let fewer = OneStage::in_memory(500, 90, ctx.properties.shared);
    if let Some(fewer) = fewer.filter(|_| ctx.properties.multiprocessors > 90) {
        assert!(reduced(fewer) == first);
    }
}

/// The same bits every time, however the sweeps fall to blocks.
#[test]
fn chasing_repeats() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let a = symmetric(500, "random");
    let there = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
    let first = chase::<f64>(ctx, there.view()).unwrap();
    for _ in 0..20 {
        let again = chase::<f64>(ctx, there.view()).unwrap();
        assert!(again.diagonal == first.diagonal && again.below == first.below);
    }
}
