//! The verbs of a device on host matrices: loaded, computed and brought home.

use super::{changed, matrices, written, Host};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Diag, Part, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::blas::Blas;
use cudafactor::device::dense::Device;
use cudafactor::device::memory::Memory;

pub const BOTH: [Trans; 2] = [Trans::No, Trans::Yes];

/// The Cholesky factor in the triangle `uplo`, the other as it was.
pub fn factor<T: Scalar, D: Device<T>>(
    device: &D,
    uplo: Uplo,
    a: &Host<T>,
) -> Result<Host<T>, Error> {
    changed(device, a, Part::All, |m| device.potrf(uplo, m)).map(|(r, ())| r)
}

/// `op(A) op(B)` in a fresh matrix, every operand with gaps between its columns.
pub fn multiply<T: Scalar, D: Device<T>>(
    device: &D,
    (ta, a): (Trans, &Host<T>),
    (tb, b): (Trans, &Host<T>),
) -> Host<T> {
    let (rows, _) = ta.shape((a.rows, a.cols));
    let (_, cols) = tb.shape((b.rows, b.cols));
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    written(device, rows, cols, 2, |c| {
        let (a, b) = (device.load(a.view())?, device.load(b.view())?);
        device.gemm(one, ta, &a, tb, &b, zero, c)
    })
    .unwrap()
}

/// `X'X` or `XX'`.
pub fn cross<T: Scalar, D: Device<T>>(device: &D, trans: Trans, x: &Host<T>) -> Host<T> {
    let order = if trans.is_yes() { x.cols } else { x.rows };
    written(device, order, order, 3, |c| {
        device.syrk(trans, &device.load(x.view())?, c)
    })
    .unwrap()
}

/// How a triangle is meant.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub side: Side,
    pub uplo: Uplo,
    pub trans: Trans,
    pub diag: Diag,
}

pub fn variants() -> Vec<Variant> {
    let mut all = vec![];
    for side in [Side::Left, Side::Right] {
        for uplo in [Uplo::Upper, Uplo::Lower] {
            for trans in BOTH {
                for diag in [Diag::NonUnit, Diag::Unit] {
                    all.push(Variant {
                        side,
                        uplo,
                        trans,
                        diag,
                    });
                }
            }
        }
    }
    all
}

/// `B` with its leading `k` rows or columns solved for.
pub fn solve<T: Scalar, D: Device<T>>(
    device: &D,
    v: Variant,
    k: usize,
    a: &Host<T>,
    b: &Host<T>,
) -> Host<T> {
    let a = device.load(a.view()).unwrap();
    let (x, ()) = changed(device, b, Part::All, |m| {
        device.trsm(v.side, v.uplo, v.trans, v.diag, k, &a, m)
    })
    .unwrap();
    x
}

/// That the device still computes.
#[cfg(feature = "cuda")]
pub fn works(gpu: &cudafactor::backend::cuda::CudaDevice) {
    let a = matrices::random::<f64>(100, 70, 3);
    let mut home = Host::<f64>::from_fn(70, 70, |_, _| f64::NAN);
    let operand = gpu.load(a.view()).unwrap();
    let mut c = gpu.output(home.view_mut()).unwrap();
    gpu.syrk(Trans::Yes, &operand, &mut c).unwrap();
    gpu.store(c).unwrap();
    let want = a.wide().transpose() * a.wide();
    assert!((want - home.wide()).norm_max() < 1e-12);
}
