use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::qr::cholesky_qr::Panels;
use crate::backend::cuda::qr::factor::{factor, factor_in_ways, Ways};
use crate::backend::cuda::qr::householder::*;
use crate::base::matrix::Part;

/// Entries that look random, in (-1, 1).
fn entry(i: usize, j: usize) -> f64 {
    let mut z = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (j as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z = (z ^ (z >> 27)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn made<T: Scalar>(m: usize, n: usize, of: impl Fn(usize, usize) -> f64) -> faer::Mat<T> {
    faer::Mat::from_fn(m, n, |i, j| T::from_f64(of(i, j)))
}

fn on_gpu<T: Scalar>(ctx: &'static Context, a: &faer::Mat<T>) -> Matrix<'static, T> {
    Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap()
}

fn read<T: Scalar>(ctx: &'static Context, a: &Matrix<'_, T>) -> faer::Mat<T> {
    let (m, n) = a.shape();
    let mut host = faer::Mat::<T>::zeros(m, n);
    a.read(ctx, host.as_mut()).unwrap();
    host
}

fn factored<T: Scalar>(
    ctx: &'static Context,
    a: &faer::Mat<T>,
    panels: usize,
    products: bool,
) -> (faer::Mat<T>, Vec<T>) {
    let a = on_gpu(ctx, a);
    let ways = Ways {
        panels,
        products,
        pipelines: false,
    };
    let tau = factor_in_ways(ctx, a.view(), ways).unwrap();
    (read(ctx, &a), tau)
}

fn largest<T: Scalar>(a: &faer::Mat<T>, b: &faer::Mat<T>) -> f64 {
    let mut most = 0f64;
    for j in 0..a.ncols() {
        for i in 0..a.nrows() {
            let (x, y): (f64, f64) = (a[(i, j)].into(), b[(i, j)].into());
            most = most.max((x - y).abs());
            assert!(x.is_finite() && y.is_finite(), "({i}, {j}): {x} {y}");
        }
    }
    most
}

/// Whether a panel by products is refused; checks that it is then unchanged.
fn refuses<T: Scalar>(ctx: &'static Context, a: &faer::Mat<T>) -> bool {
    let (m, n) = (a.nrows(), a.ncols());
    let panels = Panels::new::<T>(ctx).unwrap();
    let outer = BlockReflector::new::<T>(ctx, n, m, 0).unwrap();
    let tau = Buffer::zeroed::<T>(ctx, n).unwrap();
    let gpu = on_gpu(ctx, a);
    let to = outer.room(0, m, n);
    panels.factor(5, gpu.view(), tau.ptr, to, true).unwrap();
    let refused = panels.refused().unwrap();
    assert!(refused.is_none_or(|first| first == 5));
    assert_eq!(panels.refused().unwrap(), None);
    if refused.is_some() {
        let after = read(ctx, &gpu);
        for j in 0..n {
            for i in 0..m {
                let (x, y): (f64, f64) = (after[(i, j)].into(), a[(i, j)].into());
                assert_eq!(x.to_bits(), y.to_bits(), "({i}, {j})");
            }
        }
    }
    refused.is_some()
}

#[test]
fn columns_and_products_agree() {
    columns_and_products_agree_in::<f64>();
    columns_and_products_agree_in::<f32>();
}

/// Signs, R, reflectors and their factors, for columns that are far from dependent.
fn columns_and_products_agree_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (m, n) in [
        (32, 32),
        (33, 32),
        (127, 127),
        (128, 128),
        (129, 128),
        (129, 129),
        (129, 700),
        (257, 256),
        (1500, 1200),
        (300, 257),
        (700, 300),
        (100, 333),
        (128, 200),
        (130, 500),
        (5000, 65),
        (40_000, 130),
    ] {
        // The diagonal is larger than the norm of the rest of a square matrix, about 1.2 of the
        // root of its order: no column is nearly dependent, and no sign in doubt.
        let diagonal = 2.0 * (m.min(n) as f64).sqrt();
        let a = made::<T>(m, n, |i, j| {
            entry(i, j) + if i == j { diagonal } else { 0.0 }
        });
        let (y, ty) = factored(ctx, &a, 1, false);
        for (panels, products) in [(1, true), (2, true), (PANELS, true), (PANELS, false)] {
            let (x, tx) = factored(ctx, &a, panels, products);
            let what = format!("{m} {n}, blocks of {panels} panels, products: {products}");
            let scale = (m as f64).sqrt() * T::EPS;
            let apart = largest(&x, &y) / scale;
            assert!(apart < 1000.0, "{what}: {apart}");
            for (j, (s, t)) in tx.iter().zip(&ty).enumerate() {
                let (s, t): (f64, f64) = ((*s).into(), (*t).into());
                assert!((s - t).abs() < 1000.0 * scale, "{what}, tau {j}: {s} {t}");
            }
        }
    }
}

#[test]
fn panels_are_refused_when_they_have_to_be() {
    panels_are_refused_when_they_have_to_be_in::<f64>();
    panels_are_refused_when_they_have_to_be_in::<f32>();
}

fn panels_are_refused_when_they_have_to_be_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let tiny = if T::EPS > 1e-10 { 1e-30 } else { 1e-200 };
    for (m, n) in [(32, 32), (100, 17), (400, 128), (128, 127), (1000, 64)] {
        if n > width::<T>(ctx) {
            continue;
        }
        let plain = |i: usize, j: usize| entry(i, j) + if i == j { 8.0 } else { 0.0 };
        let expect = |what: &str, refused: bool, of: &dyn Fn(usize, usize) -> f64| {
            let got = refuses(ctx, &made::<T>(m, n, of));
            assert_eq!(got, refused, "{what}, {m} x {n}, eps {:e}", T::EPS);
        };
        let odd = n / 2;
        expect("plain", false, &plain);
        let scaled = |i, j| plain(i, j) * 2f64.powi(20 * (j % 2) as i32);
        expect("scaled columns", false, &scaled);
        let repeated = |i, j| plain(i, if j == odd { 0 } else { j });
        expect("a column twice", true, &repeated);
        let empty = |i, j| if j == odd { 0.0 } else { plain(i, j) };
        expect("a column of zeros", true, &empty);
        expect("tiny", true, &|i, j| plain(i, j) * tiny);
        expect("huge", true, &|i, j| plain(i, j) / tiny);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let with = |i, j| match (i, j) == (m - 1, odd) {
                true => value,
                false => plain(i, j),
            };
            expect(&value.to_string(), true, &with);
        }
        // Nothing below the diagonal: LAPACK has no reflector there.
        let upper = |i, j| if i > j { 0.0 } else { plain(i, j) };
        expect("upper triangular", true, &upper);
    }
}

#[test]
fn refused_blocks_between_others() {
    refused_blocks_between_others_in::<f64>();
    refused_blocks_between_others_in::<f32>();
}

/// Panels column by column stand between panels from products, in blocks of one and of more;
/// columns before the first of them have the same bits as without it.
fn refused_blocks_between_others_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let width = width::<T>(ctx);
    let (m, n) = (11 * width + 50, 10 * width + 7);
    let plain = |i: usize, j: usize| entry(i, j) + if i == j { 8.0 } else { 0.0 };
    let a = made::<T>(m, n, plain);
    for panels in [1, PANELS] {
        refused_in_blocks_of(ctx, panels, &a, plain);
    }
}

fn refused_in_blocks_of<T: Scalar>(
    ctx: &'static Context,
    panels: usize,
    a: &faer::Mat<T>,
    plain: impl Fn(usize, usize) -> f64,
) {
    let ((m, n), width) = ((a.nrows(), a.ncols()), width::<T>(ctx));
    let (before, _) = factored(ctx, a, panels, true);
    for bad in [
        vec![0],
        vec![2],
        vec![2, 3],
        vec![1, 4],
        vec![4],
        vec![7, 8, 10],
        (0..=10).collect(),
    ] {
        // A column that repeats the one before it.
        let repeats = |j: usize| j % width == 3 && bad.contains(&(j / width));
        let b = made::<T>(m, n, |i, j| plain(i, if repeats(j) { j - 1 } else { j }));
        let (x, tau) = factored(ctx, &b, panels, true);
        let first = bad[0] * width;
        for j in 0..first {
            for i in 0..m {
                let (p, q): (f64, f64) = (x[(i, j)].into(), before[(i, j)].into());
                assert_eq!(p.to_bits(), q.to_bits(), "{panels}, {bad:?} ({i}, {j})");
            }
        }
        // Q'B = R.
        let c = on_gpu(ctx, &b);
        apply(ctx, Trans::Yes, on_gpu(ctx, &x).view(), &tau, c.view()).unwrap();
        let r = made::<T>(m, n, |i, j| if i <= j { x[(i, j)].into() } else { 0.0 });
        let off = largest(&read(ctx, &c), &r) / ((m as f64).sqrt() * T::EPS);
        assert!(off < 100.0, "{panels}, {bad:?}: {off}");
    }
}

#[test]
fn blocks_of_panels_are_applied_and_formed() {
    blocks_of_panels_are_applied_and_formed_in::<f64>();
    blocks_of_panels_are_applied_and_formed_in::<f32>();
}

/// Q by blocks of many panels has orthonormal columns, and Q'(QC) = C.
fn blocks_of_panels_are_applied_and_formed_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (m, n) in [(1100, 1024), (1030, 1030), (1700, 1290)] {
        let a = made::<T>(m, n, entry);
        let gpu = on_gpu(ctx, &a);
        let tau = factor(ctx, gpu.view()).unwrap();
        let q = on_gpu(ctx, &made::<T>(m, n, |_, _| f64::NAN));
        form(ctx, gpu.view(), &tau, q.view()).unwrap();
        let identity = made::<T>(m, n, |i, j| f64::from(u8::from(i == j)));
        let c = on_gpu(ctx, &identity);
        apply(ctx, Trans::No, gpu.view(), &tau, c.view()).unwrap();
        let scale = (m as f64).sqrt() * T::EPS;
        let apart = largest(&read(ctx, &c), &read(ctx, &q)) / scale;
        assert!(
            apart < 30.0,
            "{m} {n}: formed and applied differ by {apart}"
        );
        apply(ctx, Trans::Yes, gpu.view(), &tau, c.view()).unwrap();
        let lost = largest(&read(ctx, &c), &identity) / scale;
        assert!(lost < 30.0, "{m} {n}: Q'Q is off by {lost}");
    }
}

#[path = "pipeline_tests.rs"]
mod pipelines;
