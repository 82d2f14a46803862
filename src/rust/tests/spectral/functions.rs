//! A few values of matrices that are functions of the host: wrong ones and inexact ones.

use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::lanczos::eigen::symmetric;
use cudafactor::algo::lanczos::host::{Function, HostLinear, OnHost};
use cudafactor::algo::lanczos::svd::largest;
use cudafactor::algo::lanczos::wanted::{Found, Wanted, Which};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::matrix::Trans;

type Multiply<'f> = &'f dyn Fn(Trans, &HostBlock, &mut HostBlock) -> Result<()>;

fn on_host(inner: &dyn HostLinear) -> OnHost<'_> {
    let host = Host::new(1);
    OnHost { host, inner }
}

fn function(shape: (usize, usize), unit: f64, f: Multiply<'_>) -> impl HostLinear + use<'_> {
    let multiply = move |op: Trans, x: &HostBlock, out: &mut HostBlock| f(op, x, out);
    Function {
        shape,
        multiply,
        unit,
    }
}

fn svd(a: &dyn HostLinear, wanted: &Wanted) -> Result<Found> {
    let dev = &CpuDevice::new(1);
    largest::<f64, _, _, _>(dev, dev, &on_host(a), wanted)
}

fn eigen(a: &dyn HostLinear, wanted: &Wanted) -> Result<Found> {
    let dev = &CpuDevice::new(1);
    symmetric::<f64, _, _, _>(dev, dev, &on_host(a), Which::Magnitude, wanted)
}

/// Entries that look drawn at random.
fn entry(i: usize, j: usize) -> f64 {
    ((i * i * 31 + j * 17 + i * j * 13) % 101) as f64 / 50.0 - 1.0
}

/// `out <- factor op(A) x` for the matrix with these entries, each number passed through `round`.
fn multiply(
    (m, n): (usize, usize),
    op: Trans,
    x: &HostBlock,
    out: &mut HostBlock,
    round: impl Fn(f64) -> f64,
) {
    let (rows, inner) = if op.is_yes() { (n, m) } else { (m, n) };
    let columns = x.shape().1;
    for c in 0..columns {
        let x = x.column(c);
        for i in 0..rows {
            let at = |j: usize| {
                if op.is_yes() {
                    entry(j, i)
                } else {
                    entry(i, j)
                }
            };
            let sum: f64 = (0..inner).map(|j| at(j) * x[j]).sum();
            out.values_mut()[c * rows + i] = round(sum);
        }
    }
}

#[test]
fn a_wrong_transpose_is_refused_early() {
    for shape in [(300, 200), (200, 300), (40, 200), (200, 40), (1, 9), (9, 1)] {
        let wanted = Wanted::new(1, 1e-10, 1000);
        for factor in [-1.0, 2.0, 1e6, 0.0] {
            let called = std::cell::Cell::new(0);
            let f = |op: Trans, x: &HostBlock, out: &mut HostBlock| {
                called.set(called.get() + 1);
                let factor = if op.is_yes() { factor } else { 1.0 };
                multiply(shape, op, x, out, |sum| factor * sum);
                Ok(())
            };
            let found = svd(&function(shape, f64::EPSILON, &f), &wanted);
            let refused = matches!(found, Err(Error::NotTransposed { relative }) if relative > 0.1);
            assert!(refused, "{shape:?} {factor}: {found:?}");
            assert!(called.get() <= 6, "{}", called.get());
        }
        let right = |op: Trans, x: &HostBlock, out: &mut HostBlock| {
            multiply(shape, op, x, out, |sum| sum);
            Ok(())
        };
        let found = svd(&function(shape, f64::EPSILON, &right), &wanted).unwrap();
        assert!(found.converged[0], "{shape:?}: {found:?}");
    }
}

/// `A = H diag(values) H`, H a reflection, with numbers passed through `round`.
fn reflected(n: usize, x: &HostBlock, out: &mut HostBlock, round: impl Fn(f64) -> f64) {
    let h: Vec<f64> = (0..n).map(|i| entry(i, 3) + 0.1).collect();
    let square: f64 = h.iter().map(|h| h * h).sum();
    let reflect = |x: &[f64]| -> Vec<f64> {
        let along = 2.0 * h.iter().zip(x).map(|(h, x)| h * x).sum::<f64>() / square;
        x.iter().zip(&h).map(|(x, h)| x - along * h).collect()
    };
    for c in 0..x.shape().1 {
        let mut y = reflect(x.column(c));
        (0..n).for_each(|i| y[i] *= 1.0 + 9.0 * (i as f64 / n as f64).powi(8));
        let y = reflect(&y);
        (0..n).for_each(|i| out.values_mut()[c * n + i] = round(y[i]));
    }
}

#[test]
fn products_less_exact_than_the_tolerance_end_the_iteration() {
    let n = 500;
    let single = |x: f64| f64::from(x as f32);
    let f = |_: Trans, x: &HostBlock, out: &mut HostBlock| {
        reflected(n, x, out, single);
        Ok(())
    };
    let wanted = Wanted::new(3, 1e-10, 1000);
    // The tolerance is not below the rounding that is known.
    let known = function((n, n), f64::from(f32::EPSILON), &f);
    for found in [
        eigen(&known, &wanted).unwrap(),
        svd(&known, &wanted).unwrap(),
    ] {
        assert!(found.converged.iter().all(|c| *c), "{:?}", found.residuals);
        assert!(found.restarts < 100, "{}", found.restarts);
        assert!(found.residuals.iter().all(|r| *r < 1e-5));
    }
    // What is not known shows.
    let secret = function((n, n), f64::EPSILON, &f);
    for found in [
        eigen(&secret, &wanted).unwrap(),
        svd(&secret, &wanted).unwrap(),
    ] {
        assert!(!found.converged.iter().all(|c| *c), "{:?}", found.residuals);
        assert!(found.restarts < 300, "{}", found.restarts);
        assert!(found.residuals.iter().all(|r| *r < 1e-5));
    }
    let exact = |_: Trans, x: &HostBlock, out: &mut HostBlock| {
        reflected(n, x, out, |x| x);
        Ok(())
    };
    let found = eigen(&function((n, n), f64::EPSILON, &exact), &wanted).unwrap();
    assert!(found.converged.iter().all(|c| *c), "{:?}", found.residuals);
}

/// Second differences: the distances of the smallest values are tiny, products are exact.
#[test]
fn a_slow_iteration_goes_on() {
    let n = 5000;
    let f = |_: Trans, x: &HostBlock, out: &mut HostBlock| {
        for c in 0..x.shape().1 {
            let v = x.column(c);
            for i in 0..n {
                let before = if i > 0 { v[i - 1] } else { 0.0 };
                let after = if i + 1 < n { v[i + 1] } else { 0.0 };
                out.values_mut()[c * n + i] = 2.0 * v[i] - before - after;
            }
        }
        Ok(())
    };
    let a = function((n, n), f64::EPSILON, &f);
    let wanted = Wanted::new(2, 1e-10, 150);
    for found in [eigen(&a, &wanted).unwrap(), svd(&a, &wanted).unwrap()] {
        assert!(!found.converged.iter().all(|c| *c), "{:?}", found.residuals);
        assert_eq!(found.restarts, 150);
    }
}
