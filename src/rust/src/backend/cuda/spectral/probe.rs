//! Checks of eigenvalues and eigenvectors in O(n^2) operations.
//!
//! With vectors, `Z W Z' s = A s` and `Z Z' s = s` for a vector s of random signs; without, sums of
//! values and of their squares are those of A's diagonal and of its entries.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::elementwise::norms;
use crate::backend::cuda::gemm::gemm_syrk::multiply;
use crate::backend::cuda::gemm::update::Update;
use crate::backend::cuda::matrix::views::View;
use crate::base::error::{Error, Result};
use crate::base::probe::{distance, is_near, scaled, signs, squares, sum, tolerance};
use crate::base::scalar::{try_zeroed, Scalar};

/// What the answer for a symmetric matrix must agree with.
pub(super) struct Probe<T> {
    signs: Vec<T>,
    /// `A s`
    image: Vec<T>,
    /// The Frobenius norm.
    norm: f64,
    trace: f64,
}

impl<T: Scalar> Probe<T> {
    /// That of a matrix with both triangles.
    pub(super) fn new(ctx: &'static Context, a: View<T>) -> Result<Self> {
        let signs = signs::<T>(a.cols)?;
        let columns = norms::column_norms(ctx, a)?;
        Ok(Probe {
            image: times(ctx, a, &signs)?,
            norm: columns.iter().map(|x| x * x).sum::<f64>().sqrt(),
            trace: sum(&norms::diagonal(ctx, a)?),
            signs,
        })
    }

    /// An error unless `w`, and the vectors in `z` if there are some, are those of the matrix.
    pub(super) fn check(&self, ctx: &'static Context, w: &[T], z: Option<View<T>>) -> Result<()> {
        let n = w.len();
        let root = (n as f64).sqrt();
        let right = match z {
            Some(z) => {
                let parts = times(ctx, z.t(), &self.signs)?;
                let back = times(ctx, z, &parts)?;
                let image = times(ctx, z, &scaled(&parts, w, n)?)?;
                let allowed = tolerance::<T>(n);
                distance(&back, &self.signs) <= allowed * root
                    && distance(&image, &self.image) <= allowed * self.norm
            }
            None => {
                let square = self.norm * self.norm;
                is_near::<T>(sum(w), self.trace, self.norm * root, n)
                    && is_near::<T>(squares(w), square, square, n)
            }
        };
        match right {
            true => Ok(()),
            false => Err(Error::NotConverged { routine: "dsyevr" }),
        }
    }
}

/// `A x`
fn times<T: Scalar>(ctx: &'static Context, a: View<T>, x: &[T]) -> Result<Vec<T>> {
    let given = Buffer::from_slice(ctx, x)?;
    let found = Buffer::of::<T>(ctx, a.rows)?;
    let column = |of: &Buffer, rows: usize| View::new(of.ptr, rows, 1, rows);
    let (from, to) = (column(&given, a.cols), column(&found, a.rows));
    multiply(ctx, Update::assign(), a, from, to)?;
    let mut out = try_zeroed(a.rows)?;
    found.to_slice(&mut out)?;
    Ok(out)
}
