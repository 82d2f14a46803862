//! Blocks much smaller than worthwhile, compared with a factor that stays on the device.

use crate::device::memory::Memory;
use crate::device::update::FactorUpdate;
use faer::Mat;

use crate::algo::update::margin::margin;
use crate::backend::cuda::streamed::update::*;
use crate::backend::cuda::CudaDevice;
use crate::cost::plan::size::column_blocks as blocks;

/// Tries again while another test holds the staging memory.
fn at_last<R>(mut try_it: impl FnMut() -> Result<Option<R>>) -> Result<R> {
    for _ in 0..10_000 {
        if let Some(done) = try_it()? {
            return Ok(done);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("there is no staging memory");
}

/// A factor with NaN below the diagonal, and V such that V V' may be taken away.
fn problem<T: Scalar>(n: usize, k: usize) -> (Mat<T>, Mat<T>) {
    let entry = |i: usize, j: usize| ((i * 7919 + j * 104_729 + i * j) % 1009) as f64 / 1009.0;
    let r = Mat::from_fn(n, n, |i, j| {
        T::from_f64(match i.cmp(&j) {
            std::cmp::Ordering::Less => entry(i, j) / (n as f64).sqrt(),
            std::cmp::Ordering::Equal => 2.0 + entry(i, j),
            std::cmp::Ordering::Greater => f64::NAN,
        })
    });
    let scale = 0.5 / ((n * k) as f64).sqrt();
    (
        r,
        Mat::from_fn(n, k, |i, j| T::from_f64(scale * (entry(j, i) - 0.5))),
    )
}

fn in_blocks_of<T: Scalar>(
    gpu: &CudaDevice,
    what: Change,
    (r, v): (&Mat<T>, &Mat<T>),
    count: usize,
    out: &mut Mat<T>,
) -> Result<f64> {
    let there = gpu.load_temporary(v.as_ref(), Part::All)?;
    let blocks = blocks(r.nrows(), count);
    let mut least = 1.0;
    at_last(|| {
        let mut look = |r: &Matrix<'static, T>| {
            least = margin(gpu, r, &there)?;
            Ok(())
        };
        change(
            gpu.ctx,
            what,
            r.as_ref(),
            there.view(),
            out.as_mut(),
            &blocks,
            &mut look,
        )
    })?;
    Ok(least)
}

fn as_of_the_whole<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let gpu = CudaDevice { ctx };
    if !FactorUpdate::<T>::has_update(&gpu) {
        return;
    }
    for (n, k) in [(257, 3), (600, 16), (1100, 70)] {
        let (r, v) = problem::<T>(n, k);
        for what in [Change::Up, Change::Down] {
            let mut made = gpu.load_temporary(r.as_ref(), Part::Upper).unwrap();
            let mut there = gpu.load_temporary(v.as_ref(), Part::All).unwrap();
            gpu.update_factor(what, &mut made, &mut there).unwrap();
            let mut whole = Mat::zeros(n, n);
            gpu.read(&made, whole.as_mut()).unwrap();
            for count in [2, 3, 8] {
                let mut out = Mat::full(n, n, T::from_f64(7.0));
                let least = in_blocks_of(&gpu, what, (&r, &v), count, &mut out).unwrap();
                assert!(out == whole, "{n} {k} {what:?} {count}");
                assert_eq!(least == 1.0, what == Change::Up);
            }
        }
    }
}

#[test]
fn blocks_are_changed_as_the_whole_is() {
    as_of_the_whole::<f64>();
    as_of_the_whole::<f32>();
}

#[test]
fn what_cannot_be_changed_is_an_error_of_its_row() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let (gpu, n, k) = (CudaDevice { ctx }, 600, 5);
    if !FactorUpdate::<f64>::has_update(&gpu) {
        return;
    }
    let (r, v) = problem::<f64>(n, k);
    let mut out = Mat::zeros(n, n);
    for at in [0, n / 2, n - 1] {
        for what in [Change::Up, Change::Down] {
            let mut bad = r.clone();
            bad[(at, at)] = 0.0;
            let failed = in_blocks_of(&gpu, what, (&bad, &v), 4, &mut out);
            assert_eq!(failed, Err(Error::Singular { index: at + 1 }));
            for value in [f64::NAN, f64::INFINITY] {
                bad[(at / 2, at)] = value;
                let failed = in_blocks_of(&gpu, what, (&bad, &v), 4, &mut out);
                assert_eq!(failed, Err(Error::NonFiniteIn { argument: "r" }));
            }
        }
        let mut large = v.clone();
        large[(at, 0)] = 10.0;
        let failed = in_blocks_of(&gpu, Change::Down, (&r, &large), 4, &mut out);
        assert_eq!(failed, Err(Error::NotPositiveDefinite { order: at + 1 }));
    }
}
