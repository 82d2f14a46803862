//! Matrices on the device, made fast, and how far two answers are apart.

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::memory::Memory;
use cudarc::driver::result::memcpy_dtoh_sync;
use faer::MatRef;
use rayon::prelude::*;

use super::Outcome;

/// Answers of up to so many entries are compared whole; of larger ones one column of each `STRIDE`
/// is, so that every tile of columns is looked at.
const COMPARED_WHOLE: usize = 4096 * 4096;
const STRIDE: usize = 64;

/// Uniform in [-1, 1), a function of its arguments alone, so that columns can be made in any order
/// by any thread.
fn uniform(seed: u64, i: usize, j: usize) -> f64 {
    let mut x =
        ((i as u64) << 32 | j as u64).wrapping_add(seed.wrapping_mul(0xD1B5_4A32_D192_ED03));
    for multiplier in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
        x = (x ^ (x >> 31)).wrapping_mul(multiplier);
    }
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn from_fn<T: Scalar>(
    dev: &CudaDevice,
    rows: usize,
    cols: usize,
    entry: impl Fn(usize, usize) -> f64 + Sync,
) -> Outcome<Matrix<'static, T>> {
    let mut host = vec![T::from_f64(0.0); rows * cols];
    let columns = host.par_chunks_mut(rows).enumerate();
    columns.for_each(|(j, column)| {
        for (i, x) in column.iter_mut().enumerate() {
            *x = T::from_f64(entry(i, j));
        }
    });
    let a = MatRef::from_column_major_slice(&host, rows, cols);
    Ok(dev.load_temporary(a, Part::All)?)
}

pub fn random<T: Scalar>(
    dev: &CudaDevice,
    (rows, cols): (usize, usize),
    seed: u64,
) -> Outcome<Matrix<'static, T>> {
    from_fn(dev, rows, cols, |i, j| uniform(seed, i, j))
}

/// Symmetric, with entries in [-1, 1).
pub fn symmetric<T: Scalar>(dev: &CudaDevice, n: usize) -> Outcome<Matrix<'static, T>> {
    from_fn(dev, n, n, |i, j| uniform(7, i.min(j), i.max(j)))
}

/// A matrix that is zero outside its diagonal.
pub fn diagonal<T: Scalar>(dev: &CudaDevice, entries: &[T]) -> Outcome<Matrix<'static, T>> {
    let n = entries.len();
    from_fn(
        dev,
        n,
        n,
        |i, j| {
            if i == j {
                entries[i].into()
            } else {
                0.0
            }
        },
    )
}

/// 1 or -1. The norm of `X s` is that of X in the Frobenius norm, give or take: its square has that
/// mean.
pub fn signs(n: usize) -> Vec<f64> {
    (0..n).map(|i| uniform(6, i, 0).signum()).collect()
}

/// `count` matrices side by side, each symmetric, positive definite and well conditioned: the
/// eigenvalues of its random part stay within about `2 sqrt(n / 3)` of zero, and the diagonal adds
/// `2 sqrt(n)`. Each triangle is well conditioned too.
pub fn definite<T: Scalar>(
    dev: &CudaDevice,
    n: usize,
    count: usize,
) -> Outcome<Matrix<'static, T>> {
    let diagonal = 2.0 * (n as f64).sqrt();
    from_fn(dev, n, n * count, |i, column| {
        let (which, j) = (column / n, column % n);
        if i == j {
            diagonal
        } else {
            uniform(3 + which as u64, i.min(j), i.max(j))
        }
    })
}

/// `||A - B|| / ||B||` in the Frobenius norm, over `part` of the columns that are compared. `part`
/// is that of each of the square matrices that stand side by side, or that of a tall one. Waits.
pub fn difference<T: Scalar>(
    dev: &CudaDevice,
    part: Part,
    a: &Matrix<'_, T>,
    b: &Matrix<'_, T>,
) -> Outcome<f64> {
    dev.synchronize()?;
    let (n, cols) = dev.shape(a);
    // The upper triangle of a tall matrix is in the first rows.
    let rows = if part == Part::Upper { n.min(cols) } else { n };
    let mut columns = [vec![T::from_f64(0.0); rows], vec![T::from_f64(0.0); rows]];
    let (mut apart, mut size) = (0.0f64, 0.0f64);
    let step = if rows * cols <= COMPARED_WHOLE {
        1
    } else {
        STRIDE
    };
    for first in (0..cols).step_by(step) {
        // A column at a varying place among those it stands for.
        let j = (first + first / step * 37 % step).min(cols - 1);
        for (column, matrix) in columns.iter_mut().zip([a, b]) {
            let address = matrix.address() + (j * n * size_of::<T>()) as u64;
            // SAFETY: the first rows of column j of a matrix of n rows, which nobody writes after
            // the wait.
            unsafe { memcpy_dtoh_sync(column, address) }?;
        }
        let rows = match part {
            Part::All => 0..n,
            Part::Upper => 0..j % n + 1,
            Part::Lower => j % n..n,
        };
        for (x, y) in columns[0][rows.clone()].iter().zip(&columns[1][rows]) {
            let (x, y): (f64, f64) = ((*x).into(), (*y).into());
            apart += (x - y) * (x - y);
            size += y * y;
        }
    }
    Ok((apart / size).sqrt())
}
