//! LU in pipelines compared with the textbook's algorithm, number for number, on matrices for which
//! the choice of pivots is hard.

use crate::backend::cuda::lu::factor::tests::{factored, largest, random, residual};
use crate::backend::cuda::lu::factor::*;

/// Operations of the textbook's elimination: a fused multiply-subtract, and the range of ordinary
/// pivots.
trait Textbook: Scalar {
    fn minus_product(self, l: Self, u: Self) -> Self;
    fn inverse(self) -> Self;
    fn divided(self, p: Self) -> Self;
    /// Between these bounds of a pivot, columns are multiplied by its reciprocal.
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

/// Ties, columns of zeros, dependent columns, NaN and infinities, and pivots near the ends of the
/// range.
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
    // Small enough for pipelines from the first column on, if the GPU has them.
    let piped = ctx.properties.cooperative && ctx.has(Family::LuPipeline);
    let plan = planned::<T>(ctx, (m, n)).unwrap();
    assert_eq!(plan.tail, if piped { 0 } else { m.min(n) }, "{m} {n}");
    // Few multiprocessors leave the last columns to products, whose sums have another order.
    if !piped || plan.capacity < n {
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

/// The textbook's elimination, with which pipelines are compared, gives factors of its matrices.
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
