//! Lines of RHS, RANGES and BOUNDS.

use super::fields::{quoted, Line};
use super::notes::NoteKind;
use super::reader::{Reader, Row};
use super::sections::Section;
use super::Found;

impl<'t> Reader<'t> {
    /// A line of RHS or RANGES.
    pub fn values_of_rows(&mut self, line: &Line<'t>) -> Found<()> {
        let entries = line.entries(self.layout, |name| self.rows.contains_key(name))?;
        self.set(line, entries.name);
        self.rhs.0.resize(self.free.len(), None);
        self.rhs.1.resize(self.constraints.len(), None);
        self.ranges.resize(self.constraints.len(), None);
        for pair in entries.pairs {
            let ranges = self.section == Section::Ranges;
            let place = match self.rows.get(pair.row) {
                Some(&Row::Constraint(i)) if ranges => &mut self.ranges[i],
                Some(&Row::Constraint(i)) => &mut self.rhs.1[i],
                Some(&Row::Free(k)) if !ranges => &mut self.rhs.0[k],
                // A range of a row that has no bounds says nothing.
                Some(&Row::Free(_)) => continue,
                None => {
                    self.notes.add(line, NoteKind::UndefinedRow, pair.row);
                    continue;
                }
            };
            if place.is_some() {
                self.notes.add(line, NoteKind::SecondValue, pair.row);
            } else {
                *place = Some(pair.value);
            }
        }
        Ok(())
    }

    /// Tells of a set other than the first of its section.
    fn set(&mut self, line: &Line<'t>, name: Option<&'t [u8]>) {
        match self
            .sets
            .iter()
            .find(|(section, _)| *section == self.section)
        {
            None => self.sets.push((self.section, name)),
            Some((_, first)) if *first == name => {}
            Some(_) => self
                .notes
                .add(line, NoteKind::SecondSet, name.unwrap_or_default()),
        }
    }

    /// A line of BOUNDS.
    pub fn bound(&mut self, line: &Line<'t>) -> Found<()> {
        let bound = line.bound(self.layout, |name| self.columns.contains_key(name))?;
        self.set(line, bound.set);
        let kind = bound.kind.to_ascii_uppercase();
        let value = || {
            bound.value.ok_or_else(|| {
                line.fault(format!(
                    "column {} has no value for its bound",
                    quoted(bound.column)
                ))
            })
        };
        let (lower, upper) = match kind.as_slice() {
            b"LO" | b"LI" => (Some(value()?), None),
            b"UP" | b"UI" => (None, Some(value()?)),
            b"FX" => (Some(value()?), Some(value()?)),
            b"FR" => (Some(f64::NEG_INFINITY), Some(f64::INFINITY)),
            b"MI" => (Some(f64::NEG_INFINITY), None),
            b"PL" => (None, Some(f64::INFINITY)),
            b"BV" => (Some(0.0), Some(1.0)),
            b"SC" | b"SI" => {
                return Err(line.fault(format!(
                    "column {} is 0 or within bounds, which no linear program can say",
                    quoted(bound.column)
                )));
            }
            other => {
                return Err(line.fault(format!("there is no kind of bound {}", quoted(other))));
            }
        };
        let j = match self.columns.get(bound.column) {
            Some(&j) => j,
            None => {
                self.notes
                    .add(line, NoteKind::UndefinedColumn, bound.column);
                self.add_column(bound.column)
            }
        };
        let column = &mut self.column[j];
        column.integer |= matches!(kind.as_slice(), b"BV" | b"LI" | b"UI");
        column.bounded = true;
        if lower.is_some() && column.lower.is_some() || upper.is_some() && column.upper.is_some() {
            self.notes.add(line, NoteKind::SecondBound, bound.column);
            return Ok(());
        }
        column.lower = column.lower.or(lower);
        if upper.is_some() {
            column.line = line.number;
        }
        column.upper = column.upper.or(upper);
        Ok(())
    }
}
