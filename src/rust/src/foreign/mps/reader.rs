//! Reads an MPS file line by line, and adds each line to a program.

use std::collections::HashMap;

use super::fields::{quoted, text, trim, words, FieldLayout, Line};
use super::notes::{NoteKind, Notes};
use super::program::{Program, Relation};
use super::sections::{check_order, header, Section};
use super::{Fault, Found};

/// What a name in ROWS stands for: a row of type N has no number among the constraints.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    Free(usize),
    Constraint(usize),
}

#[derive(Default)]
pub struct Column {
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    /// Where the upper bound is.
    pub line: usize,
    pub integer: bool,
    /// Whole numbers are from 0 to 1 unless BOUNDS names them.
    pub bounded: bool,
}

pub struct Reader<'t> {
    pub layout: FieldLayout,
    pub section: Section,
    pub seen: Vec<Section>,
    pub notes: Notes,
    pub name: &'t [u8],
    pub maximize: bool,
    pub objective: Option<&'t [u8]>,
    pub rows: HashMap<&'t [u8], Row>,
    pub free: Vec<&'t [u8]>,
    pub constraints: Vec<&'t [u8]>,
    pub relations: Vec<Relation>,
    pub columns: HashMap<&'t [u8], usize>,
    pub column_names: Vec<&'t [u8]>,
    pub column: Vec<Column>,
    pub whole: bool,
    /// Of rows of type N, and of constraints: the column that has an entry there last, from 1 on.
    pub last: (Vec<usize>, Vec<usize>),
    pub costs: Vec<(usize, usize, f64)>,
    pub places: (Vec<usize>, Vec<usize>),
    pub values: Vec<f64>,
    pub rhs: (Vec<Option<f64>>, Vec<Option<f64>>),
    pub ranges: Vec<Option<f64>>,
    pub sets: Vec<(Section, Option<&'t [u8]>)>,
}

pub fn read(all: &[u8], layout: FieldLayout) -> Found<Program> {
    let all = all.strip_prefix(b"\xef\xbb\xbf").unwrap_or(all);
    if trim(all).is_empty() {
        return Err(Fault {
            line: 1,
            what: "the file is empty".to_owned(),
        });
    }
    let mut reader = Reader::new(layout);
    let mut last = Line {
        number: 1,
        text: b"",
    };
    for (k, text) in all.split(|b| *b == b'\n').enumerate() {
        let line = Line {
            number: k + 1,
            text,
        };
        if text.contains(&0) {
            return Err(line.fault("this is no text: it has a byte 0"));
        }
        if text.first() == Some(&b'*') || trim(text).is_empty() {
            continue;
        }
        last = line;
        reader.line(line)?;
        if reader.section == Section::End {
            return reader.finish(&line);
        }
    }
    Err(last.fault("the file ends here, without ENDATA: it may be cut off"))
}

impl<'t> Reader<'t> {
    fn new(layout: FieldLayout) -> Self {
        Reader {
            layout,
            section: Section::Start,
            seen: Vec::new(),
            notes: Notes::default(),
            name: b"",
            maximize: false,
            objective: None,
            rows: HashMap::new(),
            free: Vec::new(),
            constraints: Vec::new(),
            relations: Vec::new(),
            columns: HashMap::new(),
            column_names: Vec::new(),
            column: Vec::new(),
            whole: false,
            last: Default::default(),
            costs: Vec::new(),
            places: Default::default(),
            values: Vec::new(),
            rhs: Default::default(),
            ranges: Vec::new(),
            sets: Vec::new(),
        }
    }

    fn line(&mut self, line: Line<'t>) -> Found<()> {
        let data = matches!(
            self.section,
            Section::Columns | Section::Rhs | Section::Ranges | Section::Bounds
        );
        if let Some((section, rest)) = header(&line, data) {
            return self.begin(&line, section, rest);
        }
        match self.section {
            Section::Start => Err(line.fault(format!(
                "a section such as NAME or ROWS is expected, not {}",
                quoted(trim(line.text))
            ))),
            Section::Name | Section::End => Err(line.fault(format!(
                "a section such as ROWS is expected, not {}",
                quoted(trim(line.text))
            ))),
            Section::Sense => self.sense(&line, trim(line.text)),
            Section::Objective => {
                self.objective = Some(trim(line.text));
                Ok(())
            }
            Section::Rows => self.row(&line),
            Section::Columns => self.entries(&line),
            Section::Rhs | Section::Ranges => self.values_of_rows(&line),
            Section::Bounds => self.bound(&line),
            Section::Other(name) => Err(line.fault(format!(
                "section {name} has an entry, and a linear program has no such section"
            ))),
        }
    }

    fn begin(&mut self, line: &Line<'t>, section: Section, rest: &'t [u8]) -> Found<()> {
        check_order(line, &self.seen, section)?;
        if self.section == Section::Columns && self.whole {
            return Err(line.fault("COLUMNS ends within whole numbers, without 'INTEND'"));
        }
        self.section = section;
        self.seen.push(section);
        match section {
            Section::Name => self.name = rest,
            Section::Sense if !rest.is_empty() => self.sense(line, rest)?,
            Section::Objective if !rest.is_empty() => self.objective = Some(rest),
            _ => {}
        }
        Ok(())
    }

    fn sense(&mut self, line: &Line<'t>, word: &[u8]) -> Found<()> {
        let begins = |with: &[u8]| word.get(..3).is_some_and(|w| w.eq_ignore_ascii_case(with));
        self.maximize = begins(b"MAX");
        if self.maximize || begins(b"MIN") {
            return Ok(());
        }
        Err(line.fault(format!("OBJSENSE is MAX or MIN, not {}", quoted(word))))
    }

    fn row(&mut self, line: &Line<'t>) -> Found<()> {
        let (kind, name) = line.row(self.layout)?;
        let relation = match kind.to_ascii_uppercase().as_slice() {
            b"N" => None,
            b"L" => Some(Relation::AtMost),
            b"G" => Some(Relation::AtLeast),
            b"E" => Some(Relation::Equal),
            _ => {
                return Err(line.fault(format!("a row is N, L, G or E, not {}", quoted(kind))));
            }
        };
        let row = match relation {
            None => {
                self.free.push(name);
                Row::Free(self.free.len() - 1)
            }
            Some(relation) => {
                self.constraints.push(name);
                self.relations.push(relation);
                Row::Constraint(self.relations.len() - 1)
            }
        };
        match self.rows.insert(name, row) {
            None => Ok(()),
            Some(_) => Err(line.fault(format!("there are two rows {}", quoted(name)))),
        }
    }

    /// A line of COLUMNS.
    fn entries(&mut self, line: &Line<'t>) -> Found<()> {
        let mut all = words(line.text).skip(1);
        if all.next() == Some(b"'MARKER'") {
            let found = all.next().unwrap_or_default();
            self.whole = match (self.whole, found) {
                (false, b"'INTORG'") => true,
                (true, b"'INTEND'") => false,
                _ => {
                    return Err(line.fault(format!(
                        "'INTORG' and 'INTEND' alternate, and here is {}",
                        text(found)
                    )));
                }
            };
            return Ok(());
        }
        let entries = line.entries(self.layout, |_| false)?;
        let name = entries
            .name
            .ok_or_else(|| line.fault("the name of a column is missing"))?;
        if self.column_names.last() != Some(&name) {
            if self.columns.contains_key(name) {
                return Err(line.fault(format!(
                    "column {} is there twice, with another one in between",
                    quoted(name)
                )));
            }
            self.add_column(name);
        }
        let j = self.column_names.len();
        self.last.0.resize(self.free.len(), 0);
        self.last.1.resize(self.constraints.len(), 0);
        for pair in entries.pairs {
            if pair.value.is_infinite() {
                return Err(line.fault("a coefficient must be finite"));
            }
            let Some(row) = self.rows.get(pair.row) else {
                self.notes.add(line, NoteKind::UndefinedRow, pair.row);
                continue;
            };
            if pair.value == 0.0 {
                continue;
            }
            let last = match *row {
                Row::Free(k) => &mut self.last.0[k],
                Row::Constraint(i) => &mut self.last.1[i],
            };
            if *last == j {
                self.notes.add(line, NoteKind::SecondEntry, name);
                continue;
            }
            *last = j;
            match *row {
                Row::Free(k) => self.costs.push((k, j - 1, pair.value)),
                Row::Constraint(i) => {
                    self.places.0.push(i);
                    self.places.1.push(j - 1);
                    self.values.push(pair.value);
                }
            }
        }
        Ok(())
    }

    pub fn add_column(&mut self, name: &'t [u8]) -> usize {
        let j = self.column_names.len();
        self.columns.insert(name, j);
        self.column_names.push(name);
        self.column.push(Column {
            integer: self.whole,
            ..Column::default()
        });
        j
    }
}
