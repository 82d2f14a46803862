//! What the CPU's verbs promise besides their answers: wrong shapes are errors, and so is the
//! user's wish to stop.

use std::time::Duration;

use crate::common::{matrices, Host};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::interrupt;
use cudafactor::base::matrix::{Diag, Part, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::batched::{ProblemShape, Problems, Ranks};
use cudafactor::device::dense::Device;
use cudafactor::device::elementwise::{Elementwise, Index, Operand, Scaling};
use cudafactor::device::functions::{Fold, Lines, Map};

#[test]
fn wrong_shapes() {
    wrong_shapes_are_errors::<f64, _>(&CpuDevice::new(2));
    wrong_shapes_are_errors::<f32, _>(&CpuDevice::new(1));
}

#[test]
fn interrupts() {
    interrupts_are_heard::<f64, _>(&CpuDevice::new(2));
    interrupts_are_heard::<f32, _>(&CpuDevice::new(1));
}

fn own<T: Scalar, D: Device<T>>(device: &D, rows: usize, cols: usize) -> D::Mat<'static> {
    let a = matrices::random::<T>(rows, cols, 51);
    device.load_temporary(a.view(), Part::All).unwrap()
}

fn wrong_shapes_are_errors<T: Scalar, D: Device<T>>(device: &D) {
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let (a, b) = (own(device, 4, 3), own(device, 4, 3));
    let mut c = own(device, 4, 3);
    let wrong = |what: &str, r: Result<()>| {
        assert!(matches!(r, Err(Error::Dimension { .. })), "{what}: {r:?}");
    };
    let product = device.gemm(one, Trans::No, &a, Trans::No, &b, zero, &mut c);
    wrong("inner dimension", product);
    let product = device.gemm(one, Trans::Yes, &a, Trans::No, &b, zero, &mut c);
    wrong("result", product);
    wrong("syrk", device.syrk(Trans::Yes, &a, &mut c));
    let solved = device.trsm(
        Side::Left,
        Uplo::Upper,
        Trans::No,
        Diag::Unit,
        4,
        &a,
        &mut c,
    );
    wrong("trsm", solved);
    wrong("potrf", device.potrf(Uplo::Upper, &mut c));
    wrong("potrf_batched", device.potrf_batched(&mut c));
    wrong("pstrf", device.pstrf(-1.0, &mut c).map(drop));
    wrong("laswp", device.laswp(Trans::No, &[0, 4], &mut c));
    wrong("ormqr", device.ormqr(Trans::No, &a, &[zero; 4], &mut c));
    wrong("orgqr", device.orgqr(&a, &[zero; 4], &mut c));
    wrong(
        "qrls_batched",
        least_squares(device, (4, 3), 3, &mut c).map(drop),
    );
    let mut small = Host::<T>::from_fn(2, 2, |_, _| 0.0);
    wrong("read", device.read(&a, small.view_mut()));
    wrong("refill", device.refill(small.view(), Part::All, &mut c));
    let home = small.view_mut();
    let loaded = device.load_into(matrices::random::<T>(4, 3, 52).view(), Part::All, home);
    wrong("load_into", loaded.map(drop));
}

/// Solves `count` problems of m rows and n columns with one response each, which is zero.
fn least_squares<T: Scalar, D: Device<T>>(
    device: &D,
    (m, n): (usize, usize),
    count: usize,
    x: &mut D::Mat<'static>,
) -> Result<Ranks> {
    let zeros = |rows, cols| device.zeros(rows, cols);
    let problems = Problems {
        shape: ProblemShape { m, n, q: 1 },
        count,
        x,
        y: &mut zeros(m, count)?,
        residuals: &mut zeros(m, count)?,
        coefficients: &mut zeros(n, count)?,
        qraux: &mut zeros(n, count)?,
    };
    device.qrls_batched(1e-7, problems)
}

fn interrupts_are_heard<T: Scalar, D: Device<T> + Elementwise<T>>(device: &D) {
    // Asked at most every 50 ms, and only on this thread.
    interrupt::install(|| true);
    let n = 300;
    let spd = matrices::positive::<T>(n).remove(0).1;
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let heard = |what: &str, verb: &dyn Fn(&mut D::Mat<'static>) -> Result<()>| {
        let loaded = || device.load_temporary(spd.view(), Part::All);
        // Loading may ask as well.
        let mut m = loop {
            match loaded() {
                Ok(m) => break m,
                Err(e) => assert_eq!(e, Error::Interrupted, "{what}"),
            }
        };
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(verb(&mut m), Err(Error::Interrupted), "{what}");
    };
    let a = loop {
        if let Ok(a) = device.load(spd.view()) {
            break a;
        }
    };
    heard("gemm", &|c| {
        device.gemm(one, Trans::No, &a, Trans::No, &a, zero, c)
    });
    heard("syrk", &|c| device.syrk(Trans::Yes, &a, c));
    heard("trsm", &|c| {
        device.trsm(Side::Left, Uplo::Upper, Trans::No, Diag::NonUnit, n, &a, c)
    });
    heard("potrf", &|c| device.potrf(Uplo::Upper, c));
    heard("potrf_batched", &|c| device.potrf_batched(c));
    heard("pstrf", &|c| device.pstrf(-1.0, c).map(drop));
    heard("getrf", &|c| device.getrf(c).map(drop));
    heard("geqrf", &|c| device.geqrf(c).map(drop));
    heard("geqp3", &|c| device.geqp3(c).map(drop));
    heard("qrdc2", &|c| device.qrdc2(1e-7, c).map(drop));
    heard("qrls_batched", &|c| {
        least_squares(device, (n, n), 1, c).map(drop)
    });
    heard("ormqr", &|c| device.ormqr(Trans::No, &a, &[zero; 100], c));
    heard("orgqr", &|c| device.orgqr(&a, &[zero; 100], c));
    heard("refill", &|c| device.refill(spd.view(), Part::Upper, c));
    heard("norm1", &|c| device.norm1(c).map(drop));
    heard("map", &|c| device.map(Map::Exp, &a, c).map(drop));
    heard("transpose", &|c| device.transpose(&a, c));
    for lines in [Lines::All, Lines::Rows, Lines::Columns] {
        heard("fold", &|c| {
            device.fold(Fold::Sum, lines, false, c).map(drop)
        });
    }
    heard("scale_columns", &|c| {
        device.scale_columns(&a, &vec![1.0; n], Scaling::Add, c)
    });
    heard("column_dots", &|c| device.column_dots(&a, c).map(drop));
    let all = || Index::From(0);
    heard("gather", &|c| device.gather(all(), all(), zero, &a, c));
    heard("scatter", &|c| {
        device.scatter(all(), all(), (n, n), Operand::Matrix(&a), c)
    });
}
