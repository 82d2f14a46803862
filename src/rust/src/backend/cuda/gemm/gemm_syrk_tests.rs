//! Products cut into launches.

use super::*;
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::matrix::Part;

/// Products cut into many launches agree with those made by one, and a triangle leaves the rest
/// alone.
#[test]
fn parts_make_the_whole() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let entry = |i: usize, j: usize| ((i * 37 + j * 101) % 64) as f64 - 31.0;
    for (m, n) in [(200, 300), (300, 200), (257, 257), (64, 1), (1, 64)] {
        let k = 50;
        let a = faer::Mat::<f64>::from_fn(m, k, entry);
        let b = faer::Mat::<f64>::from_fn(k, n, entry);
        let c0 = faer::Mat::<f64>::from_fn(m, n, |i, j| entry(i + 5, j));
        let product = &a * &b;
        let load = |x: &faer::Mat<f64>| Matrix::from_host(ctx, x.as_ref(), Part::All).unwrap();
        let (da, db) = (load(&a), load(&b));
        for triangle in [UpdatedPart::Full, UpdatedPart::Lower, UpdatedPart::Upper] {
            for transposed in [false, true] {
                let dc = load(&c0);
                let update = Update {
                    triangle,
                    ..Update::subtract()
                };
                let (va, vb, vc) = (da.view(), db.view(), dc.view());
                let flops = 2.0 * (m * k * 70) as f64;
                if transposed {
                    let update = Update {
                        triangle: triangle.t(),
                        ..update
                    };
                    multiply_in_parts(ctx, flops, update, vb.t(), va.t(), vc.t()).unwrap();
                } else {
                    multiply_in_parts(ctx, flops, update, va, vb, vc).unwrap();
                }
                let mut got = faer::Mat::<f64>::zeros(m, n);
                dc.read(ctx, got.as_mut()).unwrap();
                for j in 0..n {
                    for i in 0..m {
                        let inside = match triangle {
                            UpdatedPart::Full => true,
                            UpdatedPart::Lower => i >= j,
                            UpdatedPart::Upper => i <= j,
                        };
                        let want = c0[(i, j)] - if inside { product[(i, j)] } else { 0.0 };
                        assert_eq!(got[(i, j)], want, "{m} {n} {triangle:?} ({i}, {j})");
                    }
                }
            }
        }
    }
}
