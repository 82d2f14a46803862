//! An orthonormal basis in a device's memory, to which orthogonalized blocks of columns are added.

use faer::{Mat, MatMut, MatRef};

use crate::algo::lanczos::small::{inner, largest, range, Loose};
use crate::algo::lanczos::stack::Stack;
use crate::algo::lanczos::transfer::{bring, fetch};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Part, Trans};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;

/// A column whose part outside the basis is below this share of the norm is rounding, in units of
/// the precision.
const ROUNDING: f64 = 20.0;
/// How often columns are replaced, at most: random ones keep their length.
const TRIES: usize = 4;

/// If all of a block keeps this share of its norm, it is orthogonal to what was subtracted.
const KEPT: f64 = 0.1;
/// Coefficients below this share of a block's norm do not matter for its orthogonality.
const SMALL: f64 = 0.01;

/// Orthonormal columns.
pub(super) struct Basis<'d, T: Scalar, D: Elementwise<T>> {
    dev: &'d D,
    columns: Stack<'d, T, D>,
    rows: usize,
    /// The next random number. Bases of one iteration draw others, since a product of random
    /// columns may be these columns.
    drawn: u64,
    /// Of a basis that need not be orthonormal to rounding.
    loose: Option<Loose>,
}

/// `W = Q coefficients + block rest`, where `block` is orthonormal and orthogonal to the basis Q.
pub(super) struct Split<M> {
    pub coefficients: Mat<f64>,
    pub rest: Mat<f64>,
    pub block: M,
}

/// A number in [-1, 1) that looks drawn at random, and is the same every time (splitmix64).
fn random(counter: u64) -> f64 {
    let z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
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

    /// Frobenius' norm of W.
    pub fn size(&self) -> f64 {
        self.coefficients.norm_l2().hypot(self.rest.norm_l2())
    }
}

impl<'d, T: Scalar, D: Elementwise<T>> Basis<'d, T, D> {
    /// No columns, of `rows` entries. Each basis of an iteration has another `seed`.
    pub fn new(dev: &'d D, rows: usize, seed: u64) -> Self {
        Basis {
            dev,
            columns: Stack::new(dev, rows),
            rows,
            drawn: seed << 48,
            loose: None,
        }
    }

    /// As [`Basis::new`], for blocks whose inner products with all columns but the last ones are
    /// rounding, as they follow from another basis. Inner products of different columns may be as
    /// large as `most`.
    pub fn loose(dev: &'d D, rows: usize, seed: u64, most: f64) -> Self {
        let loose = Loose {
            most,
            all: T::EPS,
            last: T::EPS,
        };
        Basis {
            loose: Some(loose),
            ..Basis::new(dev, rows, seed)
        }
    }

    pub fn count(&self) -> usize {
        self.columns.count()
    }

    /// Adds orthonormal columns that are orthogonal to the basis.
    pub fn append(&mut self, block: &D::Mat<'static>) -> Result<()> {
        self.columns.append(block)
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
        Ok(self.split(drawn, &[], 1.0)?.block)
    }

    /// `w <- w - B B'w`; the coefficients `B'w`.
    fn subtract(&self, b: &D::Mat<'static>, w: &mut D::Mat<'static>) -> Result<Mat<f64>> {
        let (dev, rows, cols) = (self.dev, self.dev.shape(b).1, self.dev.shape(w).1);
        let along = dev.project(std::slice::from_ref(b), rows, w)?;
        let values = fetch(dev, &along[0])?;
        Ok(Mat::from_fn(rows, cols, |i, j| values[i * cols + j]))
    }

    /// Q and R of a block.
    fn factor(&self, mut w: D::Mat<'static>) -> Result<(D::Mat<'static>, Mat<f64>)> {
        let (dev, cols) = (self.dev, self.dev.shape(&w).1);
        if let Some(r) = dev.orthonormalize(&mut w)? {
            return Ok((w, r));
        }
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
    /// Unless `near` is empty, it has the last blocks of the basis, and inner products of W with
    /// other columns are rounding.
    ///
    /// Random columns replace those of which only rounding, relative to `norm`, is outside the
    /// basis; the corresponding row of `rest` is zero. The basis must leave room for them: it has
    /// at most half as many columns as rows.
    pub fn split(
        &mut self,
        mut w: D::Mat<'static>,
        near: &[&D::Mat<'static>],
        norm: f64,
    ) -> Result<Split<D::Mat<'static>>> {
        let cols = self.dev.shape(&w).1;
        let mut coefficients = Mat::zeros(self.count(), cols);
        let mut end = self.count();
        for block in near.iter().rev() {
            let h = self.subtract(block, &mut w)?;
            end -= h.nrows();
            (0..cols).for_each(|j| {
                (0..h.nrows()).for_each(|i| coefficients[(end + i, j)] = h[(i, j)]);
            });
        }
        let before = largest(&coefficients);
        let mut along = 0.0;
        if near.is_empty() || self.loose.is_none() {
            let h = self.columns.project(&mut w)?;
            along = largest(&h);
            coefficients += h;
        }
        let (mut q, mut r) = self.factor(w)?;
        if !(0..cols).all(|j| (0..=j).all(|i| r[(i, j)].is_finite())) {
            return Err(Error::NonFiniteIn { argument: "x" });
        }
        let (mut outside, smallest) = range(&r, ROUNDING * T::EPS * norm);
        if outside.len() == cols {
            let size = along.max(largest(&r));
            let is_done = match &mut self.loose {
                None => !near.is_empty() && along <= SMALL * size && smallest >= KEPT * size,
                Some(loose) => {
                    let all = near.is_empty();
                    loose.accepts(T::EPS * norm, before.max(along), all, smallest)
                }
            };
            if is_done {
                return Ok(Split {
                    coefficients,
                    rest: r,
                    block: q,
                });
            }
        }
        for _ in 0..TRIES {
            if outside.len() < cols {
                q = self.replaced(&q, &outside)?;
                let entry = |i: usize, j: usize| outside.get(i).map_or(0.0, |g| inner(g, &r, j));
                r = Mat::from_fn(cols, cols, entry);
            }
            let again = self.columns.project(&mut q)?;
            let factor;
            (q, factor) = self.factor(q)?;
            coefficients += again * &r;
            r = &factor * r;
            // Twice is enough for columns that keep their length. The others were rounding, too.
            outside = range(&factor, 0.5).0;
            if outside.len() == cols {
                break;
            }
        }
        if let Some(loose) = &mut self.loose {
            loose.last = T::EPS;
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
        self.columns.times(y)
    }

    /// `Q <- Q y`, of orthonormal y.
    pub fn rotate(&mut self, y: MatRef<'_, f64>) -> Result<()> {
        self.columns.rotate(y)
    }
}
