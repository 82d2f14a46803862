//! An orthonormal basis in a device's memory, to which blocks of columns are added.

use faer::{Mat, MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Part, Trans};
use crate::base::scalar::{try_zeroed, widened, Scalar};
use crate::device::elementwise::Elementwise;

/// A column whose part outside the basis is below this share of the norm is rounding, in units of
/// the precision.
const ROUNDING: f64 = 20.0;
/// How often columns are replaced, at most: random ones keep their length.
const TRIES: usize = 4;

/// Orthonormal columns. Those beyond `count` are zero, so that products need no part of a matrix.
pub(super) struct Basis<'d, T: Scalar, D: Elementwise<T>> {
    dev: &'d D,
    q: D::Mat<'static>,
    rows: usize,
    room: usize,
    count: usize,
    /// The next random number. Bases of one iteration draw others, since a product of random
    /// columns may be these columns.
    drawn: u64,
}

/// `W = Q coefficients + block rest`, where `block` is orthonormal and orthogonal to the basis Q.
pub(super) struct Split<M> {
    pub coefficients: Mat<f64>,
    pub rest: Mat<f64>,
    pub block: M,
}

/// The numbers of a matrix of the device, by columns.
pub(super) fn fetch<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<Vec<f64>> {
    let (rows, cols) = dev.shape(x);
    let mut out = try_zeroed::<T>(rows.saturating_mul(cols))?;
    dev.read(x, MatMut::from_column_major_slice_mut(&mut out, rows, cols))?;
    widened(&out)
}

/// A small matrix of the host as one of the device, with rows of zeros below it.
pub(super) fn bring<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: MatRef<'_, f64>,
    rows: usize,
) -> Result<D::Mat<'static>> {
    let mut values = try_zeroed::<T>(rows * x.ncols())?;
    for j in 0..x.ncols() {
        (0..x.nrows()).for_each(|i| values[j * rows + i] = T::from_f64(x[(i, j)]));
    }
    let values = MatRef::from_column_major_slice(&values, rows, x.ncols());
    dev.load_temporary(values, Part::All)
}

/// A number in [-1, 1) that looks drawn at random, and is the same every time (splitmix64).
fn random(counter: u64) -> f64 {
    let z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// The inner product with column j.
fn inner(g: &[f64], r: &Mat<f64>, j: usize) -> f64 {
    g.iter().enumerate().map(|(i, g)| g * r[(i, j)]).sum()
}

/// An orthonormal basis of the range of a small matrix, except for what is not above `least`: Gram
/// and Schmidt with the largest column next.
fn range(r: &Mat<f64>, least: f64) -> Vec<Vec<f64>> {
    let (rows, cols) = (r.nrows(), r.ncols());
    let mut left: Vec<Vec<f64>> = (0..cols)
        .map(|j| (0..rows).map(|i| r[(i, j)]).collect())
        .collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut found: Vec<Vec<f64>> = Vec::new();
    while let Some(next) =
        (0..left.len()).max_by(|&i, &j| dot(&left[i], &left[i]).total_cmp(&dot(&left[j], &left[j])))
    {
        let mut g = left.swap_remove(next);
        let norm = dot(&g, &g).sqrt();
        if norm <= least {
            break;
        }
        g.iter_mut().for_each(|g| *g /= norm);
        for x in &mut left {
            // Twice is enough.
            for _ in 0..2 {
                let along = dot(&g, x);
                x.iter_mut().zip(&g).for_each(|(x, g)| *x -= along * g);
            }
        }
        found.push(g);
    }
    found
}

impl<M> Split<M> {
    /// The largest norm of a column of W, which the norm of the matrix is not below.
    pub fn norm(&self) -> f64 {
        let squares = |x: &Mat<f64>, j: usize| x.col(j).squared_norm_l2();
        let column = |j| squares(&self.coefficients, j) + squares(&self.rest, j);
        (0..self.rest.ncols())
            .map(column)
            .fold(0.0, f64::max)
            .sqrt()
    }
}

impl<'d, T: Scalar, D: Elementwise<T>> Basis<'d, T, D> {
    /// No columns, of `rows` entries, and room for so many. Each basis of an iteration has another
    /// `seed`.
    pub fn new(dev: &'d D, rows: usize, room: usize, seed: u64) -> Result<Self> {
        Ok(Basis {
            dev,
            q: dev.zeros(rows, room)?,
            rows,
            room,
            count: 0,
            drawn: seed << 48,
        })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds orthonormal columns that are orthogonal to the basis.
    pub fn append(&mut self, block: &D::Mat<'static>) -> Result<()> {
        let (rows, cols) = self.dev.shape(block);
        let all = Block::leading(rows, cols);
        let at = (0, self.count);
        self.dev.copy_block(block, all, &mut self.q, at)?;
        self.count += cols;
        Ok(())
    }

    fn draw(&mut self, cols: usize) -> Result<D::Mat<'static>> {
        let mut values = try_zeroed::<T>(self.rows * cols)?;
        for v in &mut values {
            *v = T::from_f64(random(self.drawn));
            self.drawn += 1;
        }
        let values = MatRef::from_column_major_slice(&values, self.rows, cols);
        self.dev.load_temporary(values, Part::All)
    }

    /// Random columns, orthonormal and orthogonal to the basis.
    pub fn fresh(&mut self, cols: usize) -> Result<D::Mat<'static>> {
        let drawn = self.draw(cols)?;
        Ok(self.split(drawn, 1.0)?.block)
    }

    /// `w <- w - Q Q'w`; the coefficients `Q'w`.
    fn project(&self, w: &mut D::Mat<'static>) -> Result<Mat<f64>> {
        let (dev, cols) = (self.dev, self.dev.shape(w).1);
        if self.count == 0 {
            return Ok(Mat::zeros(0, cols));
        }
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let mut h = dev.blank(self.room, cols)?;
        dev.gemm(one, Trans::Yes, &self.q, Trans::No, w, zero, &mut h)?;
        dev.gemm(-one, Trans::No, &self.q, Trans::No, &h, one, w)?;
        let values = fetch(dev, &h)?;
        Ok(Mat::from_fn(self.count, cols, |i, j| {
            values[j * self.room + i]
        }))
    }

    /// Q and R of a block.
    fn factor(&self, mut w: D::Mat<'static>) -> Result<(D::Mat<'static>, Mat<f64>)> {
        let (dev, cols) = (self.dev, self.dev.shape(&w).1);
        let tau = dev.geqrf(&mut w)?;
        let mut r = try_zeroed::<T>(cols * cols)?;
        let to = MatMut::from_column_major_slice_mut(&mut r, cols, cols);
        dev.read_block(&w, Block::leading(cols, cols), to)?;
        let upper = |i: usize, j: usize| {
            if i <= j {
                r[j * cols + i].to_f64()
            } else {
                0.0
            }
        };
        let r = Mat::from_fn(cols, cols, upper);
        let mut q = dev.blank(self.rows, cols)?;
        dev.orgqr(&w, &tau, &mut q)?;
        Ok((q, r))
    }

    /// Splits a block into its part in the basis and an orthonormal one.
    ///
    /// Random columns replace those of which only rounding, relative to `norm`, is outside the
    /// basis; the corresponding row of `rest` is zero. The basis must leave room for them: it has
    /// at most half as many columns as rows.
    pub fn split(&mut self, mut w: D::Mat<'static>, norm: f64) -> Result<Split<D::Mat<'static>>> {
        let mut coefficients = self.project(&mut w)?;
        let (mut q, mut r) = self.factor(w)?;
        let cols = r.ncols();
        if !(0..cols).all(|j| (0..=j).all(|i| r[(i, j)].is_finite())) {
            return Err(Error::NonFiniteIn { argument: "x" });
        }
        let mut outside = range(&r, ROUNDING * T::EPS * norm);
        for _ in 0..TRIES {
            if outside.len() < cols {
                q = self.replaced(&q, &outside)?;
                let entry = |i: usize, j: usize| outside.get(i).map_or(0.0, |g| inner(g, &r, j));
                r = Mat::from_fn(cols, cols, entry);
            }
            let again = self.project(&mut q)?;
            let factor;
            (q, factor) = self.factor(q)?;
            coefficients += again * &r;
            r = &factor * r;
            // Twice is enough for columns that keep their length. The others were rounding, too.
            outside = range(&factor, 0.5);
            if outside.len() == cols {
                break;
            }
        }
        Ok(Split {
            coefficients,
            rest: r,
            block: q,
        })
    }

    /// The columns `q g` for each g, and random ones.
    fn replaced(&mut self, q: &D::Mat<'static>, range: &[Vec<f64>]) -> Result<D::Mat<'static>> {
        let (dev, cols) = (self.dev, self.dev.shape(q).1);
        let (kept, all) = (range.len(), Block::leading(self.rows, cols - range.len()));
        let mut out = self.draw(cols)?;
        if kept > 0 {
            let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
            let g = Mat::from_fn(cols, kept, |i, j| range[j][i]);
            let g = bring(dev, g.as_ref(), cols)?;
            let mut first = dev.blank(self.rows, kept)?;
            dev.gemm(one, Trans::No, q, Trans::No, &g, zero, &mut first)?;
            let drawn = std::mem::replace(&mut out, dev.blank(self.rows, cols)?);
            dev.copy_block(&first, Block::leading(self.rows, kept), &mut out, (0, 0))?;
            dev.copy_block(&drawn, all, &mut out, (0, kept))?;
        }
        Ok(out)
    }

    /// The columns `Q y`.
    pub fn times(&self, y: MatRef<'_, f64>) -> Result<D::Mat<'static>> {
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let y = bring(self.dev, y, self.room)?;
        let cols = self.dev.shape(&y).1;
        let mut out = self.dev.blank(self.rows, cols)?;
        self.dev
            .gemm(one, Trans::No, &self.q, Trans::No, &y, zero, &mut out)?;
        Ok(out)
    }

    /// `Q <- Q y`, of orthonormal y.
    pub fn rotate(&mut self, y: MatRef<'_, f64>) -> Result<()> {
        let kept = self.times(y)?;
        self.q = self.dev.zeros(self.rows, self.room)?;
        self.count = 0;
        self.append(&kept)
    }
}
