//! Symmetric eigenvalues of many small matrices.

use faer::{Mat, MatMut, MatRef};

use super::common::{few, for_each_device, Host};
use super::kinds::symmetric;
use super::symmetric::is_right;
use super::ALLOWED;
use cudafactor::algo::dense::eigen;
use cudafactor::algo::dense::eigen_batch::symmetric_batch;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::batched::Batched;
use cudafactor::device::spectral::EigenBatch;

for_each_device!(
    each_matrix_of_a_batch_is_solved,
    batches_of_any_number,
    batch_values_are_those_with_vectors,
    batch_bits_repeat,
    batch_is_near_single,
    batch_reads_lower_triangles,
    batch_scales_each_matrix,
    batch_refuses_what_is_not_finite,
);

/// Both sides of warps and of blocks, and more than a kernel takes.
fn orders() -> Vec<usize> {
    if few() {
        return vec![1, 2, 33];
    }
    vec![
        1, 2, 3, 4, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 166, 167, 200,
    ]
}

/// Matrices side by side.
fn joined<T: Scalar>(n: usize, all: &[Host<T>]) -> Mat<T> {
    Mat::from_fn(n, n * all.len(), |i, j| {
        T::from_f64(all[j / n.max(1)].at(i, j % n.max(1)))
    })
}

fn decompose<T: Scalar, D: EigenBatch<T> + Batched<T>>(
    device: &D,
    x: MatRef<'_, T>,
) -> (Vec<T>, Vec<T>) {
    let (n, cols) = x.shape();
    let mut z = vec![T::from_f64(f64::NAN); n * cols];
    let to = MatMut::from_column_major_slice_mut(&mut z, n, cols);
    let w = symmetric_batch(device, x, Some(to)).unwrap();
    (w, z)
}

/// Residual and loss of orthogonality, order and signs.
fn check<T: Scalar>(name: &str, a: &Host<T>, w: &[T], z: &[T]) {
    let n = a.rows;
    let z = Host::<T>::from_fn(n, n, |i, j| z[i + j * n].to_f64());
    is_right(name, a, w, &z);
    for j in 0..n {
        let largest = (0..n).map(|i| z.at(i, j).abs()).fold(0.0, f64::max);
        let enough = largest * (1.0 - T::EPS.sqrt());
        let first = (0..n).find(|&i| z.at(i, j).abs() >= enough).unwrap();
        assert!(z.at(first, j) > 0.0, "{name} {n}: sign of {j}");
    }
}

fn each_matrix_of_a_batch_is_solved<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    for n in orders() {
        let (names, all): (Vec<_>, Vec<_>) = symmetric::<T>(n).into_iter().unzip();
        let (w, z) = decompose(device, joined(n, &all).as_ref());
        for (i, (name, a)) in names.iter().zip(&all).enumerate() {
            let (w, z) = (&w[i * n..][..n], &z[i * n * n..][..n * n]);
            check(name, a, w, z);
        }
    }
}

/// More than one piece of them too.
fn batches_of_any_number<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    let none = Mat::<T>::zeros(5, 0);
    assert!(symmetric_batch::<T, T, D>(device, none.as_ref(), None)
        .unwrap()
        .is_empty());
    for (n, count) in [(1, 1), (1, 700), (3, 2000), (20, 7), (40, 300), (100, 60)] {
        let all = symmetric::<T>(n);
        let all: Vec<Host<T>> = (0..count).map(|i| all[i % all.len()].1.clone()).collect();
        let (w, z) = decompose(device, joined(n, &all).as_ref());
        assert_eq!(w.len(), n * count);
        for i in [0, count / 2, count - 1] {
            check(
                "of many",
                &all[i],
                &w[i * n..][..n],
                &z[i * n * n..][..n * n],
            );
        }
    }
}

fn batch_values_are_those_with_vectors<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    for n in [1, 2, 33, 100, 200] {
        let all: Vec<_> = symmetric::<T>(n).into_iter().map(|a| a.1).collect();
        let x = joined(n, &all);
        let (w, _) = decompose(device, x.as_ref());
        let alone = symmetric_batch::<T, T, D>(device, x.as_ref(), None).unwrap();
        for (alone, w) in alone.chunks(n).zip(w.chunks(n)) {
            let size = w.iter().map(|w| w.to_f64().abs()).fold(0.0, f64::max);
            for (x, y) in alone.iter().zip(w) {
                let error = (x.to_f64() - y.to_f64()).abs();
                assert!(error <= ALLOWED * n as f64 * T::EPS * size, "{n}");
            }
        }
    }
}

/// In every run, and wherever in a batch a matrix is.
fn batch_bits_repeat<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    for n in [2, 33, 128] {
        let one = symmetric::<T>(n)[0].1.clone();
        let x = joined(n, &vec![one; 9]);
        let (w, z) = decompose(device, x.as_ref());
        assert!(
            (w.clone(), z.clone()) == decompose(device, x.as_ref()),
            "{n}"
        );
        assert!(w.chunks(n).all(|one| *one == w[..n]), "{n}");
        assert!(z.chunks(n * n).all(|one| *one == z[..n * n]), "{n}");
    }
}

fn batch_is_near_single<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    for n in [1, 2, 17, 90] {
        for (name, a) in symmetric::<T>(n) {
            let (w, _) = decompose(device, a.view());
            let alone = eigen::symmetric::<T, T, D>(device, a.view(), None).unwrap();
            let size = w.iter().map(|w| w.to_f64().abs()).fold(0.0, f64::max);
            for (x, y) in alone.iter().zip(&w) {
                let error = (x.to_f64() - y.to_f64()).abs();
                assert!(error <= ALLOWED * n as f64 * T::EPS * size, "{name} {n}");
            }
        }
    }
}

fn batch_reads_lower_triangles<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    for n in [2, 33, 70] {
        let a = &symmetric::<T>(n)[0].1;
        let half = Host::<T>::from_fn(n, n, |i, j| if i < j { f64::NAN } else { a.at(i, j) });
        let whole = decompose(device, joined(n, &[a.clone(), a.clone()]).as_ref());
        assert!(whole == decompose(device, joined(n, &[half.clone(), half]).as_ref()));
    }
}

/// Also beyond the range of the precision that the device computes in.
fn batch_scales_each_matrix<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    let n = 40;
    let a = &symmetric::<T>(n)[0].1;
    let (w, z) = decompose(device, a.view());
    let by = [1.0, 2f64.powi(-900), 0.0, 2f64.powi(900)];
    let x = Mat::from_fn(n, n * by.len(), |i, j| a.at(i, j % n) * by[j / n]);
    let mut y = vec![T::from_f64(f64::NAN); n * n * by.len()];
    let to = MatMut::from_column_major_slice_mut(&mut y, n, n * by.len());
    let v = symmetric_batch::<f64, T, D>(device, x.as_ref(), Some(to)).unwrap();
    for (i, by) in by.into_iter().enumerate() {
        let values = v[i * n..][..n].iter().zip(&w);
        assert!(
            values.into_iter().all(|(v, w)| *v == w.to_f64() * by),
            "{by}"
        );
        assert!(by == 0.0 || y[i * n * n..][..n * n] == z, "{by}");
    }
}

fn batch_refuses_what_is_not_finite<T: Scalar, D: EigenBatch<T> + Batched<T>>(device: &D) {
    for value in [f64::NAN, f64::INFINITY] {
        let x = Mat::from_fn(5, 15, |i, j| {
            T::from_f64(if (i, j) == (3, 12) { value } else { 1.0 })
        });
        let refused = symmetric_batch::<T, T, D>(device, x.as_ref(), None);
        assert!(matches!(refused, Err(Error::NonFinite)));
    }
}

/// Each matrix is for one thread.
#[test]
fn threads_change_no_bit() {
    use cudafactor::backend::cpu::CpuDevice;
    for n in [3, 50, 129] {
        let all: Vec<_> = symmetric::<f64>(n).into_iter().map(|a| a.1).collect();
        let x = joined(n, &all);
        let one = decompose::<f64, _>(&CpuDevice::new(1), x.as_ref());
        assert!([2, 3]
            .into_iter()
            .all(|t| one == decompose(&CpuDevice::new(t), x.as_ref())));
    }
}
