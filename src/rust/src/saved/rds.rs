//! Checks files of earlier versions: a list in R's serialization, without a checksum.
//!
//! R trusts such bytes, and damaged ones can crash it. So this parser reads them first. It accepts
//! only what those versions wrote: lists, vectors and names, with lengths that fit the file. It
//! cannot check the numbers.

use std::path::Path;

use super::{damaged, AT_ONCE};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::try_zeroed;
use crate::tiles::PlainFile;

/// An error if R should not read this file. `packed` is the gzip file from which it was unpacked,
/// which ends with a checksum.
pub fn check(path: &Path, packed: Option<&Path>) -> Result<()> {
    let file = PlainFile::open(path)?;
    let whole = match packed {
        Some(packed) => is_unpacked(&file, &PlainFile::open(packed)?)?,
        None => true,
    };
    let mut items = Items {
        file: &file,
        at: 0,
        end: file.bytes()?,
        window: Vec::new(),
        first: 0,
        symbols: Vec::new(),
        failed: Ok(()),
    };
    if whole && items.all().is_some() {
        return Ok(());
    }
    items.failed?;
    let what = "the file is damaged, or not one that gpu_save() has written";
    Err(damaged(&file, what))
}

/// Whether checksum and length are those at the end of the gzip file.
fn is_unpacked(file: &PlainFile, packed: &PlainFile) -> Result<bool> {
    let (bytes, mut at) = (file.bytes()?, 0);
    let mut sum = crc32fast::Hasher::new();
    let mut piece = try_zeroed::<u8>(AT_ONCE.min(bytes as usize))?;
    while at < bytes {
        interrupt::poll()?;
        let piece = &mut piece[..(bytes - at).min(AT_ONCE as u64) as usize];
        if !file.read(piece, at)? {
            return Ok(false);
        }
        sum.update(piece);
        at += piece.len() as u64;
    }
    let mut wanted = [0; 8];
    let end = packed.bytes()?.checked_sub(8);
    let told = end.map(|at| packed.read(&mut wanted, at)).transpose()?;
    let found = [sum.finalize(), bytes as u32]
        .map(u32::to_le_bytes)
        .concat();
    Ok(told == Some(true) && found == wanted)
}

/// An item, as far as the item around it needs to know it.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Nil,
    Symbol(usize),
    Char,
    Integers(u64),
    Doubles(u64),
    Texts(u64),
    List,
    /// The values of a pairlist, and the tail of its last pair.
    Pairs(Vec<Item>, Box<Item>),
}

const OBJECT: u32 = 1 << 8;
const ATTRIBUTES: u32 = 1 << 9;
const TAG: u32 = 1 << 10;
/// Deepest nesting of items.
const DEEPEST: usize = 12;
/// Bytes that are read at once.
const WINDOW: usize = 1 << 16;

struct Items<'a> {
    file: &'a PlainFile,
    at: u64,
    end: u64,
    window: Vec<u8>,
    /// Offset of the window.
    first: u64,
    /// Names that later items refer to.
    symbols: Vec<Vec<u8>>,
    /// The error that ended reading.
    failed: Result<()>,
}

/// Methods return None for bytes that are not as expected.
impl Items<'_> {
    fn all(&mut self) -> Option<()> {
        (self.bytes(2)? == b"X\n").then_some(())?;
        let version = self.word()?;
        // The versions of R.
        self.bytes(8)?;
        match version {
            2 => {}
            3 => {
                let length = self.word().filter(|n| *n < 64)?;
                self.bytes(length as usize)?;
            }
            _ => return None,
        }
        (self.item(0)? == Item::List && self.at == self.end).then_some(())
    }

    /// Reads a few bytes.
    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let at = self.skip(count as u64)?;
        let outside = at < self.first || at + count as u64 > self.first + self.window.len() as u64;
        if outside {
            let length = (self.end - at).min(WINDOW.max(count) as u64) as usize;
            self.window.resize(length, 0);
            self.first = at;
            let read = interrupt::poll().and_then(|()| self.file.read(&mut self.window, at));
            match read {
                Ok(true) => {}
                Ok(false) => return None,
                Err(e) => {
                    self.failed = Err(e);
                    return None;
                }
            }
        }
        let start = (at - self.first) as usize;
        Some(self.window[start..][..count].to_vec())
    }

    /// Skips bytes, and returns their offset.
    fn skip(&mut self, count: u64) -> Option<u64> {
        let at = self.at;
        self.at = at.checked_add(count).filter(|next| *next <= self.end)?;
        Some(at)
    }

    fn word(&mut self) -> Option<u32> {
        let bytes = self.bytes(4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    fn double(&mut self) -> Option<f64> {
        let bytes = self.bytes(8)?;
        Some(f64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The length of a vector whose entries take at least `size` bytes each.
    fn length(&mut self, size: u64) -> Option<u64> {
        let length = match self.word()? {
            u32::MAX => u64::from(self.word()?) << 32 | u64::from(self.word()?),
            length => u64::from(length),
        };
        let fits = length.checked_mul(size)? <= self.end - self.at;
        fits.then_some(length)
    }

    fn item(&mut self, depth: usize) -> Option<Item> {
        if depth > DEEPEST {
            return None;
        }
        let flags = self.word()?;
        // The bit says that a vector has room for more entries, which a file does not keep.
        let plain = flags & !(ATTRIBUTES | 0x20 << 12);
        let item = match plain & 0xff {
            255 => {
                let symbol = (flags >> 8) as usize;
                let known = symbol >= 1 && symbol <= self.symbols.len();
                return known.then(|| Item::Symbol(symbol - 1));
            }
            _ if plain & OBJECT != 0 => return None,
            9 => return self.text(flags),
            2 => return self.pairs(flags, depth),
            kind if plain != kind => return None,
            254 if flags == 254 => return Some(Item::Nil),
            1 if flags == 1 => return self.symbol(),
            238 if flags == 238 => return self.compact(depth),
            10 | 13 => {
                let length = self.length(4)?;
                self.skip(4 * length)?;
                Item::Integers(length)
            }
            14 => {
                let length = self.length(8)?;
                self.skip(8 * length)?;
                Item::Doubles(length)
            }
            16 => {
                let length = self.length(4)?;
                for _ in 0..length {
                    let flags = self.word()?;
                    self.text(flags)?;
                }
                Item::Texts(length)
            }
            19 => {
                let length = self.length(4)?;
                for _ in 0..length {
                    self.item(depth + 1)?;
                }
                if flags & ATTRIBUTES != 0 {
                    self.names(length, depth)?;
                }
                return Some(Item::List);
            }
            _ => return None,
        };
        if flags & ATTRIBUTES != 0 {
            let (Item::Integers(length) | Item::Doubles(length) | Item::Texts(length)) = item
            else {
                return None;
            };
            self.names(length, depth)?;
        }
        Some(item)
    }

    /// Reads names, the only attribute allowed.
    fn names(&mut self, length: u64, depth: usize) -> Option<()> {
        (self.word()? == 2 | TAG).then_some(())?;
        let Item::Symbol(tag) = self.item(depth + 1)? else {
            return None;
        };
        let named = self.symbols[tag] == b"names";
        let fits =
            self.item(depth + 1)? == Item::Texts(length) && self.item(depth + 1)? == Item::Nil;
        (named && fits).then_some(())
    }

    /// Reads one string; the flags tell its encoding.
    fn text(&mut self, flags: u32) -> Option<Item> {
        (flags & 0xff == 9 && flags & (OBJECT | ATTRIBUTES | TAG) == 0).then_some(())?;
        match self.word()? {
            // NA
            u32::MAX => {}
            length => {
                self.skip(u64::from(length))?;
            }
        }
        Some(Item::Char)
    }

    fn symbol(&mut self) -> Option<Item> {
        (self.word()? & 0xff == 9).then_some(())?;
        let length = self.word().filter(|n| *n < 64)?;
        let name = self.bytes(length as usize)?;
        self.symbols.push(name);
        Some(Item::Symbol(self.symbols.len() - 1))
    }

    /// Reads pairs without tags, which R turns into vectors.
    fn pairs(&mut self, mut flags: u32, depth: usize) -> Option<Item> {
        let mut values = Vec::new();
        while flags == 2 {
            values.push(self.item(depth + 1)?);
            (values.len() <= 4).then_some(())?;
            let at = self.at;
            flags = self.word()?;
            if flags != 2 {
                self.at = at;
            }
        }
        let last = self.item(depth + 1)?;
        Some(Item::Pairs(values, Box::new(last)))
    }

    /// Reads a vector in compact form (ALTREP): the names of its class and package, its type, and
    /// its state.
    fn compact(&mut self, depth: usize) -> Option<Item> {
        let Item::Pairs(facts, _) = self.item(depth + 1)? else {
            return None;
        };
        let [Item::Symbol(class), Item::Symbol(package), Item::Integers(1)] = facts[..] else {
            return None;
        };
        (self.symbols[package] == b"base").then_some(())?;
        let class = self.symbols[class].clone();
        let item = if class == b"compact_intseq" {
            let head = (self.word()?, self.word()?);
            let [length, first, step] = [self.double()?, self.double()?, self.double()?];
            let limit = f64::from(i32::MAX);
            let last = first + step * (length - 1.0);
            let good = head == (14, 3)
                && [length, first].iter().all(|x| x.fract() == 0.0)
                && (0.0..=limit).contains(&length)
                && step.abs() == 1.0
                && first.abs() <= limit
                && last.abs() <= limit;
            good.then_some(Item::Integers(length as u64))?
        } else {
            let Item::Pairs(of, last) = self.item(depth + 1)? else {
                return None;
            };
            let [of] = &of[..] else { return None };
            match (&class[..], of, *last) {
                (b"deferred_string", Item::Integers(n) | Item::Doubles(n), Item::Integers(1)) => {
                    Item::Texts(*n)
                }
                (b"wrap_integer", Item::Integers(_), Item::Integers(2))
                | (b"wrap_real", Item::Doubles(_), Item::Integers(2))
                | (b"wrap_string", Item::Texts(_), Item::Integers(2)) => of.clone(),
                _ => return None,
            }
        };
        // Its attributes.
        (self.item(depth + 1)? == Item::Nil).then_some(item)
    }
}
