//! The program that the lines of a file say together.

use super::fields::{quoted, text, Line};
use super::notes::NoteKind;
use super::program::Program;
use super::reader::{Reader, Row};
use super::{Fault, Found};

impl<'t> Reader<'t> {
    /// The program that all lines say, up to this one, the last.
    pub fn finish(mut self, end: &Line<'t>) -> Found<Program> {
        let objective = match self.objective {
            None => 0,
            Some(name) => match self.rows.get(name) {
                Some(&Row::Free(k)) => k,
                _ => {
                    return Err(end.fault(format!(
                        "OBJNAME names {}, and there is no row of type N with that name",
                        quoted(name)
                    )));
                }
            },
        };
        if self.free.is_empty() {
            self.notes.add(end, NoteKind::NoObjective, b"");
        }
        let n = self.column.len();
        let mut costs = vec![0.0; n];
        for &(k, j, value) in &self.costs {
            if k == objective {
                costs[j] = value;
            }
        }
        for (column, name) in self.column.iter_mut().zip(&self.column_names) {
            if column.lower.is_none() && column.upper.is_some_and(|u| u < 0.0) {
                let line = Line {
                    number: column.line,
                    text: b"",
                };
                self.notes.add(&line, NoteKind::NegativeUpper, name);
                column.lower = Some(f64::NEG_INFINITY);
            }
            if column.integer && !column.bounded {
                column.upper = Some(1.0);
            }
        }
        let m = self.constraints.len();
        self.rhs.1.resize(m, None);
        self.ranges.resize(m, None);
        let constant = 0.0 - self.rhs.0.get(objective).copied().flatten().unwrap_or(0.0);
        if constant.is_infinite() {
            return Err(Fault {
                line: end.number,
                what: "the objective's constant must be finite".to_owned(),
            });
        }
        let names = |all: &[&[u8]]| all.iter().map(|name| text(name)).collect();
        Ok(Program {
            name: text(self.name),
            objective: text(self.free.get(objective).copied().unwrap_or_default()),
            maximize: self.maximize,
            constant,
            costs,
            rows: names(&self.constraints),
            relations: self.relations,
            rhs: self.rhs.1.iter().map(|v| v.unwrap_or(0.0)).collect(),
            ranges: self.ranges.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
            columns: names(&self.column_names),
            lower: self.column.iter().map(|c| c.lower.unwrap_or(0.0)).collect(),
            upper: self
                .column
                .iter()
                .map(|c| c.upper.unwrap_or(f64::INFINITY))
                .collect(),
            places: self.places,
            values: self.values,
            integers: (0..n).filter(|&j| self.column[j].integer).collect(),
            notes: self.notes.0,
        })
    }
}
