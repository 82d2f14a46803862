//! Splits a line of an MPS file into fields: at blanks in the free format, at columns in the fixed
//! format.

use super::{Fault, Found};

/// How the fields of a line are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLayout {
    /// Blanks separate fields, so names have none.
    Free,
    /// Each field is at fixed columns, so that names may have blanks, and at most eight letters.
    Fixed,
}

/// A line with its number, from 1 on, without its end.
#[derive(Debug, Clone, Copy)]
pub struct Line<'t> {
    pub number: usize,
    pub text: &'t [u8],
}

/// The columns of the six fields, from 0 on. The others are blank, up to the last one.
const FIELDS: [(usize, usize); 6] = [(1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61)];
/// Columns from here on are ignored: punched cards had their numbers there.
const END: usize = 72;

/// A coefficient, a right-hand side or a range of a row.
pub struct Pair<'t> {
    pub row: &'t [u8],
    pub value: f64,
}

/// A line of COLUMNS, RHS or RANGES. The name is that of a column, or of a set, which may be
/// absent.
pub struct Entries<'t> {
    pub name: Option<&'t [u8]>,
    pub pairs: Vec<Pair<'t>>,
}

/// A line of BOUNDS.
pub struct Bound<'t> {
    pub kind: &'t [u8],
    pub set: Option<&'t [u8]>,
    pub column: &'t [u8],
    pub value: Option<f64>,
}

pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text {
        if !is_blank(*first) {
            break;
        }
        text = rest;
    }
    while let [rest @ .., last] = text {
        if !is_blank(*last) {
            break;
        }
        text = rest;
    }
    text
}

pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| is_blank(*b)).filter(|w| !w.is_empty())
}

/// A name as text. Bytes that are not UTF-8 are taken as Latin-1.
pub fn text(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) => name.iter().map(|&b| char::from(b)).collect(),
    }
}

/// The beginning of a text, short enough for a message.
pub fn quoted(what: &[u8]) -> String {
    let all = text(what);
    let some: String = all.chars().filter(|c| !c.is_control()).take(40).collect();
    format!(
        "'{some}{}'",
        if some.len() < all.len() { "..." } else { "" }
    )
}

impl<'t> Line<'t> {
    pub fn fault(&self, what: impl Into<String>) -> Fault {
        Fault {
            line: self.number,
            what: what.into(),
        }
    }

    /// A number, also with Fortran's D for an exponent.
    pub fn number(&self, word: &[u8]) -> Found<f64> {
        let all = text(word).replace(['d', 'D'], "e");
        match all.parse::<f64>() {
            Ok(value) if !value.is_nan() => Ok(value),
            _ => Err(self.fault(format!("{} is not a number", quoted(word)))),
        }
    }

    /// The six fields, empty where they are blank.
    fn columns(&self) -> Found<[&'t [u8]; 6]> {
        let cut = |(from, to): (usize, usize)| {
            let end = self.text.len();
            trim(&self.text[from.min(end)..to.min(end)])
        };
        let mut at = 0;
        for (from, to) in FIELDS.into_iter().chain([(END, END)]) {
            if !cut((at, from)).is_empty() {
                let found = quoted(cut((at, from)));
                return Err(self.fault(match from - at {
                    1 => format!("in the fixed format column {from} is blank, not {found}"),
                    _ => format!(
                        "in the fixed format columns {} to {from} are blank, not {found}",
                        at + 1
                    ),
                }));
            }
            at = to;
        }
        if self.text.contains(&b'\t') {
            return Err(self.fault("the fixed format has no tabs"));
        }
        Ok(FIELDS.map(cut))
    }

    /// The letter of a row, and its name.
    pub fn row(&self, layout: FieldLayout) -> Found<(&'t [u8], &'t [u8])> {
        let (kind, name) = match layout {
            FieldLayout::Free => {
                let mut words = words(self.text);
                let found = (words.next(), words.next());
                if words.next().is_some() {
                    return Err(self.fault("a row has a letter and a name, and this has more"));
                }
                (found.0.unwrap_or_default(), found.1.unwrap_or_default())
            }
            FieldLayout::Fixed => {
                let fields = self.columns()?;
                if fields[2..].iter().any(|f| !f.is_empty()) {
                    return Err(self.fault("a row has a letter and a name, and this has more"));
                }
                (fields[0], fields[1])
            }
        };
        if name.is_empty() {
            return Err(self.fault("a row has a letter and a name"));
        }
        Ok((kind, name))
    }

    /// A line of COLUMNS, or of RHS or RANGES, whose set may have no name.
    pub fn entries(
        &self,
        layout: FieldLayout,
        is_row: impl Fn(&[u8]) -> bool,
    ) -> Found<Entries<'t>> {
        let (name, rest) = match layout {
            FieldLayout::Free => {
                let all: Vec<&[u8]> = words(self.text).collect();
                // An even number of fields is one without a name, or one with the problem's name
                // behind that of the set.
                let named = all.len() % 2 == 1;
                let twice = !named && all.len() >= 4 && !is_row(all[0]) && is_row(all[2]);
                let skip = if twice { 2 } else { usize::from(named) };
                (
                    all.first().copied().filter(|_| skip > 0),
                    all[skip..].to_vec(),
                )
            }
            FieldLayout::Fixed => {
                let fields = self.columns()?;
                if !fields[0].is_empty() {
                    return Err(self.fault(format!(
                        "in the fixed format columns 2 and 3 are blank here, not {}",
                        quoted(fields[0])
                    )));
                }
                let second = !(fields[4].is_empty() && fields[5].is_empty());
                let name = Some(fields[1]).filter(|f| !f.is_empty());
                (name, fields[2..if second { 6 } else { 4 }].to_vec())
            }
        };
        if rest.is_empty() || rest.iter().any(|f| f.is_empty()) {
            return Err(self.fault("a name, a row and a number are expected"));
        }
        let pairs = rest.chunks_exact(2).map(|p| {
            Ok(Pair {
                row: p[0],
                value: self.number(p[1])?,
            })
        });
        Ok(Entries {
            name,
            pairs: pairs.collect::<Found<_>>()?,
        })
    }

    /// A line of BOUNDS, whose set may have no name. Some kinds have no value; one that is present
    /// is ignored.
    pub fn bound(
        &self,
        layout: FieldLayout,
        is_column: impl Fn(&[u8]) -> bool,
    ) -> Found<Bound<'t>> {
        let (kind, set, column, value) = match layout {
            FieldLayout::Free => {
                let all: Vec<&[u8]> = words(self.text).collect();
                let valued = !has_no_value(all[0]);
                match all[..] {
                    [kind, column] => (kind, None, column, None),
                    [kind, column, value] if valued => (kind, None, column, Some(value)),
                    [kind, column, value] if is_column(column) && !is_column(value) => {
                        (kind, None, column, Some(value))
                    }
                    [kind, set, column] => (kind, Some(set), column, None),
                    [kind, set, column, value] => (kind, Some(set), column, Some(value)),
                    _ => {
                        return Err(self.fault("a kind, a set, a column and a number are expected"))
                    }
                }
            }
            FieldLayout::Fixed => {
                let [kind, set, column, value, ..] = self.columns()?;
                let some = |f: &'t [u8]| Some(f).filter(|f| !f.is_empty());
                (kind, some(set), column, some(value))
            }
        };
        let value = match value {
            _ if has_no_value(kind) => None,
            Some(value) => Some(self.number(value)?),
            None => None,
        };
        Ok(Bound {
            kind,
            set,
            column,
            value,
        })
    }
}

fn has_no_value(kind: &[u8]) -> bool {
    [b"FR", b"MI", b"PL", b"BV"]
        .iter()
        .any(|k| kind.eq_ignore_ascii_case(*k))
}
