//! Algebraic multigrid, and systems with it.

use super::matrices::*;
use super::on_each_device;
use crate::common::few;
use cudafactor::algo::krylov::outcome::{Solution, Stopping};
use cudafactor::algo::multigrid::algebraic::Algebraic;
use cudafactor::algo::systems::preconditioner::Built;
use cudafactor::algo::systems::resident::pcg_resident;
use cudafactor::base::error::Error;
use cudafactor::device::sparse::Sparse;
use faer::Mat;

on_each_device!(
    approximate_inverses_are_symmetric,
    systems_of_any_shape_are_solved,
    small_parts_are_solved_on_coarser_levels,
    units_of_measurement_make_little_difference,
    many_columns_are_solved,
    what_is_not_definite_ends,
    answers_are_the_same_twice,
);

fn approximate_inverses_are_symmetric<D: Sparse>(dev: &D) {
    for (name, made) in cases() {
        let n = made.n;
        let m = Algebraic::new(dev, made.load(dev)).unwrap();
        let x: Vec<f64> = numbers(n * 4, 3).iter().map(|v| v - 0.5).collect();
        let mut out = dev.blank(n, 4).unwrap();
        if n == 0 {
            continue;
        }
        m.apply(dev, &block(dev, n, 4, &x), &mut out).unwrap();
        let products = of(n, 4, &x).transpose() * fetch(dev, &out);
        let scale = products.norm_max();
        for i in 0..4 {
            assert!(products[(i, i)] > 0.0, "{name}");
            for j in 0..i {
                let off = (products[(i, j)] - products[(j, i)]).abs();
                assert!(off < 1e-10 * scale, "{name}: {off:e} {scale:e}");
            }
        }
    }
}

const STOP: Stopping = Stopping {
    tol: 1e-9,
    maxit: 5000,
};

fn solved<D: Sparse>(dev: &D, a: &Entries, made: Built, b: &[f64]) -> (Solution<()>, Mat<f64>) {
    let columns = b.len().checked_div(a.n).unwrap_or(1);
    let b = block(dev, a.n, columns, b);
    let found = pcg_resident(dev, a.load(dev), made, &b, None, STOP).unwrap();
    let x = fetch(dev, &found.x);
    let rest = Solution {
        x: (),
        iterations: found.iterations,
        history: found.history,
        residuals: found.residuals,
        coefficients: found.coefficients,
        ends: found.ends,
    };
    (rest, x)
}

fn systems_of_any_shape_are_solved<D: Sparse>(dev: &D) {
    for (name, a) in cases() {
        let b = numbers(a.n, 8);
        for made in [Built::Multigrid, Built::Jacobi, Built::None] {
            let (found, x) = solved(dev, &a, made, &b);
            found.verdict().unwrap();
            if a.n == 0 {
                continue;
            }
            let off = (of(a.n, 1, &b) - a.dense() * x).norm_l2() / of(a.n, 1, &b).norm_l2();
            assert!(found.converged()[0], "{name} {made:?}: {:?}", found.ends);
            assert!(off <= 1.01e-9, "{name} {made:?}: {off:e}");
            if ["plane", "space", "slanted", "parts"].contains(&name) && made == Built::Multigrid {
                let most = if name == "slanted" { 60 } else { 35 };
                assert!(
                    found.iterations[0] <= most,
                    "{name}: {:?}",
                    found.iterations
                );
            }
        }
    }
}

/// They may be finished between the two passes of a level, where nothing relaxes.
fn small_parts_are_solved_on_coarser_levels<D: Sparse>(dev: &D) {
    let a = crumbs(if few() { 100 } else { 1500 });
    let (found, _) = solved(dev, &a, Built::Multigrid, &numbers(a.n, 8));
    assert!(found.converged()[0], "{:?}", found.ends);
    assert!(found.iterations[0] <= 25, "{:?}", found.iterations);
}

/// The same systems with unknowns and equations scaled, by numbers over two orders of magnitude.
fn units_of_measurement_make_little_difference<D: Sparse>(dev: &D) {
    let side = if few() { 20 } else { 70 };
    for mut a in [
        grid([side, side, 1], [1.0; 3], 1e-3),
        graph(side * side, 3, 1e-3, 3),
    ] {
        let b = numbers(a.n, 8);
        let (plain, _) = solved(dev, &a, Built::Multigrid, &b);
        let by: Vec<f64> = numbers(a.n, 12)
            .iter()
            .map(|v| 10f64.powf(2.0 * v - 1.0))
            .collect();
        a.entries
            .iter_mut()
            .for_each(|(i, j, v)| *v *= by[*i] * by[*j]);
        let (scaled, x) = solved(dev, &a, Built::Multigrid, &[&b[..], &b[..]].concat());
        assert!(scaled.converged().iter().all(|c| *c));
        let most = 3 * plain.iterations[0];
        assert!(
            scaled.iterations[0] <= most,
            "{:?} {most}",
            scaled.iterations
        );
        let x: Vec<f64> = (0..a.n).map(|i| x[(i, 1)]).collect();
        let product = a.times(&x);
        let off = product.iter().zip(&b).map(|(p, b)| (p - b).powi(2));
        let norm: f64 = b.iter().map(|b| b * b).sum();
        assert!(off.sum::<f64>().sqrt() <= 1.01e-9 * norm.sqrt());
    }
}

fn many_columns_are_solved<D: Sparse>(dev: &D) {
    let a = grid([40, 30, 1], [1.0; 3], 1e-3);
    for columns in 1..=9 {
        let mut b = numbers(a.n * columns, 11);
        // A column of zeros has the solution zero.
        b[..a.n].fill(0.0);
        let (found, x) = solved(dev, &a, Built::Multigrid, &b);
        assert!(found.converged().iter().all(|c| *c));
        assert_eq!(found.iterations[0], 0);
        assert!((0..a.n).all(|i| x[(i, 0)] == 0.0));
        let off = of(a.n, columns, &b) - a.dense() * &x;
        assert!(off.norm_l2() <= 2e-9 * of(a.n, columns, &b).norm_l2().max(1.0));
    }
    let none = pcg_resident(
        dev,
        a.load(dev),
        Built::Multigrid,
        &dev.blank(a.n, 0).unwrap(),
        None,
        STOP,
    );
    assert!(none.unwrap().iterations.is_empty());
    let wrong = [1.0, f64::NAN].repeat(a.n / 2);
    let found = pcg_resident(
        dev,
        a.load(dev),
        Built::Multigrid,
        &block(dev, a.n, 1, &wrong),
        None,
        STOP,
    );
    assert_eq!(found.err(), Some(Error::NonFiniteIn { argument: "b" }));
}

fn what_is_not_definite_ends<D: Sparse>(dev: &D) {
    let shifted = |by: f64| {
        let mut a = grid([40, 30, 1], [1.0; 3], 0.0);
        a.entries
            .iter_mut()
            .filter(|(i, j, _)| i == j)
            .for_each(|(_, _, v)| *v -= by);
        a
    };
    let zero = Entries::new(300).with(3, 4, 1.0).with(5, 5, 1.0);
    for (a, made) in [
        (shifted(0.5), Built::Multigrid),
        (shifted(0.5), Built::None),
        (shifted(3.0), Built::Multigrid),
        (shifted(20.0), Built::Multigrid),
        (zero, Built::Multigrid),
    ] {
        let (found, _) = solved(dev, &a, made, &numbers(a.n, 5));
        let e = found.verdict().unwrap_err();
        assert!(matches!(e, Error::Indefinite { .. }), "{e:?}");
    }
    let jacobi = pcg_resident(
        dev,
        shifted(20.0).load(dev),
        Built::Jacobi,
        &block(dev, 1200, 1, &numbers(1200, 5)),
        None,
        STOP,
    );
    let e = jacobi.err();
    assert!(matches!(e, Some(Error::NotPositiveDefinite { .. })));
}

fn answers_are_the_same_twice<D: Sparse>(dev: &D) {
    for (name, a) in cases() {
        let b = numbers(a.n * 2, 21);
        let [one, two] = [0, 1].map(|_| solved(dev, &a, Built::Multigrid, &b).1);
        let same = |i: usize, j: usize| one[(i, j)].to_bits() == two[(i, j)].to_bits();
        assert!((0..a.n).all(|i| same(i, 0) && same(i, 1)), "{name}");
    }
}
