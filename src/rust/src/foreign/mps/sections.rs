//! The names of an MPS file's sections, and their order.

use super::fields::{trim, words, Line};
use super::Found;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Start,
    Name,
    Sense,
    Objective,
    Rows,
    Columns,
    Rhs,
    Ranges,
    Bounds,
    /// One that no linear program has.
    Other(&'static str),
    End,
}

const SECTIONS: [(&str, Section); 9] = [
    ("NAME", Section::Name),
    ("OBJSENSE", Section::Sense),
    ("OBJNAME", Section::Objective),
    ("ROWS", Section::Rows),
    ("COLUMNS", Section::Columns),
    ("RHS", Section::Rhs),
    ("RANGES", Section::Ranges),
    ("BOUNDS", Section::Bounds),
    ("ENDATA", Section::End),
];
const OTHERS: [&str; 17] = [
    "QUADOBJ",
    "QMATRIX",
    "QSECTION",
    "QCMATRIX",
    "CSECTION",
    "SOS",
    "SOS1",
    "SOS2",
    "SETS",
    "INDICATORS",
    "DELAYEDROWS",
    "LAZYCONS",
    "MODELCUTS",
    "USERCUTS",
    "GENCONS",
    "PWLOBJ",
    "PWLCON",
];

/// The section that a line begins, and what else it says. Words such as RHS and, among data, NAME
/// are names of a set or a column where more follows.
pub fn header<'t>(line: &Line<'t>, data: bool) -> Option<(Section, &'t [u8])> {
    let all = trim(line.text);
    let word = words(all).next()?;
    let rest = trim(&all[word.len()..]);
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let section = SECTIONS
        .iter()
        .find(|(name, _)| is(name))
        .map(|(_, section)| *section);
    let section = section.or_else(|| OTHERS.into_iter().find(|n| is(n)).map(Section::Other))?;
    let outermost = line.text.first() == word.first();
    let says_more = match section {
        Section::Name | Section::Sense | Section::Objective => !data,
        Section::Other(name) => matches!(name, "QSECTION" | "QCMATRIX" | "CSECTION"),
        _ => false,
    };
    (rest.is_empty() || outermost && says_more).then_some((section, rest))
}

/// Fails where a section comes before another one that it needs, or twice.
pub fn check_order(line: &Line<'_>, seen: &[Section], section: Section) -> Found<()> {
    let seen = |s| seen.contains(&s);
    let needs = match section {
        Section::Columns | Section::Rhs | Section::Ranges if !seen(Section::Rows) => "ROWS",
        Section::Bounds | Section::End if !seen(Section::Columns) => "COLUMNS",
        _ => "",
    };
    if !needs.is_empty() {
        return Err(line.fault(format!("section {needs} is missing before this one")));
    }
    if matches!(section, Section::Rows | Section::Columns) && seen(section) {
        return Err(line.fault("this section is there twice"));
    }
    Ok(())
}
