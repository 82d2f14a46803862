//! Columns in a device's memory, to which blocks of columns are added.

use faer::{Mat, MatRef};

use crate::algo::lanczos::transfer::{bring, fetch};
use crate::base::error::Result;
use crate::base::matrix::{Block, Trans};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;

/// Columns of a part. Products with fewer take the same time, and with more multiply more zeros.
const WIDTH: usize = 32;

/// Columns in parts of [`WIDTH`], so that a product takes the time of the columns that are there.
/// Those beyond `count` are zero: products need no part of a matrix.
pub(super) struct Stack<'d, T: Scalar, D: Elementwise<T>> {
    dev: &'d D,
    parts: Vec<D::Mat<'static>>,
    rows: usize,
    count: usize,
}

impl<'d, T: Scalar, D: Elementwise<T>> Stack<'d, T, D> {
    pub fn new(dev: &'d D, rows: usize) -> Self {
        Stack {
            dev,
            parts: Vec::new(),
            rows,
            count: 0,
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn append(&mut self, block: &D::Mat<'static>) -> Result<()> {
        let (rows, cols) = self.dev.shape(block);
        let mut col = 0;
        while col < cols {
            let (part, at) = (self.count / WIDTH, self.count % WIDTH);
            if part == self.parts.len() {
                self.parts.push(self.dev.zeros(rows, WIDTH)?);
            }
            let piece = Block {
                row: 0,
                col,
                rows,
                cols: (cols - col).min(WIDTH - at),
            };
            self.dev
                .copy_block(block, piece, &mut self.parts[part], (0, at))?;
            col += piece.cols;
            self.count += piece.cols;
        }
        Ok(())
    }

    /// `w <- w - Q Q'w`; the coefficients `Q'w`.
    pub fn project(&self, w: &mut D::Mat<'static>) -> Result<Mat<f64>> {
        let (dev, cols) = (self.dev, self.dev.shape(w).1);
        let along = dev.project(&self.parts, self.count, w)?;
        let mut all = Mat::zeros(self.count, cols);
        for (p, h) in along.iter().enumerate() {
            let values = fetch(dev, h)?;
            for i in p * WIDTH..self.count.min((p + 1) * WIDTH) {
                (0..cols).for_each(|j| all[(i, j)] = values[(i - p * WIDTH) * cols + j]);
            }
        }
        Ok(all)
    }

    /// The columns `Q y`.
    pub fn times(&self, y: MatRef<'_, f64>) -> Result<D::Mat<'static>> {
        let (dev, one) = (self.dev, T::from_f64(1.0));
        let mut out = dev.blank(self.rows, y.ncols())?;
        let mut beta = T::from_f64(0.0);
        for (p, part) in self.parts.iter().enumerate() {
            let rows = WIDTH.min(y.nrows() - p * WIDTH);
            let y = bring(dev, y.subrows(p * WIDTH, rows), WIDTH)?;
            dev.gemm(one, Trans::No, part, Trans::No, &y, beta, &mut out)?;
            beta = one;
        }
        Ok(out)
    }

    /// `Q <- Q y`, of orthonormal y.
    pub fn rotate(&mut self, y: MatRef<'_, f64>) -> Result<()> {
        let kept = self.times(y)?;
        self.parts.clear();
        self.count = 0;
        self.append(&kept)
    }
}
