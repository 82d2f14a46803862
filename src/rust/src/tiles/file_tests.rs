//! A disk that does not take what is written.

use super::*;
use crate::tiles::direct::remove;
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
