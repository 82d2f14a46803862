//! How a file comes to be open.

use std::path::Path;

use super::buffer::Pages;
use super::direct::{Access, Disk, RESERVED_AT_ONCE};
use super::file::TileFile;
use super::header::{too_large, Element, Header, Names};
use super::layout::Layout;
use super::table::{self, Entry, State, Table};
use crate::base::error::{Error, Result};
use crate::base::scalar::{filled, Scalar};
use crate::tiles::bytes::PAGE;

impl<T: Scalar> TileFile<T> {
    /// Makes a file with no tile in it, open for writing. All the room it will ever need is
    /// reserved. Where that fails there is no file.
    pub fn create(path: impl AsRef<Path>, layout: Layout) -> Result<Self> {
        Self::create_named(path, layout, &[])
    }

    /// The same, with names of rows and columns in a form that only the caller knows.
    pub fn create_named(path: impl AsRef<Path>, layout: Layout, names: &[u8]) -> Result<Self> {
        let header = Header::new(Element::of::<T>(), layout)?.with_names(Names::of(names));
        let header = header.ok_or_else(|| too_large(&layout))?;
        Self::create_with(path.as_ref(), header, names)
    }

    /// Makes one for the upper triangle that is computed from the matrix in `from`, with its names;
    /// it says for ever which matrix that was.
    pub fn create_from(path: impl AsRef<Path>, from: &TileFile<T>) -> Result<Self> {
        let header = Header {
            origin: Some(from.fingerprint()),
            ..from.header.of_factor()?
        };
        Self::create_with(path.as_ref(), header, &from.names()?)
    }

    /// The names that the file was made with; nothing where there were none.
    pub fn names(&self) -> Result<Vec<u8>> {
        read_names(&self.disk, &self.header)
    }

    fn create_with(path: &Path, header: Header, names: &[u8]) -> Result<Self> {
        let disk = Disk::create(path, header.bytes)?;
        let begun = Self::begin(&disk, path, &header, names);
        match begun {
            Ok(table) => Ok(Self::with(disk, path, Access::Write, header, table, 0)),
            Err(e) => {
                disk.remove(path);
                Err(e)
            }
        }
    }

    /// Removes what the making of a file for this one's factor has left at `path` where it ended
    /// with its process, before anything was in the file: reserved room at most. Whether that was
    /// there. A file that somebody works with is an error.
    pub fn remove_unmade(&self, path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        let disk = Disk::open(path, Access::Write)?;
        let bytes = disk.bytes()?;
        let mut page = Pages::new(PAGE)?;
        let whole = self.header.of_factor()?.bytes;
        let in_parts = bytes < whole && bytes % RESERVED_AT_ONCE == 0;
        let reserved = in_parts || bytes == whole;
        let zeros = bytes == 0 || disk.read(&mut page, 0)? && page.iter().all(|byte| *byte == 0);
        let unmade = reserved && zeros;
        if unmade {
            disk.remove(path);
        }
        Ok(unmade)
    }

    /// The first page comes last: a file without it is none.
    fn begin(disk: &Disk, path: &Path, header: &Header, names: &[u8]) -> Result<Table> {
        let tiles = header.layout.tiles();
        let mut entries = Vec::new();
        entries
            .try_reserve_exact(tiles)
            .map_err(|_| Error::HostMemory {
                needed: (tiles as u64).saturating_mul(size_of::<Entry>() as u64),
            })?;
        entries.resize(tiles, Entry::ABSENT);
        let table = Table {
            generation: 1,
            state: State::Matrix,
            entries,
        };
        if !names.is_empty() {
            let mut pages = Pages::new(names.len())?;
            pages[..names.len()].copy_from_slice(names);
            disk.write(&pages, header.names_at())?;
        }
        disk.write(&table.encode()?, header.tables[0])?;
        disk.sync()?;
        disk.write(&header.encode()?, 0)?;
        disk.sync_all(path)?;
        Ok(table)
    }

    /// Opens a file as the last commit left it.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref();
        let disk = Disk::open(path, access)?;
        let header = read_header(&disk)?;
        let wrong = |what: String| {
            Err(Error::FileFormat {
                path: disk.name().to_owned(),
                what,
            })
        };
        if header.element != Element::of::<T>() {
            let name = |e| match e {
                Element::F64 => "double",
                Element::F32 => "single",
            };
            return wrong(format!(
                "the numbers in the file are of {} precision, not of {}",
                name(header.element),
                name(Element::of::<T>())
            ));
        }
        let bytes = disk.bytes()?;
        if bytes < header.bytes {
            return wrong(format!(
                "the file has been cut off: it has {bytes} bytes instead of {}",
                header.bytes
            ));
        }
        let tiles = header.layout.tiles();
        let mut newest: Option<(usize, Table)> = None;
        for (place, at) in header.tables.into_iter().enumerate() {
            let mut pages = Pages::new(table::bytes(tiles))?;
            if !disk.read(&mut pages, at)? {
                continue;
            }
            let Some(table) = Table::decode(&pages, tiles, header.slots) else {
                continue;
            };
            if newest
                .as_ref()
                .is_none_or(|(_, other)| other.generation < table.generation)
            {
                newest = Some((place, table));
            }
        }
        let Some((place, table)) = newest else {
            return wrong("both tables of the file are damaged".to_owned());
        };
        if access == Access::Write {
            // The process that wrote this table may have been stopped before it was durable. Slots
            // that the other one names are free only then.
            disk.sync()?;
        }
        Ok(Self::with(disk, path, access, header, table, place))
    }
}

/// What a file holds, whoever has it open.
pub fn kind(path: impl AsRef<Path>) -> Result<Header> {
    read_header(&Disk::look(path.as_ref())?)
}

/// The names of rows and columns in a file, whoever has it open.
pub fn names(path: impl AsRef<Path>) -> Result<(Header, Vec<u8>)> {
    let disk = Disk::look(path.as_ref())?;
    let header = read_header(&disk)?;
    let names = read_names(&disk, &header)?;
    Ok((header, names))
}

fn read_names(disk: &Disk, header: &Header) -> Result<Vec<u8>> {
    let wanted = header.names;
    if wanted == Names::default() {
        return Ok(Vec::new());
    }
    let damaged = || Error::FileFormat {
        path: disk.name().to_owned(),
        what: "the names of rows and columns in the file are damaged".to_owned(),
    };
    if disk.bytes()? < header.bytes {
        return Err(damaged());
    }
    let bytes = usize::try_from(wanted.bytes).map_err(|_| damaged())?;
    let mut pages = Pages::new(bytes)?;
    let mut names = filled(bytes, 0)?;
    if !disk.read(&mut pages, header.names_at())? {
        return Err(damaged());
    }
    names.copy_from_slice(&pages[..bytes]);
    match Names::of(&names) == wanted {
        true => Ok(names),
        false => Err(damaged()),
    }
}

fn read_header(disk: &Disk) -> Result<Header> {
    let mut page = Pages::new(PAGE)?;
    let header = if disk.read(&mut page, 0)? {
        Header::decode(&page)
    } else {
        Header::decode(&[])
    };
    header.map_err(|what| Error::FileFormat {
        path: disk.name().to_owned(),
        what,
    })
}
