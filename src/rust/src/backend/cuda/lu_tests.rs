//! LU in pipelines beside LU in panels and the textbook's, panels in blocks, and the workspace of those that take a launch for each
//! column.

use super::*;

/// Numbers between -1/2 and 1/2.
fn random<T: Scalar>(count: usize, seed: u32) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        T::from_f64(f64::from(state >> 8) / f64::from(1 << 24) - 0.5)
    };
    (0..count).map(|_| next()).collect()
}

fn largest<T: Scalar>(x: &[T]) -> f64 {
    x.iter().fold(0.0, |m: f64, v| m.max((*v).into().abs()))
}

/// L and U of a matrix of `m` rows, and its exchanges, in blocks of `wide` columns and with pipelines or without them. There are rows
/// between the columns on the device, and they are left alone.
fn factored<T: Scalar>(
    ctx: &'static Context,
    a: &[T],
    m: usize,
    wide: usize,
    pipelines: bool,
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
        true => Plan::of::<T>(ctx, m, n).unwrap(),
        false => Plan::none(m, n),
    };
    let info = factor_as_planned(ctx, View::<T>::new(b.ptr, m, n, ld), wide, plan).unwrap();
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

/// How far `L U x` is from `P A x`, in units of eps and of the sizes of L, U and x, for an x of random numbers.
fn residual<T: Scalar>(a: &[T], m: usize, lu: &[T], ipiv: &[usize]) -> f64 {
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

/// With pipelines: a factorization with partial pivoting, and in double precision, in which no two candidates come close, the same as
/// without them.
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
        let limit = 1e7 * T::EPS * largest(&panels);
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

/// What the textbook's elimination needs: one rounding for a product and a difference, and where a pivot is near an end of the range.
trait Textbook: Scalar {
    fn minus_product(self, l: Self, u: Self) -> Self;
    fn inverse(self) -> Self;
    fn divided(self, p: Self) -> Self;
    /// Pivots from here, and to here, are divided by as their reciprocals.
    fn ordinary() -> (f64, f64);
}
macro_rules! textbook {
    ($t:ty, $most:expr) => {
        impl Textbook for $t {
            fn minus_product(self, l: Self, u: Self) -> Self {
                l.mul_add(-u, self)
            }
            fn inverse(self) -> Self {
                1.0 / self
            }
            fn divided(self, p: Self) -> Self {
                self / p
            }
            fn ordinary() -> (f64, f64) {
                (2f64.powi(-$most), 2f64.powi($most))
            }
        }
    };
}
textbook!(f64, 1000);
textbook!(f32, 120);

/// Column by column, in place: as a pipeline rounds. A NaN counts at the head of its column alone.
fn textbook<T: Textbook>(a: &mut [T], m: usize) -> LuInfo {
    let n = a.len() / m;
    let size = |x: T| -> f64 { x.into().abs() };
    let mut info = LuInfo {
        ipiv: Vec::new(),
        zero: None,
    };
    for j in 0..m.min(n) {
        let column = &a[j * m..(j + 1) * m];
        let mut p = j;
        for i in j + 1..m {
            if !size(column[j]).is_nan() && size(column[i]) > size(column[p]) {
                p = i;
            }
        }
        info.ipiv.push(p);
        a.chunks_mut(m).for_each(|c| c.swap(j, p));
        let (head, tail) = a[j * m..].split_at_mut(m);
        let pivot = head[j];
        if size(pivot) == 0.0 {
            info.zero = info.zero.or(Some(j));
        } else if size(pivot) >= T::ordinary().0 && size(pivot) < T::ordinary().1 {
            let inverse = pivot.inverse();
            head[j + 1..].iter_mut().for_each(|x| *x *= inverse);
        } else {
            head[j + 1..].iter_mut().for_each(|x| *x = x.divided(pivot));
        }
        for c in tail.chunks_mut(m) {
            let u = c[j];
            for (x, l) in c[j + 1..].iter_mut().zip(&head[j + 1..]) {
                *x = x.minus_product(*l, u);
            }
        }
    }
    info
}

/// Ties, columns of zeros, dependent columns, NaN and infinities, and pivots near the ends of the range.
fn hard<T: Scalar>(m: usize, n: usize) -> Vec<(&'static str, Vec<T>)> {
    let numbers: Vec<f64> = random(m * n, (3 * m + n) as u32);
    let all = |f: &dyn Fn(usize, usize, f64) -> f64| -> Vec<T> {
        let at = |(e, x): (usize, &f64)| T::from_f64(f(e % m, e / m, *x));
        numbers.iter().enumerate().map(at).collect()
    };
    let tiny = 16.0 * f64::from(f32::MIN_POSITIVE);
    let tiny = if size_of::<T>() == 8 {
        16.0 * f64::MIN_POSITIVE
    } else {
        tiny
    };
    let middle = (m / 2, n / 2);
    vec![
        ("random", all(&|_, _, x| x)),
        ("signs", all(&|_, _, x| x.signum())),
        ("equal", all(&|_, _, _| 2.0)),
        ("integers", all(&|_, _, x| (5.0 * x).round())),
        ("zeros", all(&|_, _, _| 0.0)),
        ("negative zeros", all(&|_, _, _| -0.0)),
        (
            "one zero column",
            all(&|_, j, x| if j == n / 2 { 0.0 } else { x }),
        ),
        (
            "zero columns",
            all(&|_, j, x| if j % 3 == 1 { 0.0 } else { x }),
        ),
        (
            "few ranks",
            all(&|i, j, _| (i % 3) as f64 + 4.0 * (j % 2) as f64),
        ),
        (
            "NaN at the head",
            all(&|i, j, x| if (i, j) == (0, 0) { f64::NAN } else { x }),
        ),
        (
            "NaN elsewhere",
            all(&|i, j, x| if i == m - 1 && j == 0 { f64::NAN } else { x }),
        ),
        (
            "NaN later",
            all(&|i, j, x| if (i, j) == middle { f64::NAN } else { x }),
        ),
        ("NaN alone", all(&|_, _, _| f64::NAN)),
        (
            "infinity",
            all(&|i, j, x| if (i, j) == middle { f64::INFINITY } else { x }),
        ),
        (
            "infinities",
            all(&|i, j, x| {
                if i == m - 1 && j == 0 {
                    f64::NEG_INFINITY
                } else {
                    x
                }
            }),
        ),
        ("denormal", all(&|_, _, x| x * tiny / 64.0)),
        ("small", all(&|_, _, x| x * tiny)),
        ("large", all(&|_, _, x| x / tiny)),
        (
            "small and large",
            all(&|_, j, x| if j % 2 == 0 { x * tiny } else { x / tiny }),
        ),
    ]
}

fn pipelines_are_the_textbooks<T: Textbook>(ctx: &'static Context, m: usize, n: usize) {
    if Plan::of::<T>(ctx, m, n).unwrap().tail > 0 {
        return;
    }
    for (what, a) in hard::<T>(m, n) {
        let mut expected = a.clone();
        let right = textbook(&mut expected, m);
        let (lu, info) = factored(ctx, &a, m, CLUSTER_PANEL, true);
        assert_eq!(info.ipiv, right.ipiv, "{what} {m} {n}");
        assert_eq!(info.zero, right.zero, "{what} {m} {n}");
        for (e, (x, y)) in lu.iter().zip(&expected).enumerate() {
            let (x, y): (f64, f64) = ((*x).into(), (*y).into());
            let at = (e % m, e / m);
            let same = x == y || (x.is_nan() && y.is_nan());
            assert!(same, "{what} {m} {n} {at:?}: {x:e} {y:e}");
        }
    }
}

#[test]
fn cuda_pipelines_are_the_textbooks() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (m, n) in [
        (1, 1),
        (2, 2),
        (1, 5),
        (5, 1),
        (8, 8),
        (9, 9),
        (31, 33),
        (64, 64),
        (100, 70),
        (70, 100),
        (512, 24),
        (513, 24),
        (1024, 17),
        (1025, 17),
        (2048, 11),
        (260, 260),
    ] {
        pipelines_are_the_textbooks::<f64>(ctx, m, n);
        pipelines_are_the_textbooks::<f32>(ctx, m, n);
    }
    for m in [2049, 4096] {
        pipelines_are_the_textbooks::<f32>(ctx, m, 11);
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

/// The textbook's elimination, which pipelines are held against, makes factors of its matrices.
#[test]
fn the_textbook_factors() {
    for (m, n) in [(1, 1), (7, 5), (5, 7), (40, 40), (130, 90)] {
        for (what, a) in hard::<f64>(m, n).iter().take(9) {
            let mut lu = a.clone();
            let info = textbook(&mut lu, m);
            if largest(a) > 0.0 {
                let off = residual(a, m, &lu, &info.ipiv);
                assert!(off < 2.0, "{what} {m} {n}: {off}");
            }
        }
    }
}
