//! qrls_batched, and the driver that cuts batches into parts.

use crate::common::{for_each_device, matrices, residual, Host};
use cudafactor::algo::dense::least_squares::{fit, fit_batch, Fit, Fits};
use cudafactor::algo::dense::qr_apply::{self, ReflectorForm, Reflectors};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::batched::{ProblemShape, Ranks};
use cudafactor::device::dense::Device;
use faer::{MatMut, MatRef};

for_each_device!(
    every_shape,
    every_count,
    same_answer_wherever_it_stands,
    too_large_for_one_launch,
    nothing_at_all,
    nan_does_not_hang,
);

/// Everything about some fits.
struct Solved {
    qr: Vec<f64>,
    effects: Vec<f64>,
    residuals: Vec<f64>,
    coefficients: Vec<f64>,
    qraux: Vec<f64>,
    ranks: Ranks,
}

/// Solves them, in memory full of NaN before.
fn solve<T: Scalar, D: Device<T>>(
    device: &D,
    shape: ProblemShape,
    x: &[f64],
    y: &[f64],
    count: usize,
    tol: f64,
) -> Solved {
    let ProblemShape { m, n, q } = shape;
    let nan = |len: usize| vec![f64::NAN; len * count];
    let mut s = Solved {
        qr: nan(m * n),
        effects: nan(m * q),
        residuals: nan(m * q),
        coefficients: nan(n * q),
        qraux: nan(n),
        ranks: Ranks::default(),
    };
    let out = Fits {
        qr: &mut s.qr,
        effects: &mut s.effects,
        residuals: &mut s.residuals,
        coefficients: &mut s.coefficients,
        qraux: &mut s.qraux,
    };
    s.ranks = fit_batch::<T, D>(device, shape, count, (x, y), tol, out).unwrap();
    s
}

/// In the precision of T.
fn values<T: Scalar>(a: &Host<T>) -> Vec<f64> {
    (0..a.cols * a.rows)
        .map(|e| a.at(e % a.rows, e / a.rows))
        .collect()
}

/// That problem `i` has the rank, the order and the solution that the processor finds for it alone.
fn check<T: Scalar>(
    what: &str,
    shape: ProblemShape,
    x: &[f64],
    y: &[f64],
    s: &Solved,
    i: usize,
    tol: f64,
) {
    let ProblemShape { m, n, q } = shape;
    let (x, y) = (&x[i * m * n..][..m * n], &y[i * m * q..][..m * q]);
    let narrow = |v: &[f64]| v.iter().map(|&v| T::from_f64(v)).collect::<Vec<T>>();
    let (tx, ty) = (narrow(x), narrow(y));
    let zeros = |len: usize| vec![T::from_f64(0.0); len];
    let (mut a, mut e, mut r, mut b) = (zeros(m * n), zeros(m * q), zeros(m * q), zeros(n * q));
    let alone = fit(
        &CpuDevice::new(1),
        MatRef::from_column_major_slice(&tx, m, n),
        MatRef::from_column_major_slice(&ty, m, q),
        tol,
        Fit {
            qr: MatMut::from_column_major_slice_mut(&mut a, m, n),
            effects: MatMut::from_column_major_slice_mut(&mut e, m, q),
            residuals: MatMut::from_column_major_slice_mut(&mut r, m, q),
            coefficients: MatMut::from_column_major_slice_mut(&mut b, n, q),
        },
    )
    .unwrap();
    let jpvt = &s.ranks.jpvt[i * n..][..n];
    let rank = s.ranks.rank[i] as usize;
    let expected: Vec<i32> = alone.jpvt.iter().map(|&j| j as i32).collect();
    assert_eq!((rank, jpvt), (alone.rank, &expected[..]), "{what}");
    // Backward error of the factor, orthogonality, y = QQ'y, and R b = Q'y, all on the processor.
    let one = |all: &[f64], rows: usize, cols: usize| {
        let part = all[i * rows * cols..][..rows * cols].to_vec();
        Host::<T>::from_fn(rows, cols, |r, c| part[c * rows + r])
    };
    let (factor, qraux) = (one(&s.qr, m, n), &s.qraux[i * n..][..m.min(n)]);
    let order = |r: usize, c: usize| x[jpvt[c] as usize * m + r];
    let permuted = Host::<T>::from_fn(m, n, order);
    let reflectors = |k: usize| Reflectors {
        form: ReflectorForm::Linpack,
        matrix: factor.view(),
        qraux: &qraux[..k],
    };
    let mut q_all = Host::<T>::from_fn(m, m, |_, _| f64::NAN);
    qr_apply::form(&CpuDevice::new(1), reflectors(m.min(n)), q_all.view_mut()).unwrap();
    let lost = residual::orthogonality(&q_all);
    assert!(lost < residual::ORTHOGONAL, "{what}: orthogonality {lost}");
    let error = residual::qr(&permuted, &q_all, &factor);
    assert!(error < residual::BACKWARD, "{what}: factor {error}");
    let mut q_rank = Host::<T>::from_fn(m, m, |_, _| f64::NAN);
    qr_apply::form(&CpuDevice::new(1), reflectors(rank), q_rank.view_mut()).unwrap();
    let (effects, rest) = (one(&s.effects, m, q), one(&s.residuals, m, q));
    let b = one(&s.coefficients, n, q);
    let wide = q_rank.wide();
    let scale =
        y.iter().fold(f64::MIN_POSITIVE, |l, v| l.max(v.abs())) * m as f64 * m as f64 * T::EPS;
    for c in 0..q {
        for r in 0..m {
            let product =
                |from: usize| -> f64 { (from..m).map(|l| wide[(r, l)] * effects.at(l, c)).sum() };
            let off = (product(0) - y[c * m + r])
                .abs()
                .max((product(rank) - rest.at(r, c)).abs());
            assert!(off < residual::BACKWARD * scale, "{what}: y {off}");
        }
        for r in 0..rank {
            let terms = || (r..rank).map(|l| factor.at(r, l) * b.at(l, c));
            let size: f64 = terms().map(f64::abs).sum::<f64>() + effects.at(r, c).abs();
            let off = (terms().sum::<f64>() - effects.at(r, c)).abs();
            let bound = residual::BACKWARD * size * n as f64 * T::EPS;
            assert!(off <= bound, "{what}: coefficients {off}");
        }
        assert!(
            (rank..n).all(|l| b.at(l, c) == 0.0),
            "{what}: beyond the rank"
        );
    }
}

fn shape(m: usize, n: usize, q: usize) -> ProblemShape {
    ProblemShape { m, n, q }
}

/// Problems of every kind of [`matrices::rectangular`], and as many responses.
fn problems<T: Scalar>(
    ProblemShape { m, n, q }: ProblemShape,
) -> (Vec<String>, Vec<f64>, Vec<f64>) {
    let (mut kinds, mut x) = (vec![], vec![]);
    for (kind, a) in matrices::rectangular::<T>(m, n) {
        kinds.push(kind);
        x.extend(values(&a));
    }
    let y = values(&matrices::random::<T>(m, q * kinds.len(), 71));
    (kinds, x, y)
}

fn every_shape<T: Scalar, D: Device<T>>(device: &D) {
    let sizes = [
        (1, 1),
        (1, 4),
        (4, 1),
        (2, 2),
        (3, 7),
        (7, 3),
        (31, 33),
        (33, 31),
        (32, 32),
        (65, 20),
        (20, 65),
        (100, 5),
        (257, 40),
        (130, 130),
        (700, 3),
    ];
    let tol = if T::EPS > 1e-10 { 1e-4 } else { 1e-7 };
    for (m, n) in sizes {
        for q in [0, 1, 3] {
            let shape = shape(m, n, q);
            let (kinds, x, y) = problems::<T>(shape);
            let s = solve::<T, D>(device, shape, &x, &y, kinds.len(), tol);
            for (i, kind) in kinds.iter().enumerate() {
                // Whether the columns of the Hilbert and of the graded matrices depend is decided
                // by rounding.
                let clear = !["Hilbert", "graded rows"].contains(&kind.as_str());
                if clear || m.min(n) < 4 {
                    check::<T>(&format!("{kind} {m} {n} {q}"), shape, &x, &y, &s, i, tol);
                }
            }
        }
    }
}

fn every_count<T: Scalar, D: Device<T>>(device: &D) {
    for count in [1, 2, 3, 17, 1000, 5000] {
        let shape = shape(9, 4, 2);
        let x = values(&matrices::random::<T>(9, 4 * count, 72));
        let y = values(&matrices::random::<T>(9, 2 * count, 73));
        let s = solve::<T, D>(device, shape, &x, &y, count, 1e-4);
        for i in [0, count / 2, count - 1] {
            check::<T>(&format!("{count}"), shape, &x, &y, &s, i, 1e-4);
        }
    }
}

fn same_answer_wherever_it_stands<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(12, 5), (40, 33), (6, 10)] {
        let shape = shape(m, n, 2);
        let (kinds, x, y) = problems::<T>(shape);
        let once = solve::<T, D>(device, shape, &x, &y, kinds.len(), 1e-4);
        let times = 50;
        let many = kinds.len() * times;
        let s = solve::<T, D>(
            device,
            shape,
            &x.repeat(times),
            &y.repeat(times),
            many,
            1e-4,
        );
        assert_eq!(s.ranks.jpvt, once.ranks.jpvt.repeat(times));
        assert_eq!(s.ranks.rank, once.ranks.rank.repeat(times));
        assert_eq!(s.qr, once.qr.repeat(times));
        assert_eq!(s.qraux, once.qraux.repeat(times));
        assert_eq!(s.effects, once.effects.repeat(times));
        assert_eq!(s.residuals, once.residuals.repeat(times));
        assert_eq!(s.coefficients, once.coefficients.repeat(times));
    }
}

/// More than the shared memory of any block, and than the processor takes together.
fn too_large_for_one_launch<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(3000, 60), (300, 520)] {
        let shape = shape(m, n, 1);
        let x = values(&matrices::random::<T>(m, n * 2, 74));
        let y = values(&matrices::random::<T>(m, 2, 75));
        let s = solve::<T, D>(device, shape, &x, &y, 2, 1e-6);
        assert_eq!(s.ranks.rank, [m.min(n) as i32; 2]);
        for i in 0..2 {
            let b = &s.coefficients[i * n..][..n];
            for r in (0..m).step_by(97) {
                let fitted: f64 = (0..n.min(m)).map(|c| x[(i * n + c) * m + r] * b[c]).sum();
                let size: f64 = (0..n.min(m))
                    .map(|c| (x[(i * n + c) * m + r] * b[c]).abs())
                    .sum();
                let off = (fitted + s.residuals[i * m + r] - y[i * m + r]).abs();
                assert!(
                    off < residual::BACKWARD * (size + 1.0) * m as f64 * T::EPS,
                    "{m} {n}: {off}"
                );
            }
        }
    }
}

fn nothing_at_all<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n, q, count) in [
        (4, 2, 1, 0),
        (0, 0, 0, 0),
        (3, 0, 1, 2),
        (0, 3, 1, 2),
        (3, 2, 0, 2),
    ] {
        let shape = shape(m, n, q);
        let (x, y) = (vec![1.0; m * n * count], vec![2.0; m * q * count]);
        let s = solve::<T, D>(device, shape, &x, &y, count, 1e-4);
        let one = i32::from(m * n > 0);
        assert_eq!(s.ranks.rank, vec![one; count], "{m} {n} {q} {count}");
        let order: Vec<i32> = (0..count).flat_map(|_| 0..n as i32).collect();
        assert_eq!(s.ranks.jpvt, order);
        if m == 0 {
            assert!(s.coefficients.iter().chain(&s.qraux).all(|v| *v == 0.0));
        }
        if n == 0 {
            assert_eq!((&s.effects, &s.residuals), (&y, &y));
        }
    }
}

fn nan_does_not_hang<T: Scalar, D: Device<T>>(device: &D) {
    let shape = shape(10, 4, 1);
    let mut x = values(&matrices::random::<T>(10, 12, 76));
    let y = values(&matrices::random::<T>(10, 3, 77));
    x[45] = f64::NAN;
    let s = solve::<T, D>(device, shape, &x, &y, 3, 1e-4);
    check::<T>("before", shape, &x, &y, &s, 0, 1e-4);
    check::<T>("behind", shape, &x, &y, &s, 2, 1e-4);
    assert!(s.qr[40..80].iter().any(|v| v.is_nan()));
}
