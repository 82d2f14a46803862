//! A Cholesky factor in a file of tiles or in host memory: the upper triangular R, or its leading
//! part. It is only read.

use std::sync::Arc;

use faer::MatRef;

use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::tiles::plan_executor::Store;
use crate::tiles::{Buffer, Layout, Shape, State, TileFile};

/// Where it is.
enum Source<'a, T> {
    File(&'a TileFile<T>),
    Host(MatRef<'a, T>),
}

/// The leading `order` rows and columns of a factor.
pub struct Factor<'a, T> {
    source: Source<'a, T>,
    layout: Layout,
    order: usize,
    moved: Arc<Moved>,
}

impl<'a, T: Scalar> Factor<'a, T> {
    /// A file that holds no factor, or a part of one, is [`Error::Argument`] of `r`.
    pub fn new(file: &'a TileFile<T>, order: usize) -> Result<Self> {
        let layout = *file.layout();
        let cannot = |what: String| {
            Err(Error::Argument {
                argument: "r",
                what: format!("{}: {what}", file.path().display()),
            })
        };
        match file.state() {
            State::Factor if layout.shape() == Shape::Triangle => {}
            State::Factor | State::Matrix => {
                return cannot(
                    "the file must hold a Cholesky factor, but it holds a matrix: use chol_file() \
                     to factor it"
                        .to_owned(),
                )
            }
            State::Factoring => {
                return cannot(
                    "the file must hold a Cholesky factor, but it holds an interrupted \
                     factorization: use chol_file(resume = TRUE) to continue it"
                        .to_owned(),
                )
            }
            State::NotPositiveDefinite { order } => {
                return cannot(format!(
                    "the file must hold a Cholesky factor, but its factorization has failed: the \
                     leading minor of order {order} is not positive"
                ))
            }
        }
        if order > layout.rows() {
            return Err(Error::Dimension {
                what: "invalid 'k' argument".to_owned(),
            });
        }
        let factor = Factor {
            source: Source::File(file),
            layout,
            order,
            moved: file.counter(),
        };
        let count = factor.count();
        match (0..count * (count + 1) / 2).find(|tile| !file.has(*tile)) {
            Some(tile) => {
                let (i, j) = layout.position(tile);
                Err(Error::FileFormat {
                    path: file.path().display().to_string(),
                    what: format!(
                        "all tiles must be written, but that in block row {} and block column {} \
                         never was",
                        i + 1,
                        j + 1
                    ),
                })
            }
            None => Ok(factor),
        }
    }

    /// A factor that is whole in host memory, in tiles of this layout.
    pub fn of_host(r: MatRef<'a, T>, layout: Layout) -> Result<Self> {
        let n = layout.rows();
        if layout.shape() != Shape::Triangle || r.shape() != (n, n) {
            return Err(Error::Dimension {
                what: "a factor is square, in tiles of its order".to_owned(),
            });
        }
        Ok(Factor {
            source: Source::Host(r),
            layout,
            order: n,
            moved: Arc::default(),
        })
    }

    fn read(&self, tile: usize, into: &mut Buffer<T>) -> Result<()> {
        let r = match &self.source {
            Source::File(file) => return file.read(tile, into),
            Source::Host(r) => r,
        };
        let (i, j) = self.layout.position(tile);
        let (size, (rows, cols)) = (self.layout.tile(), self.layout.dimensions(i, j));
        let block = r.submatrix(i * size, j * size, rows, cols);
        into.fill(T::from_f64(0.0));
        for c in 0..cols {
            let column = block.col(c);
            let to = into[c * size..].iter_mut().take(rows);
            to.enumerate().for_each(|(k, to)| *to = column[k]);
        }
        self.moved.has_read(into.bytes().len() as u64);
        Ok(())
    }

    /// The bytes that are read of it, while they are.
    pub fn counter(&self) -> Arc<Moved> {
        self.moved.clone()
    }

    pub fn order(&self) -> usize {
        self.order
    }

    /// The order of a tile.
    pub fn tile(&self) -> usize {
        self.layout.tile()
    }

    /// Rows of tiles.
    pub fn count(&self) -> usize {
        self.order.div_ceil(self.tile())
    }

    /// Rows in a block of rows, and columns in a block of columns.
    pub(crate) fn rows_of(&self, block: usize) -> usize {
        let first = block * self.tile();
        self.tile().min(self.order.saturating_sub(first))
    }

    /// The number of a tile on or above the diagonal.
    pub(crate) fn index(&self, i: usize, j: usize) -> Result<usize> {
        self.layout.index(i, j).ok_or_else(|| Error::Internal {
            what: "a step needs a tile that there is not".into(),
        })
    }

    /// The diagonal. Only the tiles on it are read.
    pub fn diagonal(&self) -> Result<Vec<T>> {
        let mut all = Vec::with_capacity(self.order);
        let mut buffer = Buffer::new(&self.layout)?;
        for k in 0..self.count() {
            interrupt::poll()?;
            self.read(self.index(k, k)?, &mut buffer)?;
            all.extend((0..self.rows_of(k)).map(|t| buffer[t * (self.tile() + 1)]));
        }
        Ok(all)
    }
}

impl<T: Scalar> Store<T> for Factor<'_, T> {
    /// A zero on the diagonal is [`Error::Singular`].
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()> {
        self.read(tile, into)?;
        let (i, j) = self.layout.position(tile);
        if i == j {
            let zero = T::from_f64(0.0);
            let mut diagonal = (0..self.rows_of(i)).map(|t| into[t * (self.tile() + 1)]);
            if let Some(t) = diagonal.position(|d| d == zero) {
                return Err(Error::Singular {
                    index: i * self.tile() + t + 1,
                });
            }
        }
        Ok(())
    }

    fn store(&self, _: usize, _: &Buffer<T>, _: usize) -> Result<()> {
        Err(Error::Internal {
            what: "a factor that is read was to be changed".into(),
        })
    }
}

impl<T: Scalar> TileSource<T> for Factor<'_, T> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn blocks(&self) -> (usize, usize) {
        (self.count(), self.count())
    }

    fn part(&self, i: usize, j: usize) -> (usize, usize) {
        (self.rows_of(i), self.rows_of(j))
    }

    /// Names the first zero on the diagonal, whichever was met.
    fn told(&self, e: Error) -> Error {
        let Error::Singular { .. } = e else {
            return e;
        };
        let zero = T::from_f64(0.0);
        match self.diagonal() {
            Ok(d) => match d.iter().position(|d| *d == zero) {
                Some(first) => Error::Singular { index: first + 1 },
                None => e,
            },
            Err(other) => other,
        }
    }
}
