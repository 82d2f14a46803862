//! Uploads and downloads of whole matrices and parts, by every path.

use std::time::Duration;

use faer::{Mat, MatMut, MatRef};

use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::streamed;
use crate::base::matrix::{Part, Trans};
use crate::base::scalar::Scalar;

fn numbers<T: Scalar>(rows: usize, cols: usize, salt: usize) -> Mat<T> {
    Mat::from_fn(rows, cols, |i, j| {
        T::from_f64(((i * 7919 + j * 104_729 + salt) % 1000) as f64 / 8.0 - 60.0)
    })
}

/// Uploads and downloads a matrix: contiguous, with gaps between columns, and by rows; then its
/// upper triangle.
fn round_trip<T: Scalar>(ctx: &'static Context, rows: usize, cols: usize) {
    let a = numbers::<T>(rows + 3, cols, 1);
    let tight = a.submatrix(2, 0, rows, cols).to_owned();
    let transposed = tight.transpose().to_owned();
    let views: [MatRef<'_, T>; 3] = [
        tight.as_ref(),
        a.submatrix(2, 0, rows, cols),
        transposed.transpose(),
    ];
    for (way, view) in views.into_iter().enumerate() {
        let there = Matrix::from_host(ctx, view, Part::All).unwrap();
        let mut data = vec![T::from_f64(7.0); rows * cols];
        let back = MatMut::from_column_major_slice_mut(&mut data, rows, cols);
        there.read(ctx, back).unwrap();
        let back = MatRef::from_column_major_slice(&data, rows, cols);
        assert!(back == tight, "{rows} x {cols}, way {way}");

        let mut wide = numbers::<T>(rows + 5, cols, 2);
        there
            .read(ctx, wide.submatrix_mut(1, 0, rows, cols))
            .unwrap();
        assert!(wide.submatrix(1, 0, rows, cols) == tight);
        let before = numbers::<T>(rows + 5, cols, 2);
        assert!(wide.row(0) == before.row(0) && wide.row(rows + 1) == before.row(rows + 1));

        let mut by_rows = numbers::<T>(cols, rows, 3);
        there.read(ctx, by_rows.transpose_mut()).unwrap();
        assert!(by_rows.transpose() == tight);
    }
    let zero = T::from_f64(0.0);
    for part in [Part::Upper, Part::Lower] {
        let kept = |i: usize, j: usize| if part == Part::Upper { i <= j } else { i >= j };
        let want = Mat::from_fn(
            rows,
            cols,
            |i, j| if kept(i, j) { tight[(i, j)] } else { zero },
        );
        let mut data = vec![T::from_f64(7.0); rows * cols];
        let home = MatMut::from_column_major_slice_mut(&mut data, rows, cols);
        let there = Matrix::from_host(ctx, tight.as_ref(), part)
            .unwrap()
            .with_home(home)
            .unwrap();
        there.store(ctx, part).unwrap();
        let back = MatRef::from_column_major_slice(&data, rows, cols);
        assert!(back == want, "{rows} x {cols}, {part:?}");
    }
}

#[test]
fn what_comes_back_is_what_went() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (rows, cols) in [
        (1, 1),
        (1, 70_000),
        (70_000, 1),
        (181, 181),
        (256, 256),
        (511, 700),
        (1025, 1031),
        (3, 200_001),
        (300_000, 5),
        (2300, 1900),
    ] {
        round_trip::<f64>(ctx, rows, cols);
        round_trip::<f32>(ctx, rows, cols);
    }
}

#[test]
fn products_from_host_to_host_are_those_of_the_device() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (rows, depth, cols) in [(1100, 300, 1000), (1500, 7, 2049), (4000, 40, 3001)] {
        for (ta, tb) in [
            (Trans::No, Trans::No),
            (Trans::Yes, Trans::No),
            (Trans::No, Trans::Yes),
        ] {
            // Whole numbers, so that every sum is exact.
            let whole = |r, c, salt| {
                Mat::from_fn(r, c, |i, j| ((i * 31 + j * 17 + salt) % 19) as f64 - 9.0)
            };
            let ((ar, ac), (br, bc)) = (ta.shape((rows, depth)), tb.shape((depth, cols)));
            let (a, b) = (whole(ar, ac, 1), whole(br, bc, 2));
            let mut out = Mat::<f64>::full(rows, cols, f64::NAN);
            // Not while another test holds the staging memory.
            let done = (0..10_000).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                let (a, b) = ((ta, a.as_ref()), (tb, b.as_ref()));
                streamed::product::multiply(ctx, a, b, out.as_mut()).unwrap()
            });
            assert!(done, "{rows} {depth} {cols} {ta:?} {tb:?}");
            let op = |t: Trans, m: &Mat<f64>| {
                if t.is_yes() {
                    m.transpose().to_owned()
                } else {
                    m.clone()
                }
            };
            assert!(
                out == op(ta, &a) * op(tb, &b),
                "{rows} {depth} {cols} {ta:?} {tb:?}"
            );
        }
    }
}

#[test]
fn bytes_are_counted_and_staging_memory_is_given_back() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let dev = crate::backend::cuda::CudaDevice { ctx };
    let a = numbers::<f64>(1000, 1000, 5);
    let before = crate::backend::cuda::bytes_moved();
    let there = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
    let mut back = Mat::<f64>::zeros(1000, 1000);
    there.read(ctx, back.as_mut()).unwrap();
    let after = crate::backend::cuda::bytes_moved();
    // Other tests may move matrices too.
    assert!(after.0 >= before.0 + 8_000_000 && after.1 >= before.1 + 8_000_000);
    dev.release_staging();
    // Staging memory is not available here while another test holds it.
    let there_again = (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        there.read(ctx, back.as_mut()).unwrap();
        dev.staging_bytes() > 0
    });
    assert!(there_again && back == a);
}
