//! Linear programs in MPS files, which come in two layouts: fields at fixed columns, or separated
//! by blanks.
//!
//! - [`fields`]: a line, cut into fields
//! - [`sections`]: the names of sections, and their order
//! - [`reader`]: goes through the lines; reads rows and columns
//! - [`bounds`]: lines of RHS, RANGES and BOUNDS
//! - [`finish`]: makes the program of what was read
//! - [`program`]: the program
//! - [`notes`]: what a reader should be warned of
//!
//! Where programs that read such files differ, this one follows HiGHS: a right-hand side of the
//! objective row is minus the constant of the objective; of entries, right-hand sides, ranges or
//! bounds that occur twice the first one counts.

mod bounds;
mod fields;
mod finish;
mod notes;
mod program;
mod reader;
mod sections;

pub use fields::FieldLayout;
pub use notes::Note;
pub use program::Program;

/// An error in a file, and the number of its line, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub what: String,
}

pub type Found<V> = std::result::Result<V, Fault>;

/// Parses the text of a file. Without a layout both are tried: a file with blanks in names is not
/// valid in the free format.
pub fn read(text: &[u8], layout: Option<FieldLayout>) -> Found<Program> {
    if let Some(layout) = layout {
        return reader::read(text, layout);
    }
    let free = reader::read(text, FieldLayout::Free);
    if free.as_ref().is_ok_and(Program::is_clean) {
        return free;
    }
    let fixed = reader::read(text, FieldLayout::Fixed);
    match (free, fixed) {
        (_, Ok(fixed)) if fixed.is_clean() => Ok(fixed),
        (Ok(free), _) => Ok(free),
        (_, Ok(fixed)) => Ok(fixed),
        // The layout that fits is the one that gets farther.
        (Err(free), Err(fixed)) => Err(if fixed.line > free.line { fixed } else { free }),
    }
}
