//! Pipelines compared with column by column, for every size at which launches differ and columns of
//! every kind.

use crate::backend::cuda::qr::householder::tests::*;

fn piped<T: Scalar>(ctx: &'static Context, a: &faer::Mat<T>) -> (faer::Mat<T>, Vec<T>) {
    let a = on_gpu(ctx, a);
    let tau = factor(ctx, a.view()).unwrap();
    (read(ctx, &a), tau)
}

#[test]
fn columns_and_pipelines_agree() {
    columns_and_pipelines_agree_in::<f64>();
    columns_and_pipelines_agree_in::<f32>();
}

/// Compared with products, around all sizes at which the launches of a pipeline change.
fn columns_and_pipelines_agree_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (m, n) in [
        (1, 1),
        (1, 5),
        (2, 2),
        (7, 9),
        (8, 8),
        (9, 8),
        (300, 7),
        (511, 520),
        (512, 512),
        (513, 33),
        (40, 900),
        (1024, 1024),
        (1025, 1057),
        (1100, 1300),
        (2047, 40),
        (2048, 1200),
        (2049, 130),
        (2300, 2200),
        (4096, 24),
        (4097, 140),
    ] {
        let diagonal = 2.0 * (m.min(n) as f64).sqrt();
        let a = made::<T>(m, n, |i, j| {
            entry(i, j) + if i == j { diagonal } else { 0.0 }
        });
        let (y, ty) = factored(ctx, &a, 1, false);
        let (x, tx) = piped(ctx, &a);
        let scale = (m as f64).sqrt() * T::EPS;
        let apart = largest(&x, &y) / scale;
        assert!(apart < 1000.0, "{m} {n}: {apart}");
        for (j, (s, t)) in tx.iter().zip(&ty).enumerate() {
            let (s, t): (f64, f64) = ((*s).into(), (*t).into());
            assert!((s - t).abs() < 1000.0 * scale, "{m} {n}, tau {j}: {s} {t}");
        }
        let (again, _) = piped(ctx, &a);
        for j in 0..n {
            for i in 0..m {
                let (p, q): (f64, f64) = (x[(i, j)].into(), again[(i, j)].into());
                assert_eq!(p.to_bits(), q.to_bits(), "{m} {n} ({i}, {j})");
            }
        }
    }
}

#[test]
fn pipelines_take_any_column() {
    pipelines_take_any_column_in::<f64>();
    pipelines_take_any_column_in::<f32>();
}

/// Columns of zeros, repeated, near both ends of the range and all of them below the diagonal zero:
/// Q'A = R for each column, in pipelines and without them.
fn pipelines_take_any_column_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let (far, end) = match T::EPS > 1e-10 {
        true => (1e30, 1e37),
        false => (1e290, 1e306),
    };
    for (m, n) in [
        (40, 24),
        (40, 40),
        (700, 300),
        (600, 700),
        (1200, 1100),
        (2048, 60),
    ] {
        let of = |i: usize, j: usize| match j % 7 {
            // So near the end that one scaling is not enough.
            _ if n == 24 => entry(i, j) * end,
            1 => 0.0,
            2 => entry(i, j - 2),
            3 => entry(i, j) * far,
            4 => entry(i, j) / far,
            5 if i > j => 0.0,
            _ => entry(i, j),
        };
        let a = made::<T>(m, n, of);
        let ways = [
            ("pipelines", piped(ctx, &a)),
            ("column by column", factored(ctx, &a, 1, false)),
        ];
        for (way, (x, tau)) in ways {
            let c = on_gpu(ctx, &a);
            apply(ctx, Trans::Yes, on_gpu(ctx, &x).view(), &tau, c.view()).unwrap();
            let c = read(ctx, &c);
            for j in 0..n {
                let size: f64 = (0..m).map(|i| a[(i, j)].into().abs()).fold(0.0, f64::max);
                let limit = 200.0 * (m as f64).sqrt() * T::EPS * size;
                for i in 0..m {
                    let r: f64 = if i <= j { x[(i, j)].into() } else { 0.0 };
                    let q: f64 = c[(i, j)].into();
                    assert!((q - r).abs() <= limit, "{way} {m} {n} ({i}, {j}): {q} {r}");
                }
            }
        }
    }
    // The first column has nothing to reflect, and a NaN stays in its column and those behind it.
    let b = made::<T>(90, 80, |i, j| match (i, j) {
        (i, 0) if i > 0 => 0.0,
        (50, 20) => f64::NAN,
        _ => entry(i, j),
    });
    let (x, tau) = piped(ctx, &b);
    let first: f64 = x[(0, 0)].into();
    assert_eq!(first, b[(0, 0)].into());
    assert_eq!(tau[0].into(), 0.0);
    for j in 0..80 {
        let sum: f64 = (0..=j).map(|i| x[(i, j)].into()).sum();
        assert_eq!(sum.is_nan(), j >= 20, "{j}");
    }
}
