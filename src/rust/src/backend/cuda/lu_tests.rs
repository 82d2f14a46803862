//! Panels in blocks, and the workspace of those that take a launch for each column.

use super::*;

/// Panels put together in blocks make the same factor as one by one.
fn blocks_of_panels_agree<T: Scalar>(ctx: &'static Context) {
    for (m, n) in [(128, 128), (300, 300), (700, 650), (650, 900), (1100, 1029)] {
        let mut state = 12345u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            T::from_f64(f64::from(state >> 8) / f64::from(1 << 24) - 0.5)
        };
        let a: Vec<T> = (0..m * n).map(|_| next()).collect();
        let factored = |wide: usize| {
            let b = Buffer::from_slice(ctx, &a).unwrap();
            let info =
                factor_as_planned(ctx, View::<T>::new(b.ptr, m, n, m), wide, Plan::none(m, n))
                    .unwrap();
            let mut lu = a.clone();
            b.to_slice(&mut lu).unwrap();
            (lu, info.ipiv)
        };
        let (one, pivots) = factored(CLUSTER_PANEL);
        let largest = |x: &[T]| x.iter().fold(0.0, |m: f64, v| m.max((*v).into().abs()));
        for panels in [2, 3, 4] {
            let (lu, other) = factored(panels * CLUSTER_PANEL);
            assert_eq!(other, pivots, "{m} {n} {panels}");
            let off: Vec<T> = lu.iter().zip(&one).map(|(x, y)| *x - *y).collect();
            let limit = 1e5 * T::EPS * largest(&one);
            assert!(largest(&off) < limit, "{m} {n} {panels}: {}", largest(&off));
        }
    }
}

#[test]
fn cuda_blocks_of_panels_agree() {
    if let Some(ctx) = Context::for_test() {
        blocks_of_panels_agree::<f64>(ctx);
        blocks_of_panels_agree::<f32>(ctx);
    }
}

/// Workspace made for the first panel serves every later one, which has fewer rows.
#[test]
fn later_panels_fit_the_workspace_of_the_first() {
    let chunks = |m: usize| m.div_ceil(chunk_rows(m));
    assert!(chunks(65_536) > chunks(65_537));
    let mut most = 0;
    for m in 1..400_000 {
        most = most.max(chunks(m));
        assert!(most <= most_chunks(m), "{m}: {most}");
    }
}
