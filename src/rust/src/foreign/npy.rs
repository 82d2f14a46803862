//! The header of NumPy's `.npy` format, versions 1 to 3: a magic word, the version, the length of a
//! text, and the text, a Python dictionary of three entries. The numbers follow it.

use super::number::{Number, NATIVE};
use super::source::StorageOrder;
use crate::base::error::{Error, Result};
use crate::tiles::PlainFile;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header; longer ones describe structured types. NumPy itself reads at most 10000 letters
/// of an untrusted file.
const LONGEST: usize = 1 << 16;
/// The offset of the first number is a multiple of this.
const ALIGNED: usize = 64;

/// The contents of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// NumPy's name of the type, which [`Number::parse`] knows.
    pub number: String,
    pub order: StorageOrder,
    pub rows: usize,
    pub cols: usize,
    /// Offset of the first number.
    pub offset: u64,
}

/// Reads the header of a file with a matrix of real numbers, or with a vector, which becomes a
/// column.
pub fn read(file: &PlainFile) -> Result<NpyHeader> {
    let wrong = |what: String| Error::FileFormat {
        path: file.name(),
        what,
    };
    let cut = || wrong("the file ends within its header".to_owned());
    let mut start = [0; 12];
    let short = file.bytes()? < start.len() as u64;
    let start = if short { &mut start[..10] } else { &mut start };
    if !file.read(start, 0)? || &start[..6] != MAGIC {
        return Err(wrong("no .npy file".to_owned()));
    }
    let (length, at) = match (start[6], start.get(8..12)) {
        (1, _) => (usize::from(u16::from_le_bytes([start[8], start[9]])), 10),
        (2 | 3, Some(&[a, b, c, d])) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
        (2 | 3, _) => return Err(cut()),
        (version, _) => {
            return Err(wrong(format!(
                "a .npy file of version {version}, of which nothing is known"
            )))
        }
    };
    if length > LONGEST {
        return Err(wrong(format!(
            "the .npy header has {length} bytes, which no array of numbers needs"
        )));
    }
    let mut text = vec![0; length];
    if !file.read(&mut text, at)? {
        return Err(cut());
    }
    let (number, order, rows, cols) = parse(&text).map_err(wrong)?;
    Ok(NpyHeader {
        number,
        order,
        rows,
        cols,
        offset: at + length as u64,
    })
}

/// The dictionary: `{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }`, its entries in any
/// order.
fn parse(text: &[u8]) -> std::result::Result<(String, StorageOrder, usize, usize), String> {
    let malformed = || "the .npy header is malformed".to_owned();
    let text = std::str::from_utf8(text).map_err(|_| malformed())?;
    let mut rest = Words(text.trim_end_matches(['\n', ' ']));
    let (mut number, mut fortran, mut shape) = (None, None, None);
    let mut structured = false;
    let mut read = || -> Option<()> {
        rest.take('{')?;
        while rest.take('}').is_none() {
            let key = rest.quoted()?;
            rest.take(':')?;
            match key {
                // A list describes a structured type.
                "descr" if rest.0.starts_with('[') => {
                    structured = true;
                    return None;
                }
                "descr" if number.is_none() => number = Some(rest.quoted()?),
                "fortran_order" if fortran.is_none() => fortran = Some(rest.truth()?),
                "shape" if shape.is_none() => shape = Some(rest.dimensions()?),
                _ => return None,
            }
            if rest.take(',').is_none() {
                rest.take('}')?;
                break;
            }
        }
        rest.0.is_empty().then_some(())
    };
    let whole = read().is_some();
    let other = |kind: &str| {
        format!(
            "an array of {kind}: only real numbers of at most 64 bits and truth values are read"
        )
    };
    if structured {
        return Err(other("a structured type"));
    }
    let name = number.ok_or_else(malformed)?;
    if Number::parse(name).is_none() {
        // A name may have any letters, and R's texts may not.
        let shown: String = name
            .chars()
            .take(40)
            .flat_map(char::escape_default)
            .collect();
        return Err(other(&format!("NumPy's type {shown}")));
    }
    let (Some(fortran), Some(shape), true) = (fortran, shape, whole) else {
        return Err(malformed());
    };
    let (rows, cols) = match shape[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => {
            return Err(format!(
                "an array of {} dimensions, and no matrix",
                shape.len()
            ))
        }
    };
    let order = if fortran || shape.len() == 1 {
        StorageOrder::Columns
    } else {
        StorageOrder::Rows
    };
    Ok((name.to_owned(), order, rows, cols))
}

/// The rest of a text. Each method takes a word from its beginning, or returns None if the text
/// begins otherwise.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn take(&mut self, letter: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(letter)?;
        self.0 = self.0.trim_start();
        Some(())
    }

    /// A quoted string without escapes, which do not occur here.
    fn quoted(&mut self) -> Option<&'a str> {
        let quote = self.0.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest.trim_start();
        (!text.contains('\\')).then_some(text)
    }

    fn truth(&mut self) -> Option<bool> {
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest.trim_start();
                return Some(value);
            }
        }
        None
    }

    /// The dimensions, numbers in parentheses. Python 2 put an L after long ones.
    fn dimensions(&mut self) -> Option<Vec<usize>> {
        self.take('(')?;
        let mut dimensions = Vec::new();
        while self.take(')').is_none() {
            let end = self.0.find(|c: char| !c.is_ascii_digit())?;
            dimensions.push(self.0[..end].parse().ok()?);
            self.0 = &self.0[end..];
            self.0 = self.0.strip_prefix('L').unwrap_or(self.0).trim_start();
            if self.take(',').is_none() {
                self.take(')')?;
                break;
            }
        }
        Some(dimensions)
    }
}

/// The header for a column-major matrix of floats of `size` bytes, in this machine's byte order.
pub fn header(size: usize, (rows, cols): (usize, usize)) -> Vec<u8> {
    let text = format!(
        "{{'descr': '{NATIVE}f{size}', 'fortran_order': True, 'shape': ({rows}, {cols}), }}"
    );
    let length = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(ALIGNED);
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    // Two numbers of 20 digits leave it far below 2^16.
    header.extend(((length - header.len() - 2) as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header.resize(length - 1, b' ');
    header.push(b'\n');
    header
}
