//! The contract for entry-by-entry arithmetic, reductions, and the movement of parts of matrices.
//!
//! Entries are computed in double precision and rounded to the element type once, whatever that is:
//! the four operations and the root are then the same on every machine, and other functions within
//! a few units in the last place. Results go to matrices of the caller's; nothing of them is read,
//! except by [`Elementwise::scatter`], [`Elementwise::set_diagonal`] and
//! [`Elementwise::scale_columns`], and they are never one of the operands.

use crate::base::error::{Error, Result};
use crate::base::matrix::{Change, Part};
use crate::base::scalar::Scalar;
use crate::device::dense::Device;

/// What [`Elementwise::scale_columns`] makes of y, x and `by`, of matrices of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// `y <- x diag(by)`.
    Replace,
    /// `y <- y + x diag(by)`.
    Add,
    /// `y <- x + y diag(by)`.
    Onto,
}

/// A function of one number, as R has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    Copy,
    Negate,
    Abs,
    Sign,
    Sqrt,
    Ceiling,
    Floor,
    Trunc,
    /// To the nearest integer, halves to the even one.
    Round,
    Exp,
    Expm1,
    Log,
    Log1p,
    Log10,
    Log2,
    Cos,
    Sin,
    Tan,
    /// Cosine of pi times the number, exact at multiples of a half; likewise the next two.
    Cospi,
    Sinpi,
    Tanpi,
    Acos,
    Asin,
    Atan,
    Cosh,
    Sinh,
    Tanh,
    Acosh,
    Asinh,
    Atanh,
}

impl Map {
    /// R's names; a place in this list is the number that stands for the function on its way to the
    /// device.
    pub const NAMES: [(&'static str, Map); 30] = [
        ("copy", Map::Copy),
        ("negate", Map::Negate),
        ("abs", Map::Abs),
        ("sign", Map::Sign),
        ("sqrt", Map::Sqrt),
        ("ceiling", Map::Ceiling),
        ("floor", Map::Floor),
        ("trunc", Map::Trunc),
        ("round", Map::Round),
        ("exp", Map::Exp),
        ("expm1", Map::Expm1),
        ("log", Map::Log),
        ("log1p", Map::Log1p),
        ("log10", Map::Log10),
        ("log2", Map::Log2),
        ("cos", Map::Cos),
        ("sin", Map::Sin),
        ("tan", Map::Tan),
        ("cospi", Map::Cospi),
        ("sinpi", Map::Sinpi),
        ("tanpi", Map::Tanpi),
        ("acos", Map::Acos),
        ("asin", Map::Asin),
        ("atan", Map::Atan),
        ("cosh", Map::Cosh),
        ("sinh", Map::Sinh),
        ("tanh", Map::Tanh),
        ("acosh", Map::Acosh),
        ("asinh", Map::Asinh),
        ("atanh", Map::Atanh),
    ];

    pub fn named(name: &str) -> Option<Map> {
        named(&Map::NAMES, name)
    }

    pub fn number(self) -> i32 {
        self as i32
    }

    /// Whether it gives NaN for some number that is none.
    pub fn may_make_nan(self) -> bool {
        !matches!(
            self,
            Map::Copy
                | Map::Negate
                | Map::Abs
                | Map::Sign
                | Map::Ceiling
                | Map::Floor
                | Map::Trunc
                | Map::Round
                | Map::Exp
                | Map::Expm1
                | Map::Atan
                | Map::Cosh
                | Map::Sinh
                | Map::Tanh
                | Map::Asinh
        )
    }
}

/// A function of two numbers, as R has it: `1^NA` and `NA^0` are 1, `%%` has the sign of its second
/// operand, and `%/%` rounds down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zip {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Modulo,
    Quotient,
}

impl Zip {
    pub const NAMES: [(&'static str, Zip); 7] = [
        ("+", Zip::Add),
        ("-", Zip::Subtract),
        ("*", Zip::Multiply),
        ("/", Zip::Divide),
        ("^", Zip::Power),
        ("%%", Zip::Modulo),
        ("%/%", Zip::Quotient),
    ];

    pub fn named(name: &str) -> Option<Zip> {
        named(&Zip::NAMES, name)
    }

    pub fn number(self) -> i32 {
        self as i32
    }
}

/// What many numbers are reduced to, in double precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Sum,
    /// Infinity for no numbers.
    Min,
    /// Minus infinity for no numbers.
    Max,
    /// How many are not NaN.
    Count,
    /// The sum of absolute values.
    Magnitudes,
    /// The largest absolute value; 0 for no numbers.
    Largest,
    /// The sum of squares, which may overflow.
    Squares,
}

impl Fold {
    pub const NAMES: [(&'static str, Fold); 7] = [
        ("sum", Fold::Sum),
        ("min", Fold::Min),
        ("max", Fold::Max),
        ("count", Fold::Count),
        ("magnitudes", Fold::Magnitudes),
        ("largest", Fold::Largest),
        ("squares", Fold::Squares),
    ];

    pub fn named(name: &str) -> Option<Fold> {
        named(&Fold::NAMES, name)
    }

    pub fn number(self) -> i32 {
        self as i32
    }

    /// What partial results are reduced by.
    pub fn of_parts(self) -> Fold {
        match self {
            Fold::Sum | Fold::Count | Fold::Magnitudes | Fold::Squares => Fold::Sum,
            Fold::Largest | Fold::Max => Fold::Max,
            Fold::Min => Fold::Min,
        }
    }

    /// The outcome for no numbers.
    pub fn of_nothing(self) -> f64 {
        match self {
            Fold::Min => f64::INFINITY,
            Fold::Max => f64::NEG_INFINITY,
            Fold::Sum | Fold::Count | Fold::Magnitudes | Fold::Largest | Fold::Squares => 0.0,
        }
    }
}

/// What is reduced to one number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    All,
    Rows,
    Columns,
}

fn named<V: Copy>(all: &[(&str, V)], name: &str) -> Option<V> {
    all.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

/// What is read, entry by entry, beside a matrix.
pub enum Operand<'o, M> {
    /// One of the result's shape.
    Matrix(&'o M),
    Number(f64),
    /// The entries of a matrix of any shape but an empty one, by columns, over and over again down
    /// the columns of the result.
    Recycled(&'o M),
}

impl<M> Clone for Operand<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Operand<'_, M> {}

/// Which rows, or which columns: places counted from 0.
#[derive(Debug, Clone, Copy)]
pub enum Index<'i> {
    /// As many as the other matrix has, from this one on.
    From(usize),
    /// Those listed. A negative number stands for none.
    List(&'i [i32]),
}

impl Index<'_> {
    /// An error unless it names `count` places, all of them below `extent`.
    pub fn check(&self, count: usize, extent: usize) -> Result<()> {
        let fits = match self {
            Index::From(first) => first.checked_add(count).is_some_and(|end| end <= extent),
            Index::List(all) => {
                all.len() == count && all.iter().all(|&i| i < 0 || (i as usize) < extent)
            }
        };
        if fits {
            Ok(())
        } else {
            Err(Error::Dimension {
                what: "subscript out of bounds".into(),
            })
        }
    }

    /// The place of number `k`, if it has one.
    pub fn at(&self, k: usize) -> Option<usize> {
        match self {
            Index::From(first) => Some(first + k),
            Index::List(all) => usize::try_from(all[k]).ok(),
        }
    }
}

pub trait Elementwise<T: Scalar>: Device<T> {
    /// A matrix that lives on the device alone, to be written before it is read.
    fn blank(&self, rows: usize, cols: usize) -> Result<Self::Mat<'static>>;

    /// `out[i, j] <- f(A[i, j])`. Whether an entry that was not NaN became NaN, for functions that
    /// can make one so.
    fn map(&self, f: Map, a: &Self::Mat<'_>, out: &mut Self::Mat<'_>) -> Result<bool>;

    /// `out[i, j] <- f(A[i, j], B[i, j])`.
    fn zip(
        &self,
        f: Zip,
        a: Operand<'_, Self::Mat<'_>>,
        b: Operand<'_, Self::Mat<'_>>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;

    /// A number for each of the lines, in an order of operations that depends on the shape alone.
    /// NaN makes NaN, unless `skip` leaves it out ([`Fold::Count`] always does).
    fn fold(&self, f: Fold, lines: Lines, skip: bool, a: &Self::Mat<'_>) -> Result<Vec<f64>>;

    /// Changes y by x, columns of one multiplied with numbers: see [`Scaling`].
    /// [`Error::Dimension`] unless both have one shape and there is a number for each column. A
    /// column of y depends on that of x and itself alone.
    fn scale_columns(
        &self,
        x: &Self::Mat<'_>,
        by: &[f64],
        how: Scaling,
        y: &mut Self::Mat<'_>,
    ) -> Result<()>;

    /// The inner product of every column of x with that of y, of one shape (else
    /// [`Error::Dimension`]), in an order of operations that depends on the number of rows alone.
    fn column_dots(&self, x: &Self::Mat<'_>, y: &Self::Mat<'_>) -> Result<Vec<f64>>;

    /// As [`FactorUpdate::update_factor`](crate::device::update::FactorUpdate::update_factor) of an
    /// update, where V stays, and no magnitude in it is above `most`: else nothing is changed, and
    /// that is false. V has entries.
    fn update_guarded(&self, most: f64, r: &mut Self::Mat<'_>, v: &Self::Mat<'_>) -> Result<bool> {
        let largest = self.fold(Fold::Largest, Lines::All, false, v)?;
        if !largest.iter().all(|x| *x <= most) {
            return Ok(false);
        }
        let mut v = self.duplicate(v, Part::All)?;
        self.update_factor(Change::Up, r, &mut v)?;
        Ok(true)
    }

    /// `out <- A'`.
    fn transpose(&self, a: &Self::Mat<'_>, out: &mut Self::Mat<'_>) -> Result<()>;

    /// The `min(m, n)` diagonal entries become `values`, or the one value there is.
    fn set_diagonal(&self, values: &[T], a: &mut Self::Mat<'_>) -> Result<()>;

    /// `out[i, j] <- A[rows(i), cols(j)]`, or `missing` where one of the two is no place.
    fn gather(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        missing: T,
        a: &Self::Mat<'_>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;

    /// `out[rows(i), cols(j)] <- B[i, j]` for an `m` x `n` B of shape `shape`, where both are
    /// places. No place is named twice.
    fn scatter(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        shape: (usize, usize),
        b: Operand<'_, Self::Mat<'_>>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_numbers() {
        for (i, (name, f)) in Map::NAMES.into_iter().enumerate() {
            assert_eq!((f.number(), Map::named(name)), (i as i32, Some(f)));
        }
        for (i, (name, f)) in Zip::NAMES.into_iter().enumerate() {
            assert_eq!((f.number(), Zip::named(name)), (i as i32, Some(f)));
        }
        for (i, (name, f)) in Fold::NAMES.into_iter().enumerate() {
            assert_eq!((f.number(), Fold::named(name)), (i as i32, Some(f)));
        }
        assert_eq!(Map::named("gamma"), None);
    }

    #[test]
    fn places_outside_are_refused() {
        assert!(Index::From(2).check(3, 5).is_ok());
        assert!(Index::From(3).check(3, 5).is_err());
        assert!(Index::From(usize::MAX).check(2, 5).is_err());
        assert!(Index::List(&[0, -1, 4]).check(3, 5).is_ok());
        assert!(Index::List(&[0, 5]).check(2, 5).is_err());
        assert!(Index::List(&[0]).check(2, 5).is_err());
        assert_eq!(Index::List(&[3, -1]).at(1), None);
        assert_eq!(Index::From(3).at(1), Some(4));
    }
}
