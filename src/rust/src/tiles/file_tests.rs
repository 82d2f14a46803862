//! A disk that does not take what is written.

use crate::tiles::direct::{remove, Disk};
use crate::tiles::file::*;
use crate::tiles::Shape;

/// An open file of one tile, whose disk refuses to be written.
fn refusing(path: &Path) -> TileFile<f64> {
    let layout = Layout::new(8, 8, 8, Shape::Full).unwrap();
    drop(TileFile::<f64>::create(path, layout).unwrap());
    let reader = TileFile::<f64>::open(path, Access::Read).unwrap();
    let table = reader.lock().durable.clone();
    TileFile::with(reader.disk, path, Access::Write, reader.header, table, 0)
}

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cudafactor-{name}-{}", std::process::id()));
    remove(&path);
    path
}

#[test]
fn a_write_that_fails_leaves_the_tile_and_all_slots() {
    let path = place("write");
    let file = refusing(&path);
    let buffer = file.buffer().unwrap();
    // More often than there are slots.
    for _ in 0..20 {
        assert!(matches!(file.write(0, &buffer, 1), Err(Error::File { .. })));
    }
    assert!(!file.has(0));
    assert_eq!(file.moved(), (0, 0));
    assert!(file.commit().is_ok(), "there is nothing to write");
    remove(&path);
}

#[test]
fn a_commit_that_fails_is_the_last() {
    let path = place("commit");
    let file = refusing(&path);
    let error = file.set_state(State::Factor);
    assert!(matches!(error, Err(Error::File { .. })));
    let buffer = file.buffer().unwrap();
    assert_eq!(file.write(0, &buffer, 1), error);
    assert_eq!(file.set_state(State::Matrix), error);
    drop(file);
    let file = TileFile::<f64>::open(&path, Access::Write).unwrap();
    assert_eq!(file.state(), State::Matrix);
    drop(file);
    remove(&path);
}

#[test]
fn what_is_left_of_a_making_goes_unless_somebody_is_at_it() {
    let (path, other) = (place("made"), place("unmade"));
    let layout = Layout::new(8, 8, 8, Shape::Full).unwrap();
    let file = TileFile::<f64>::create(&path, layout).unwrap();
    for bytes in [0, file.bytes()] {
        let making = Disk::create(&other, bytes).unwrap();
        let error = file.remove_unmade(&other);
        assert!(matches!(error, Err(Error::FileInUse { .. })), "{error:?}");
        assert!(other.exists());
        drop(making);
        assert_eq!(file.remove_unmade(&other), Ok(true));
        assert!(!other.exists());
    }
    // A file of another length, and one that was made.
    std::fs::write(&other, [0; 4096]).unwrap();
    assert_eq!(file.remove_unmade(&other), Ok(false));
    remove(&other);
    drop(TileFile::<f64>::create(&other, layout).unwrap());
    assert_eq!(file.remove_unmade(&other), Ok(false));
    assert!(other.exists());
    remove(&path);
    remove(&other);
}
