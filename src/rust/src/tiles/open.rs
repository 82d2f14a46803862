//! How a file comes to be open.

use std::path::Path;

use super::buffer::{Pages, PAGE};
use super::direct::{Access, Disk, RESERVED_AT_ONCE};
use super::file::TileFile;
use super::header::{Element, Header};
use super::layout::Layout;
use super::table::{self, Entry, State, Table};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl<T: Scalar> TileFile<T> {
    /// Makes a file with no tile in it, open for writing. All the room it will ever need is reserved. Where that fails there is
    /// no file.
    pub fn create(path: impl AsRef<Path>, layout: Layout) -> Result<Self> {
        Self::create_with(path.as_ref(), Header::new(Element::of::<T>(), layout)?)
    }

    /// Makes one for what is computed from the matrix in `from`, with the same layout; it says for ever which matrix that was.
    pub fn create_from(path: impl AsRef<Path>, from: &TileFile<T>) -> Result<Self> {
        let header = Header {
            origin: Some(from.fingerprint()),
            ..Header::new(Element::of::<T>(), *from.layout())?
        };
        Self::create_with(path.as_ref(), header)
    }

    fn create_with(path: &Path, header: Header) -> Result<Self> {
        let disk = Disk::create(path, header.bytes)?;
        let begun = Self::begin(&disk, path, &header);
        match begun {
            Ok(table) => Ok(Self::with(disk, path, Access::Write, header, table, 0)),
            Err(e) => {
                disk.remove(path);
                Err(e)
            }
        }
    }

    /// Removes what the making of a file like this one has left at `path` where it ended with its process, before anything was in the file: reserved room at
    /// most. Whether that was there. A file that somebody works with is an error.
    pub fn remove_unmade(&self, path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        let disk = Disk::open(path, Access::Write)?;
        let bytes = disk.bytes()?;
        let mut page = Pages::new(PAGE)?;
        let in_parts = bytes < self.bytes() && bytes % RESERVED_AT_ONCE == 0;
        let reserved = in_parts || bytes == self.bytes();
        let zeros = bytes == 0 || disk.read(&mut page, 0)? && page.iter().all(|byte| *byte == 0);
        let unmade = reserved && zeros;
        if unmade {
            disk.remove(path);
        }
        Ok(unmade)
    }

    /// The first page comes last: a file without it is none.
    fn begin(disk: &Disk, path: &Path, header: &Header) -> Result<Table> {
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
            // The process that wrote this table may have been stopped before it was durable. Slots that the other one names are
            // free only then.
            disk.sync()?;
        }
        Ok(Self::with(disk, path, access, header, table, place))
    }
}

/// What a file holds, whoever has it open.
pub fn kind(path: impl AsRef<Path>) -> Result<Header> {
    read_header(&Disk::look(path.as_ref())?)
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
