//! What the tests of every verb share: devices, host matrices, generators, residuals.
//!
//! A test body is generic over the device and runs in both precisions.
#![allow(dead_code, unused_macros, unused_imports)]

pub mod apart;
pub mod calls;
pub mod devices;
pub mod matrices;
pub mod place;
pub mod residual;
pub mod triangle_file;

use cudafactor::base::error::Result;
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::memory::Memory;
use faer::{MatMut, MatRef};

/// Edges of a warp, of tiles and of blocks, on both sides.
pub const SIZES: [usize; 14] = [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257];

/// Edges of warps and blocks, empty, long and wide.
pub fn edge_shapes() -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = SIZES.iter().map(|&n| (n, n)).collect();
    all.extend([
        (0, 3),
        (3, 0),
        (1, 700),
        (700, 1),
        (511, 3),
        (513, 2),
        (33, 257),
        (20_000, 2),
        (2, 20_000),
    ]);
    all
}

/// Shapes of factorizations: every size square, then tall and wide.
pub fn shapes() -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = SIZES.iter().map(|&n| (n, n)).collect();
    all.extend([
        (0, 3),
        (3, 0),
        (1, 5),
        (5, 1),
        (33, 7),
        (7, 33),
        (130, 65),
        (65, 130),
    ]);
    all.extend([(1000, 5), (5, 1000), (300, 257), (257, 300), (1000, 1000)]);
    all
}

/// Whether only the smallest shapes are wanted, under a checker that slows everything down.
pub fn few() -> bool {
    std::env::var("CUDAFACTOR_TEST_SHAPES").as_deref() == Ok("few")
}

/// `for_each_device!(body, ...)`: tests of the generic functions
/// `body<T: Scalar, D: Device<T>>(&D)`.
macro_rules! for_each_device {
    ($($body:ident),* $(,)?) => {$(
        mod $body {
            #[test]
            fn cpu_f64() {
                super::$body::<f64, _>(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[test]
            fn cpu_f32() {
                super::$body::<f32, _>(&cudafactor::backend::cpu::CpuDevice::new(2));
            }
            #[test]
            fn cpu_one_thread() {
                super::$body::<f64, _>(&cudafactor::backend::cpu::CpuDevice::new(1));
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_f64() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body::<f64, _>(&gpu);
                }
            }
            #[cfg(feature = "cuda")]
            #[test]
            fn cuda_f32() {
                if let Some(gpu) = crate::common::gpu() {
                    super::$body::<f32, _>(&gpu);
                }
            }
        }
    )*};
}
pub(crate) use for_each_device;

/// The first GPU. Without one a test passes with a word, unless `CUDAFACTOR_REQUIRE_GPU=1` asks for
/// it to fail.
#[cfg(feature = "cuda")]
pub fn gpu() -> Option<cudafactor::backend::cuda::CudaDevice> {
    match cudafactor::backend::cuda::CudaDevice::open(0) {
        Ok(gpu) => Some(gpu),
        Err(e) if std::env::var("CUDAFACTOR_REQUIRE_GPU").as_deref() == Ok("1") => {
            panic!("a GPU is required: {e}")
        }
        Err(e) => {
            eprintln!("skipped: {e}");
            None
        }
    }
}

/// A column-major host matrix whose columns may lie further apart than they are long.
#[derive(Debug, Clone)]
pub struct Host<T> {
    data: Vec<T>,
    pub rows: usize,
    pub cols: usize,
    ld: usize,
}

/// What stands between the columns; nothing may change or use it.
const PADDING: f64 = 7.0e30;

impl<T: Scalar> Host<T> {
    pub fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        Self::spread(rows, cols, 0, f)
    }

    /// With `gap` unused rows below each column.
    pub fn spread(rows: usize, cols: usize, gap: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let ld = rows + gap;
        let mut data = vec![T::from_f64(PADDING); ld * cols];
        for j in 0..cols {
            for i in 0..rows {
                data[j * ld + i] = T::from_f64(f(i, j));
            }
        }
        Host {
            data,
            rows,
            cols,
            ld,
        }
    }

    /// The same entries with `gap` unused rows below each column.
    pub fn with_gap(&self, gap: usize) -> Self {
        Self::spread(self.rows, self.cols, gap, |i, j| self.at(i, j))
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.rows && j < self.cols);
        self.data[j * self.ld + i].into()
    }

    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        assert!(i < self.rows && j < self.cols);
        self.data[j * self.ld + i] = T::from_f64(value);
    }

    pub fn view(&self) -> MatRef<'_, T> {
        if self.cols == 0 || self.rows == 0 {
            return MatRef::from_column_major_slice(&[], self.rows, self.cols);
        }
        MatRef::from_column_major_slice_with_stride(&self.data, self.rows, self.cols, self.ld)
    }

    pub fn view_mut(&mut self) -> MatMut<'_, T> {
        if self.cols == 0 || self.rows == 0 {
            return MatMut::from_column_major_slice_mut(&mut [], self.rows, self.cols);
        }
        MatMut::from_column_major_slice_with_stride_mut(
            &mut self.data,
            self.rows,
            self.cols,
            self.ld,
        )
    }

    /// In double precision, for residuals.
    pub fn wide(&self) -> faer::Mat<f64> {
        faer::Mat::from_fn(self.rows, self.cols, |i, j| self.at(i, j))
    }

    pub fn assert_padding_untouched(&self) {
        for j in 0..self.cols {
            let gap = &self.data[j * self.ld + self.rows..(j + 1) * self.ld];
            assert!(
                gap.iter().all(|&v| v == T::from_f64(PADDING)),
                "padding below column {j} changed"
            );
        }
    }

    pub fn all(&self, test: impl Fn(f64) -> bool) -> bool {
        (0..self.cols).all(|j| (0..self.rows).all(|i| test(self.at(i, j))))
    }
}

/// Entry by entry, NaN equal to NaN.
pub fn same<T: Scalar>(a: &Host<T>, b: &Host<T>) -> bool {
    (a.rows, a.cols) == (b.rows, b.cols)
        && (0..a.cols).all(|j| {
            (0..a.rows).all(|i| {
                let (x, y) = (a.at(i, j), b.at(i, j));
                x == y || x.is_nan() && y.is_nan()
            })
        })
}

/// Loads a copy of `part` of `a`, changes it by `f`, and stores it, with the padding of `a`.
pub fn changed<T: Scalar, D: Memory<T>, R>(
    device: &D,
    a: &Host<T>,
    part: Part,
    f: impl FnOnce(&mut D::Mat<'_>) -> Result<R>,
) -> Result<(Host<T>, R)> {
    let mut home = Host::spread(a.rows, a.cols, a.ld - a.rows, |_, _| 0.0);
    let mut m = device.load_into(a.view(), part, home.view_mut())?;
    let outcome = f(&mut m)?;
    device.store(m)?;
    home.assert_padding_untouched();
    Ok((home, outcome))
}

/// A new matrix written by `f`, its memory full of NaN before.
pub fn written<T: Scalar, D: Memory<T>>(
    device: &D,
    rows: usize,
    cols: usize,
    gap: usize,
    f: impl FnOnce(&mut D::Mat<'_>) -> Result<()>,
) -> Result<Host<T>> {
    let mut home = Host::spread(rows, cols, gap, |_, _| f64::NAN);
    let mut m = device.output(home.view_mut())?;
    f(&mut m)?;
    device.store(m)?;
    home.assert_padding_untouched();
    Ok(home)
}
