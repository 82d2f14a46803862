//! trsm with hard triangles.
//!
//! The right-hand sides are products with a solution of order one. With arbitrary ones the solution
//! is as large as the inverse, and whatever is done with the inverse passes.

use super::common::calls::{solve, variants, Variant};
use super::common::residual::product;
use super::common::{for_each_device, matrices, Host};
use super::positive::Range;
use super::triangles::{gapped, hard, kahan};
use super::{allowed, exact, orders, textbook};
use cudafactor::base::matrix::{Diag, Side, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use faer::Mat;

for_each_device!(residuals_are_the_textbooks);

/// `MX = B` with a triangle M.
struct System<T> {
    m: Host<T>,
    lower: bool,
    b: Host<T>,
}

impl<T: Scalar> System<T> {
    /// From a lower triangle or from its transpose. Ones come on the diagonal by scaling the
    /// columns of the lower triangle.
    fn of(l: &Mat<f64>, lower: bool, diag: Diag, cols: usize) -> Self {
        let n = l.nrows();
        let entry = |i: usize, j: usize| match diag {
            Diag::Unit => l[(i, j)] / l[(j, j)],
            Diag::NonUnit => l[(i, j)],
        };
        let m = Host::<T>::from_fn(n, n, |i, j| if lower { entry(i, j) } else { entry(j, i) });
        // Of few digits, so that a triangle of integers gives its right-hand side without rounding,
        // and is solved without any.
        let x = matrices::random::<f64>(n, cols, 21);
        let x = Host::<T>::from_fn(n, cols, |i, j| (1024.0 * x.at(i, j)).round() / 1024.0);
        let b = product(m.wide().as_ref(), x.wide().as_ref());
        let b = Host::from_fn(n, cols, |i, j| b[(i, j)]);
        System { m, lower, b }
    }

    fn textbook(&self) -> f64 {
        let x = textbook::substitute(&self.m, self.lower, &self.b);
        exact::triangular(&self.m, self.lower, &x, &self.b)
    }

    fn error(&self, x: &Host<T>) -> f64 {
        exact::triangular(&self.m, self.lower, x, &self.b)
    }

    /// Whether `op(A)`, seen from the left, is a lower triangle as M is.
    fn fits(&self, v: Variant) -> bool {
        ((v.uplo == Uplo::Lower) != (v.trans.is_yes() != (v.side == Side::Right))) == self.lower
    }

    /// The solution that a device finds with A in this form, NaN where A is not to be read.
    fn solve<D: Device<T>>(&self, device: &D, v: Variant) -> Host<T> {
        let n = self.m.rows;
        let turned = (v.uplo == Uplo::Lower) != self.lower;
        let a = Host::from_fn(n, n, |i, j| {
            let inside = match v.uplo {
                Uplo::Upper => i < j,
                Uplo::Lower => i > j,
            };
            match (turned, inside || i == j && v.diag == Diag::NonUnit) {
                (_, false) => f64::NAN,
                (true, _) => self.m.at(j, i),
                (false, _) => self.m.at(i, j),
            }
        });
        match v.side {
            Side::Left => solve(device, v, n, &a, &self.b),
            Side::Right => {
                let x = solve(device, v, n, &a, &exact::transposed(&self.b));
                exact::transposed(&x)
            }
        }
    }
}

fn residuals_are_the_textbooks<T: Scalar, D: Device<T>>(device: &D) {
    for n in orders() {
        for (index, hard) in hard::<T>(n).iter().enumerate() {
            let l = hard.make(n);
            let cols = if n < 400 { [1, 7, 70][index % 3] } else { 20 };
            for (lower, diag) in [
                (true, Diag::NonUnit),
                (true, Diag::Unit),
                (false, Diag::NonUnit),
                (false, Diag::Unit),
            ] {
                let system = System::<T>::of(&l, lower, diag, cols);
                let reference = system.textbook();
                let limit = allowed(reference, n);
                for v in variants() {
                    if v.diag != diag || !system.fits(v) {
                        continue;
                    }
                    let found = system.error(&system.solve(device, v));
                    assert!(
                        found <= limit,
                        "{} {n}, {cols} columns, {v:?}: {found}, the textbook's {reference}, \
                         allowed {limit}",
                        hard.name
                    );
                }
            }
        }
    }
}

#[test]
fn inverses_are_found_out() {
    blocks_are_told_apart::<f64>();
    blocks_are_told_apart::<f32>();
}

/// That the judgement is worth something: with explicit inverses of diagonal blocks nothing passes
/// that is ill-conditioned within one.
fn blocks_are_told_apart<T: Scalar>() {
    let n = 129;
    for condition in Range::of::<T>().conditions {
        if condition < 1e3 {
            continue;
        }
        for (name, blocks, l) in [
            (
                "tiny pivot",
                &[16, 32, 64, 128][..],
                gapped(n, n, 1.0 / condition, &[21]),
            ),
            ("Kahan", &[64][..], kahan(64, condition)),
        ] {
            for lower in [true, false] {
                let system = System::<T>::of(&l, lower, Diag::NonUnit, 7);
                let limit = allowed(system.textbook(), l.nrows());
                for &block in blocks {
                    let x = textbook::multiply_by_inverses(&system.m, lower, block, &system.b);
                    assert!(
                        system.error(&x) > limit,
                        "{name} {condition:e}: inverses of order {block} pass"
                    );
                }
            }
        }
    }
}
