//! Builds a linear program from the rows and columns of a file.

use super::notes::{Note, NoteKind};

/// How a row is compared with its right-hand side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    AtMost,
    AtLeast,
    Equal,
}

/// A linear program. `ranges` are NaN where a row has none.
#[derive(Debug)]
pub struct Program {
    pub name: String,
    pub objective: String,
    pub maximize: bool,
    pub constant: f64,
    pub costs: Vec<f64>,
    pub rows: Vec<String>,
    pub relations: Vec<Relation>,
    pub rhs: Vec<f64>,
    pub ranges: Vec<f64>,
    pub columns: Vec<String>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Rows and columns of coefficients that are not 0, from 0 on, column by column.
    pub places: (Vec<usize>, Vec<usize>),
    pub values: Vec<f64>,
    /// Variables that are to be whole numbers.
    pub integers: Vec<usize>,
    pub notes: Vec<Note>,
}

impl Program {
    /// Whether all names are of rows and columns that there are.
    pub fn is_clean(&self) -> bool {
        !self
            .notes
            .iter()
            .any(|n| matches!(n.kind, NoteKind::UndefinedRow | NoteKind::UndefinedColumn))
    }
}
