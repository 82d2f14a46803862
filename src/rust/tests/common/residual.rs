//! How wrong a result is, in units of the precision, and how wrong it may be.

use super::Host;
use cudafactor::base::scalar::Scalar;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

/// Backward errors of factorizations and solves, divided by `n eps`: LAPACK's own tests allow 30.
pub const BACKWARD: f64 = 30.0;
/// Loss of orthogonality, divided by `n eps`.
pub const ORTHOGONAL: f64 = 30.0;
/// Error of a product against the sum of absolute products, divided by `k eps`.
pub const PRODUCT: f64 = 4.0;

pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul(&mut c, Accum::Replace, a, b, 1.0, Par::Seq);
    c
}

/// The largest sum of absolute values in a column; NaN if any entry is.
pub fn norm1(a: MatRef<'_, f64>) -> f64 {
    let sums = (0..a.ncols()).map(|j| (0..a.nrows()).map(|i| a[(i, j)].abs()).sum::<f64>());
    sums.fold(0.0, |m, s| if s > m || s.is_nan() { s } else { m })
}

/// `||X|| / (||A|| n eps)`; zero for a zero X.
fn relative<T: Scalar>(x: MatRef<'_, f64>, a: MatRef<'_, f64>) -> f64 {
    let n = a.nrows().max(a.ncols()).max(1) as f64;
    let error = norm1(x);
    if error == 0.0 {
        return 0.0;
    }
    error / (norm1(a) * n * T::EPS)
}

/// `A` brought to entries of order one by a power of two, so that residuals of huge and tiny
/// matrices can be formed.
fn unit_scale(a: MatRef<'_, f64>) -> f64 {
    let largest = (0..a.ncols())
        .flat_map(|j| (0..a.nrows()).map(move |i| a[(i, j)].abs()))
        .fold(0.0, f64::max);
    if largest > 0.0 && largest.is_finite() {
        2f64.powi(-(largest.log2() as i32))
    } else {
        1.0
    }
}

fn times(a: &Mat<f64>, s: f64) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] * s)
}

/// `A - R'R`, with the upper triangle of `r`; only the upper triangle of `a` is read.
pub fn cholesky<T: Scalar>(a: &Host<T>, r: &Host<T>) -> f64 {
    let wide = a.wide();
    let s = unit_scale(wide.as_ref());
    // R scales by the root of what A scales by.
    let root = s.sqrt();
    let n = a.rows;
    let r = Mat::from_fn(n, n, |i, j| if i <= j { r.at(i, j) * root } else { 0.0 });
    let full = Mat::from_fn(n, n, |i, j| wide[(i.min(j), i.max(j))] * s);
    let rr = product(r.transpose(), r.as_ref());
    relative::<T>((&full - &rr).as_ref(), full.as_ref())
}

/// `A - QR`, with R on and above the diagonal of `factor`.
pub fn qr<T: Scalar>(a: &Host<T>, q: &Host<T>, factor: &Host<T>) -> f64 {
    let wide = a.wide();
    let s = unit_scale(wide.as_ref());
    let k = a.rows.min(a.cols);
    let r = Mat::from_fn(
        k,
        a.cols,
        |i, j| if i <= j { factor.at(i, j) * s } else { 0.0 },
    );
    let q = q.wide();
    let a = times(&wide, s);
    let qr = product(q.as_ref().subcols(0, k), r.as_ref());
    relative::<T>((&a - &qr).as_ref(), a.as_ref())
}

/// `I - Q'Q`.
pub fn orthogonality<T: Scalar>(q: &Host<T>) -> f64 {
    let q = q.wide();
    let n = q.ncols();
    let gram = product(q.transpose(), q.as_ref());
    let identity = Mat::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
    norm1((&identity - &gram).as_ref()) / (q.nrows().max(1) as f64 * T::EPS)
}

/// `PA - LU`, with the exchanges of `ipiv` applied to the rows of A.
pub fn lu<T: Scalar>(a: &Host<T>, factor: &Host<T>, ipiv: &[usize]) -> f64 {
    let wide = a.wide();
    let s = unit_scale(wide.as_ref());
    let (m, n) = (a.rows, a.cols);
    let k = m.min(n);
    let mut order: Vec<usize> = (0..m).collect();
    for (i, &p) in ipiv.iter().enumerate() {
        order.swap(i, p);
    }
    let pa = Mat::from_fn(m, n, |i, j| wide[(order[i], j)] * s);
    let l = Mat::from_fn(m, k, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => factor.at(i, j),
    });
    let u = Mat::from_fn(k, n, |i, j| if i <= j { factor.at(i, j) * s } else { 0.0 });
    let lu = product(l.as_ref(), u.as_ref());
    relative::<T>((&pa - &lu).as_ref(), pa.as_ref())
}

/// `||AX - B|| / (||A|| ||X|| n eps)`.
pub fn solve(a: MatRef<'_, f64>, x: MatRef<'_, f64>, b: MatRef<'_, f64>, eps: f64) -> f64 {
    let ax = product(a, x);
    let error = norm1((&ax - b).as_ref());
    if error == 0.0 {
        return 0.0;
    }
    error / (norm1(a) * norm1(x) * a.nrows().max(1) as f64 * eps)
}
