//! Keeps the machine code that the driver compiles from PTX, for later sessions.
//!
//! The files are in `kernels/` below `tools::R_user_dir("cudafactor", "cache")`, in a folder for
//! the GPU's compute capability and the driver. A file has the form that
//! [`unpack_code`](super::code::unpack_code) reads, unpacked, and its CRC-32 in four bytes. A
//! folder that cannot be read or written is no error: then the driver compiles in each session.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::code::{heading, read_code, Parameters};

/// A folder of another driver or GPU is removed when nothing was added to it for so long.
const OUTDATED: Duration = Duration::from_secs(90 * 24 * 3600);

/// The place of the machine code of one family.
pub(super) struct Place {
    folder: PathBuf,
    file: String,
}

impl Place {
    /// `name`: of the family. `driver`: its version. None where there is no home folder.
    pub(super) fn of(name: &str, ptx: &[u8], arch: i32, driver: &str) -> Option<Place> {
        Some(Place::below(&user_cache()?, name, ptx, arch, driver))
    }

    fn below(cache: &Path, name: &str, ptx: &[u8], arch: i32, driver: &str) -> Place {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let driver: String = driver.chars().map(plain).collect();
        Place {
            folder: cache.join("kernels").join(format!("sm_{arch}-{driver}")),
            file: format!("{name}-{:08x}.cubin", crc32fast::hash(ptx)),
        }
    }

    /// The machine code for an architecture and its kernels' parameters; none if they are not there
    /// or damaged.
    pub(super) fn read(&self, arch: i32) -> Option<(Vec<u8>, Parameters)> {
        let bytes = fs::read(self.folder.join(&self.file)).ok()?;
        let (content, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        read_code(content, arch).ok()
    }

    /// Keeps machine code. Where that fails nothing is kept.
    pub(super) fn write(&self, arch: i32, code: &[u8], parameters: &Parameters) {
        let mut content = heading(arch, code.len(), parameters).into_bytes();
        content.extend_from_slice(code);
        let sum = crc32fast::hash(&content).to_le_bytes();
        content.extend_from_slice(&sum);
        let new = !self.folder.exists();
        // Another session may write the same file: it appears whole or not at all.
        let partial = self
            .folder
            .join(format!("{}.{}", self.file, std::process::id()));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| fs::File::create(&partial))
            .and_then(|mut file| file.write_all(&content))
            .and_then(|()| fs::rename(&partial, self.folder.join(&self.file)));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        } else if new {
            self.remove_outdated(OUTDATED);
        }
    }

    /// Removes folders beside this one that nothing was added to for longer than `age`.
    fn remove_outdated(&self, age: Duration) {
        let Some(Ok(all)) = self.folder.parent().map(fs::read_dir) else {
            return;
        };
        for entry in all.flatten() {
            let changed = entry.metadata().and_then(|m| m.modified()).ok();
            let is_old = changed
                .and_then(|t| t.elapsed().ok())
                .is_some_and(|t| t > age);
            let ours = entry.file_name().to_string_lossy().starts_with("sm_");
            if ours && is_old && entry.path() != self.folder {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// `tools::R_user_dir("cudafactor", "cache")` on Linux.
fn user_cache() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    let base = named("R_USER_CACHE_DIR")
        .or_else(|| named("XDG_CACHE_HOME"))
        .map(PathBuf::from)
        .or_else(|| named("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("R").join("cudafactor"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver::kernels::ParameterKind;

    fn parameters() -> Parameters {
        let kinds = vec![ParameterKind::Long, ParameterKind::Double];
        Parameters::from([("b_f64".to_string(), kinds), ("a".to_string(), Vec::new())])
    }

    /// An empty folder, removed with its content.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("kept-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn code_is_kept() {
        let folder = Folder::new("whole");
        let place = Place::below(&folder.0, "norms", b"ptx", 89, "580.1/2 x");
        assert_eq!(place.read(89), None);
        place.write(89, b"\n\nELF\0", &parameters());
        assert_eq!(place.read(89), Some((b"\n\nELF\0".to_vec(), parameters())));
        assert_eq!(place.read(90), None);
        let files: Vec<_> = fs::read_dir(&place.folder).unwrap().collect();
        assert_eq!(files.len(), 1);
        // Other PTX, another driver and another GPU have other places.
        for (ptx, arch, driver) in [
            (b"PTX", 89, "580.1/2 x"),
            (b"ptx", 86, "580.1/2 x"),
            (b"ptx", 89, "581"),
        ] {
            let other = Place::below(&folder.0, "norms", ptx, arch, driver);
            assert_eq!(other.read(arch), None);
        }
    }

    #[test]
    fn damaged_code_is_not_read() {
        let folder = Folder::new("damaged");
        let place = Place::below(&folder.0, "norms", b"ptx", 89, "580");
        place.write(89, b"code", &parameters());
        let path = place.folder.join(&place.file);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(place.read(89), None, "{cut}");
            let mut changed = whole.clone();
            changed[cut] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert_eq!(place.read(89), None, "{cut}");
        }
        place.write(89, b"code", &parameters());
        assert!(place.read(89).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let folder = Folder::new("file");
        let file = folder.0.join("file");
        fs::write(&file, "").unwrap();
        let place = Place::below(&file, "norms", b"ptx", 89, "580");
        place.write(89, b"code", &parameters());
        assert_eq!(place.read(89), None);
    }

    #[test]
    fn folders_of_old_drivers_are_removed() {
        let folder = Folder::new("old");
        let places = ["570", "580"].map(|d| Place::below(&folder.0, "norms", b"ptx", 89, d));
        for place in &places {
            place.write(89, b"code", &parameters());
        }
        let other = folder.0.join("kernels").join("notes");
        fs::create_dir(&other).unwrap();
        places[1].remove_outdated(OUTDATED);
        assert!(places.iter().all(|p| p.read(89).is_some()));
        std::thread::sleep(Duration::from_millis(20));
        places[1].remove_outdated(Duration::from_millis(10));
        assert_eq!(
            places.each_ref().map(|p| p.read(89).is_some()),
            [false, true]
        );
        assert!(other.exists());
    }
}
