//! What the system or another handle does not allow.

use std::fs;
use std::path::Path;

use cudafactor::base::error::Error;
use cudafactor::tiles::{kind, Access, Layout, Shape, TileFile};

use super::{written, Place, TILE};

fn open(place: &Place, access: Access) -> Result<TileFile<f64>, Error> {
    TileFile::open(place, access)
}

#[test]
fn one_writes_or_many_read() {
    let place = Place::new("use");
    let writer = written(&place, TILE, Shape::Full);
    let in_use = Error::FileInUse {
        path: place.0.display().to_string(),
    };
    assert_eq!(open(&place, Access::Write).err(), Some(in_use.clone()));
    assert_eq!(open(&place, Access::Read).err(), Some(in_use.clone()));
    drop(writer);
    let reader = open(&place, Access::Read).unwrap();
    assert!(open(&place, Access::Read).is_ok());
    assert_eq!(open(&place, Access::Write).err(), Some(in_use));
    let buffer = reader.buffer().unwrap();
    assert!(matches!(
        reader.write(0, &buffer, 1),
        Err(Error::Internal { .. })
    ));
    assert!(matches!(reader.commit(), Err(Error::Internal { .. })));
    drop(reader);
    assert!(open(&place, Access::Write).is_ok());
}

#[test]
#[cfg(unix)]
fn what_a_file_holds_is_told_while_it_is_in_use() {
    let place = Place::new("kind");
    let file = written(&place, TILE, Shape::Full);
    assert_eq!(kind(&place).unwrap().layout, *file.layout());
}

#[test]
fn a_file_that_exists_is_left_alone() {
    let place = Place::new("exists");
    fs::write(&place, "mine").unwrap();
    let layout = Layout::new(TILE, TILE, TILE, Shape::Full).unwrap();
    let made = TileFile::<f64>::create(&place, layout);
    let path = place.0.display().to_string();
    assert_eq!(made.err(), Some(Error::FileExists { path }));
    assert_eq!(fs::read(&place).unwrap(), b"mine");
}

#[test]
fn paths_that_lead_nowhere_are_errors_with_the_path_in_them() {
    let place = Place::new("nowhere");
    let layout = Layout::new(TILE, TILE, TILE, Shape::Full).unwrap();
    let below = place.0.join("below");
    let errors = [
        open(&place, Access::Read).err(),
        open(&place, Access::Write).err(),
        kind(&place).err(),
        TileFile::<f64>::create(&below, layout).err(),
    ];
    for error in errors {
        let Some(Error::File { path, what }) = error else {
            panic!("{error:?}");
        };
        assert!(Path::new(&path).starts_with(std::env::temp_dir()));
        assert!(what.contains("os error"), "{what}");
    }
    assert!(!place.0.exists());
    let Err(Error::File { what, .. }) = kind(std::env::temp_dir()) else {
        panic!("a folder was read");
    };
    assert!(what.contains("not a regular file"), "{what}");
}

#[test]
fn a_file_without_room_is_not_made() {
    let place = Place::new("room");
    let layout = Layout::new(1 << 29, 1 << 29, 1 << 20, Shape::Triangle).unwrap();
    let Err(Error::DiskSpace { needed, free, .. }) = TileFile::<f64>::create(&place, layout) else {
        panic!("no disk has that much room");
    };
    let free = free.expect("a Unix says how much is free");
    assert!(needed > 1 << 60 && free < needed && free > 0);
    assert!(!place.0.exists());
}

/// A child that lives on where `good` is so in it.
#[cfg(unix)]
fn forked(mut good: impl FnMut() -> bool) -> libc::pid_t {
    // SAFETY: the child does little and leaves by _exit; nothing of this process's is torn down in
    // it.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        while good() {
            // SAFETY: waits to be killed.
            unsafe { libc::pause() };
        }
        // SAFETY: ends the child without running this process's exit handlers.
        unsafe { libc::_exit(1) };
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    child
}

/// Ends it, and tells whether it lived.
#[cfg(unix)]
fn killed(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: `child` is ours and `status` outlives the call.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &mut status, 0);
    }
    libc::WIFSIGNALED(status)
}

#[test]
#[cfg(unix)]
fn a_forked_child_has_no_part_in_a_file() {
    let place = Place::new("fork");
    let file = written(&place, TILE, Shape::Full);
    let in_use = |error: Option<Error>| matches!(error, Some(Error::FileInUse { .. }));
    let refused = forked(|| {
        let mut buffer = file.buffer().unwrap();
        in_use(file.read(0, &mut buffer).err()) && in_use(file.write(0, &buffer, 1).err())
    });
    let mut inherited = Some(file);
    let dropped = forked(|| {
        drop(inherited.take());
        in_use(open(&place, Access::Read).err())
    });
    let locked = killed(dropped);
    // The other child still has the descriptor.
    drop(inherited);
    let again = open(&place, Access::Write);
    let refused = killed(refused);
    // No child is left behind by what fails here.
    assert!(locked, "the child took its parent's lock away");
    assert!(refused, "the child was not refused");
    assert!(again.is_ok());
}
