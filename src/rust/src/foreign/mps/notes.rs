//! Warnings about an MPS file: the first of each kind, and their number.

use super::fields::{quoted, Line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    UndefinedRow,
    UndefinedColumn,
    SecondEntry,
    SecondValue,
    SecondBound,
    SecondSet,
    NegativeUpper,
    NoObjective,
}

#[derive(Debug, Clone)]
pub struct Note {
    pub kind: NoteKind,
    /// Of the first one.
    pub line: usize,
    pub text: String,
    pub count: usize,
}

/// At most one of each kind.
#[derive(Debug, Default)]
pub struct Notes(pub Vec<Note>);

impl Notes {
    pub fn add(&mut self, line: &Line<'_>, kind: NoteKind, name: &[u8]) {
        if let Some(known) = self.0.iter_mut().find(|n| n.kind == kind) {
            known.count += 1;
            return;
        }
        let name = quoted(name);
        let text = match kind {
            NoteKind::UndefinedRow => format!("there is no row {name}: its numbers are left out"),
            NoteKind::UndefinedColumn => {
                format!("column {name} is in BOUNDS only: it is added, with no coefficients")
            }
            NoteKind::SecondEntry => {
                format!("column {name} has a row twice: its first coefficient there counts")
            }
            NoteKind::SecondValue => format!("row {name} has two values: the first one counts"),
            NoteKind::SecondBound => format!("column {name} has two bounds: the first one counts"),
            NoteKind::SecondSet => {
                format!("{name} is a second set: its numbers count where the first set has none")
            }
            NoteKind::NegativeUpper => format!(
                "column {name} has a negative upper bound and no lower one, which is -Inf then"
            ),
            NoteKind::NoObjective => "there is no row of type N: the objective is 0".to_owned(),
        };
        self.0.push(Note {
            kind,
            line: line.number,
            text,
            count: 1,
        });
    }
}
