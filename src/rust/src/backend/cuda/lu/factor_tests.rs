//! LU in pipelines compared with LU in panels, panels in blocks, exchanges at the end compared with
//! those at once, and the workspace of LU with a launch for each column.

use crate::backend::cuda::lu::factor::*;

/// Numbers between -1/2 and 1/2.
pub(crate) fn random<T: Scalar>(count: usize, seed: u32) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        T::from_f64(f64::from(state >> 8) / f64::from(1 << 24) - 0.5)
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn largest<T: Scalar>(x: &[T]) -> f64 {
    x.iter().fold(0.0, |m: f64, v| m.max((*v).into().abs()))
}

/// L and U of a matrix of `m` rows, and its exchanges, in blocks of `wide` columns and with
/// pipelines or without them. There are rows between the columns on the device, and they are left
/// alone.
pub(crate) fn factored<T: Scalar>(
    ctx: &'static Context,
    a: &[T],
    m: usize,
    wide: usize,
    pipelines: bool,
) -> (Vec<T>, LuInfo) {
    factored_left(ctx, a, m, wide, pipelines, wide > CLUSTER_PANEL)
}

/// Like [`factored`], with columns to the left exchanged at once or, if there is memory, at the
/// end.
fn factored_left<T: Scalar>(
    ctx: &'static Context,
    a: &[T],
    m: usize,
    wide: usize,
    pipelines: bool,
    deferred: bool,
) -> (Vec<T>, LuInfo) {
    const BETWEEN: usize = 3;
    let n = a.len() / m;
    let ld = m + BETWEEN;
    let mut all = vec![T::from_f64(-7.0); ld * n];
    for (to, from) in all.chunks_mut(ld).zip(a.chunks(m)) {
        to[..m].copy_from_slice(from);
    }
    let b = Buffer::from_slice(ctx, &all).unwrap();
    let plan = match pipelines {
        true => planned::<T>(ctx, (m, n)).unwrap(),
        false => PipelinePlan::none(crate::backend::cuda::lu::factor::pipelines::<T>(), (m, n)),
    };
    let info =
        factor_as_planned(ctx, View::<T>::new(b.ptr, m, n, ld), wide, plan, deferred).unwrap();
    b.to_slice(&mut all).unwrap();
    let mut lu = Vec::with_capacity(m * n);
    for column in all.chunks(ld) {
        lu.extend_from_slice(&column[..m]);
        assert!(column[m..].iter().all(|x| (*x).into() == -7.0), "{m} {n}");
    }
    (lu, info)
}

/// Panels put together in blocks make the same factor as one by one.
fn blocks_of_panels_agree<T: Scalar>(ctx: &'static Context) {
    for (m, n) in [(128, 128), (300, 300), (700, 650), (650, 900), (1100, 1029)] {
        let a: Vec<T> = random(m * n, 12345);
        let (one, info) = factored(ctx, &a, m, CLUSTER_PANEL, false);
        for panels in [2, 3, 4] {
            let (lu, other) = factored(ctx, &a, m, panels * CLUSTER_PANEL, false);
            assert_eq!(other.ipiv, info.ipiv, "{m} {n} {panels}");
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

/// Equal candidates, and a column of zeros.
fn tied<T: Scalar>(m: usize, n: usize) -> Vec<T> {
    let mut a: Vec<T> = random(m * n, (m + n) as u32);
    for x in &mut a {
        *x = T::from_f64({
            let x: f64 = (*x).into();
            (20.0 * x).round()
        });
    }
    let zero = n / 3;
    a[zero * m..(zero + 1) * m].fill(T::from_f64(0.0));
    a
}

/// The same factor as with exchanges at once, bit for bit.
fn deferred_is_at_once<T: Scalar>(ctx: &'static Context, m: usize, n: usize) {
    for a in [random(m * n, (m + 3 * n) as u32), tied::<T>(m, n)] {
        for pipelines in [true, false] {
            let way = |deferred| factored_left(ctx, &a, m, 4 * CLUSTER_PANEL, pipelines, deferred);
            let (now, info) = way(false);
            let (late, other) = way(true);
            assert_eq!(other.ipiv, info.ipiv, "{m} {n} {pipelines}");
            assert_eq!(other.zero, info.zero, "{m} {n} {pipelines}");
            let bits = |x: T| -> u64 {
                let x: f64 = x.into();
                x.to_bits()
            };
            let off = late
                .iter()
                .zip(&now)
                .position(|(x, y)| bits(*x) != bits(*y));
            let at = off.map(|e| (e % m, e / m));
            assert_eq!(at, None, "{m} {n} {pipelines} {}", size_of::<T>());
        }
    }
}

#[test]
fn cuda_exchanges_at_the_end_are_those_at_once() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (m, n) in [
        (513, 513),
        (2300, 2300),
        (2700, 2701),
        (3500, 3500),
        (3400, 1100),
        (3500, 600),
        (1100, 3000),
        (2600, 4000),
        (4700, 1500),
    ] {
        deferred_is_at_once::<f64>(ctx, m, n);
        deferred_is_at_once::<f32>(ctx, m, n);
    }
    deferred_is_at_once::<f32>(ctx, 5000, 5000);
}

/// How far `L U x` is from `P A x`, in units of eps and of the sizes of L, U and x, for an x of
/// random numbers.
pub(crate) fn residual<T: Scalar>(a: &[T], m: usize, lu: &[T], ipiv: &[usize]) -> f64 {
    let (n, k) = (a.len() / m, ipiv.len());
    let x: Vec<f64> = random(n, 99);
    let at = |a: &[T], i: usize, j: usize| -> f64 { a[i + j * m].into() };
    let (mut pax, mut ux, mut lux) = (vec![0.0; m], vec![0.0; k], vec![0.0; m]);
    let (mut sizes, mut size) = (vec![0.0; k], 0.0f64);
    for (j, &xj) in x.iter().enumerate() {
        for (i, y) in pax.iter_mut().enumerate() {
            *y += at(a, i, j) * xj;
        }
        for i in 0..k.min(j + 1) {
            ux[i] += at(lu, i, j) * xj;
            sizes[i] += (at(lu, i, j) * xj).abs();
        }
    }
    for (i, &p) in ipiv.iter().enumerate() {
        pax.swap(i, p);
    }
    for (j, &u) in ux.iter().enumerate() {
        lux[j] += u;
        size = size.max(sizes[j]);
        for (i, y) in lux.iter_mut().enumerate().skip(j + 1) {
            *y += at(lu, i, j) * u;
        }
    }
    let off = pax.iter().zip(&lux).map(|(x, y)| (x - y).abs());
    off.fold(0.0, f64::max) / (T::EPS * size * k as f64)
}

/// With pipelines the result is a factorization with partial pivoting. In double precision, where
/// no two candidates are close, it equals the one without them.
fn pipelines_agree<T: Scalar>(ctx: &'static Context, m: usize, n: usize) {
    let k = m.min(n);
    let a: Vec<T> = random(m * n, (m + 7 * n) as u32);
    let (lu, info) = factored(ctx, &a, m, CLUSTER_PANEL, true);
    assert_eq!(info.zero, None, "{m} {n}");
    assert_eq!(info.ipiv.len(), k, "{m} {n}");
    for (j, &p) in info.ipiv.iter().enumerate() {
        assert!((j..m).contains(&p), "{m} {n}: {j} {p}");
        let l = largest(&lu[j * m + j + 1..(j + 1) * m]);
        assert!(l <= 1.0 + 2.0 * T::EPS, "{m} {n}: {l}");
    }
    let off = residual(&a, m, &lu, &info.ipiv);
    assert!(off < 4.0, "{m} {n}: {off}");
    if size_of::<T>() == size_of::<f64>() {
        let (panels, other) = factored(ctx, &a, m, CLUSTER_PANEL, false);
        assert_eq!(other.ipiv, info.ipiv, "{m} {n}");
        let off: Vec<T> = lu.iter().zip(&panels).map(|(x, y)| *x - *y).collect();
        let limit = 1e6 * T::EPS * largest(&panels);
        assert!(largest(&off) < limit, "{m} {n}: {}", largest(&off));
    }
}

#[test]
fn cuda_pipelines_agree_with_panels() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let orders = [
        1, 2, 7, 8, 9, 31, 33, 255, 511, 512, 513, 1023, 1024, 1025, 1056, 1057, 1100, 2047, 2048,
        2049, 2300,
    ];
    let mut sizes: Vec<(usize, usize)> = orders.map(|n| (n, n)).to_vec();
    sizes.extend([
        (2048, 5),
        (900, 40),
        (1, 9),
        (1, 2000),
        (9, 1),
        (2048, 1),
        (40, 900),
        (500, 3000),
        (1024, 1100),
        (2048, 1057),
        (2100, 60),
        (2200, 700),
        (4096, 30),
        (4097, 300),
        (4400, 400),
        (20_000, 130),
    ]);
    for (m, n) in sizes {
        pipelines_agree::<f64>(ctx, m, n);
        pipelines_agree::<f32>(ctx, m, n);
    }
}

/// The workspace of the first panel suffices for every later one, which has fewer rows.
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
