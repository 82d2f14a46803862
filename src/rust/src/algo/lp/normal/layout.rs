//! Where the rows and columns of a linear program stand in its standard form, and what a matrix of
//! constraints, dense or sparse, offers to be brought into it.

use std::borrow::Cow;

use super::equations::NormalEquations;
use crate::algo::lp::vectors::space::Capped;
use crate::base::error::Result;
use crate::base::sparse::csc::Csc;

/// Rows that are kept, and columns in their groups. The structural columns with an upper bound come
/// before the others, and so do slacks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConstraintLayout {
    /// Numbers in the problem.
    pub rows: Vec<usize>,
    pub bounded: Vec<usize>,
    /// -1 for a column that is counted from its upper bound downwards.
    pub signs: Vec<f64>,
    /// Rows of the problem that have a slack, and its coefficient, 1 or -1.
    pub slacks: Vec<usize>,
    pub slack_signs: Vec<f64>,
    pub free: Vec<usize>,
    /// How many of the structural columns, and of the slacks, have an upper bound.
    pub capped: (usize, usize),
}

impl ConstraintLayout {
    /// Whether there is nothing to choose, or nothing to keep to.
    pub fn is_empty(&self) -> bool {
        let columns = self.bounded.len() + self.slacks.len() + self.free.len();
        self.rows.is_empty() || columns == 0
    }

    pub fn capped(&self) -> Capped {
        Capped {
            structural: self.capped.0,
            slack_at: self.bounded.len(),
            slack: self.capped.1,
        }
    }

    /// The places of the problem's rows among those kept, of `rows` in all.
    pub fn places(&self, rows: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; rows];
        for (place, row) in self.rows.iter().enumerate() {
            places[*row] = Some(place);
        }
        places
    }
}

/// A matrix of constraints as it was given.
pub trait Constraints {
    type Normal: NormalEquations;

    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// Of each column the largest magnitude in these rows.
    fn column_magnitudes(&self, rows: &[usize]) -> Result<Vec<f64>>;
    /// `A x`.
    fn times(&self, x: &[f64]) -> Result<Vec<f64>>;
    /// `A' y`.
    fn transposed_times(&self, y: &[f64]) -> Result<Vec<f64>>;
    /// `|A| |x|` and `|A|' |y|`: what rounding of these products is relative to.
    fn magnitudes_times(&self, x: &[f64]) -> Result<Vec<f64>>;
    fn magnitudes_transposed_times(&self, y: &[f64]) -> Result<Vec<f64>>;
    /// The distance of 1 from the next number of the matrix's precision.
    fn eps(&self) -> f64;
    /// The matrix in host memory if it is sparse or small.
    fn on_host(&self) -> Result<Option<Cow<'_, Csc>>>;
    /// The matrix of the standard form. Rows may be put into another order, which the layout then
    /// has.
    fn arrange(&self, layout: &mut ConstraintLayout) -> Result<Self::Normal>;
    /// These rows dependent on one another: see [`Dependent`]. Only the given columns count.
    fn dependent_rows(&self, rows: &Scaled, columns: &Scaled) -> Result<Dependent>;
    /// The same of columns, of which only the given rows count.
    fn dependent_columns(&self, columns: &Scaled, rows: &Scaled) -> Result<Dependent>;
}

/// Rows or columns of a problem, and what they are multiplied by when it is asked whether they
/// depend on one another: an angle between them says nothing where others are larger by orders of
/// magnitude.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scaled {
    pub places: Vec<usize>,
    pub scales: Vec<f64>,
}

/// Rows, or columns, that are combinations of others. Numbers are places in the list that was asked
/// about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dependent {
    pub kept: Vec<usize>,
    pub dropped: Vec<usize>,
    /// For each of those dropped by what the kept ones are multiplied, as they were before scaling.
    pub weights: Vec<Vec<f64>>,
}

/// The largest number of matrix entries of a small problem, and the most pivots.
pub const SMALL: usize = 20_000;
