//! What conjugate gradients tell of the preconditioned matrix: its smallest eigenvalue, from the
//! recurrence's coefficients.
//!
//! They are those of Lanczos' tridiagonal matrix for `M^-1 A`, whose eigenvalues (Ritz values) lie
//! between the smallest and the largest of that, and come near the ends first (Saad 2003, Iterative
//! methods for sparse linear systems, section 6.7.3).

/// What a direction is made and used with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// How far x goes along it; 0 of a direction that was not gone along.
    pub step: f64,
    /// How much of the direction before it keeps; 0 where the recurrence begins, or is begun anew.
    pub kept: f64,
}

/// Halvings of the interval that the smallest is in.
const HALVINGS: usize = 60;

/// The smallest eigenvalue of the tridiagonal matrix, not below that of `M^-1 A`; infinite where
/// there was no step.
pub fn smallest_ritz_value(all: &[Coefficients]) -> f64 {
    let gone = all.iter().take_while(|c| c.step > 0.0);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut before = f64::INFINITY;
    for c in gone {
        diagonal.push(1.0 / c.step + c.kept / before);
        beside.push(c.kept / before / before);
        before = c.step;
    }
    // By how many negative pivots T - x has: one as soon as x is above the smallest. The matrix is
    // positive definite, and has each of its diagonal entries above that.
    let above = |x: f64| {
        let mut pivot = 1.0;
        diagonal.iter().zip(&beside).any(|(d, b)| {
            pivot = d - x - b / pivot;
            pivot <= 0.0
        })
    };
    let (mut low, mut high) = (0.0, diagonal.iter().copied().fold(f64::INFINITY, f64::min));
    if high.is_finite() {
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            *(if above(middle) { &mut high } else { &mut low }) = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::{smallest_ritz_value, Coefficients};
    use crate::algo::krylov::blocks::{Product, Unpreconditioned};
    use crate::algo::krylov::host_blocks::{Host, HostBlock};
    use crate::algo::krylov::outcome::Stopping;
    use crate::algo::krylov::pcg::pcg;

    /// Of a diagonal matrix, whose eigenvalues are all met after as many steps as there are
    /// different ones.
    #[test]
    fn eigenvalues_are_found() {
        let values = [0.03, 0.4, 2.0, 0.9, 0.03, 1.7];
        let multiply = |x: &HostBlock, out: &mut HostBlock| {
            for j in 0..x.shape().1 {
                for (i, d) in values.iter().enumerate() {
                    out.column_mut(j)[i] = d * x.column(j)[i];
                }
            }
            Ok(())
        };
        let a = Product { order: 6, multiply };
        // The second column has nothing of the smallest.
        let b = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0];
        let b = HostBlock::new(6, 2, b.to_vec()).unwrap();
        let stop = Stopping {
            tol: 1e-13,
            maxit: 50,
        };
        let found = pcg(&Host::new(1), &a, &Unpreconditioned, &b, None, stop).unwrap();
        for (c, smallest) in found.coefficients.iter().zip([0.03, 0.4]) {
            let off = smallest_ritz_value(c) / smallest - 1.0;
            assert!(off.abs() < 1e-12, "{off:e}");
        }
    }

    #[test]
    fn one_step_and_none() {
        let one = Coefficients {
            step: 4.0,
            kept: 0.0,
        };
        let not_gone = Coefficients {
            step: 0.0,
            kept: 0.5,
        };
        assert_eq!(smallest_ritz_value(&[one, not_gone]), 0.25);
        assert_eq!(smallest_ritz_value(&[]), f64::INFINITY);
    }
}
