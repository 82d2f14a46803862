//! Files that something else has changed.

use std::fs;

use cudafactor::base::error::Error;
use cudafactor::tiles::{kind, Access, Shape, State, TileFile};

use super::{fill, steps, written, Place, TILE};

fn flip(place: &Place, at: usize) {
    let mut bytes = fs::read(place).unwrap();
    bytes[at] ^= 4;
    fs::write(place, bytes).unwrap();
}

fn format_error(place: &Place) -> String {
    for access in [Access::Read, Access::Write] {
        let Err(Error::FileFormat { what, .. }) = TileFile::<f64>::open(place, access) else {
            panic!("not an error of the format");
        };
        if access == Access::Write {
            return what;
        }
    }
    unreachable!()
}

#[test]
fn a_changed_byte_is_found_in_its_tile() {
    let place = Place::new("tile");
    for shape in [Shape::Triangle, Shape::Full] {
        let _ = fs::remove_file(&place);
        let file = written(&place, 3 * TILE + 1, shape);
        let header = kind(&place).unwrap();
        let mut buffer = file.buffer().unwrap();
        for tile in 0..file.layout().tiles() {
            fill(&mut buffer, tile, tile as u32);
            let contents = fs::read(&place).unwrap();
            let slots = contents[header.first_slot as usize..].chunks(header.slot_bytes as usize);
            let slot = slots.into_iter().position(|s| s == buffer.bytes()).unwrap();
            let at = header.first_slot as usize + (slot + 1) * header.slot_bytes as usize - 1;
            for at in [at, at + 1 - header.slot_bytes as usize] {
                flip(&place, at);
                let (row, col) = file.layout().position(tile);
                assert_eq!(
                    file.read(tile, &mut buffer),
                    Err(Error::Corrupt {
                        path: place.0.display().to_string(),
                        row: row + 1,
                        col: col + 1
                    })
                );
                flip(&place, at);
            }
            file.read(tile, &mut buffer).unwrap();
        }
        steps(&file);
    }
}

#[test]
fn a_damaged_table_gives_way_to_the_one_before() {
    let place = Place::new("tables");
    let file = written(&place, 2 * TILE, Shape::Triangle);
    let before = steps(&file);
    let mut buffer = file.buffer().unwrap();
    fill(&mut buffer, 1, 50);
    file.write(1, &buffer, 50).unwrap();
    file.set_state(State::Factoring).unwrap();
    drop(file);

    // Of three commits, the first of them empty, the first and the last are in the first table.
    let header = kind(&place).unwrap();
    let (newest, older) = (header.tables[0] as usize, header.tables[1] as usize);
    flip(&place, newest + 40);
    for access in [Access::Read, Access::Write] {
        let file = TileFile::<f64>::open(&place, access).unwrap();
        assert_eq!(file.state(), State::Matrix);
        assert_eq!(steps(&file), before);
    }
    flip(&place, older + 8);
    assert!(format_error(&place).contains("both tables"));
    flip(&place, newest + 40);
    let file = TileFile::<f64>::open(&place, Access::Write).unwrap();
    assert_eq!((file.state(), file.step(1)), (State::Factoring, 50));
    // The next commit writes over the damaged one.
    file.set_state(State::Factor).unwrap();
    drop(file);
    flip(&place, newest + 40);
    let file = TileFile::<f64>::open(&place, Access::Write).unwrap();
    assert_eq!((file.state(), file.step(1)), (State::Factor, 50));
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let place = Place::new("cut");
    drop(written(&place, 2 * TILE, Shape::Full));
    let whole = fs::read(&place).unwrap();
    for (bytes, says) in [
        (whole.len() - 1, "cut off"),
        (whole.len() / 2 + 77, "cut off"),
        (4096 + 100, "cut off"),
        (4096, "cut off"),
        (4095, "not a file of tiles"),
        (0, "not a file of tiles"),
    ] {
        fs::write(&place, &whole[..bytes]).unwrap();
        let what = format_error(&place);
        assert!(what.contains(says), "{bytes}: {what}");
    }
}

#[test]
fn a_file_that_is_cut_off_while_it_is_open_has_damaged_tiles() {
    let place = Place::new("shorter");
    let file = written(&place, TILE, Shape::Full);
    let header = kind(&place).unwrap();
    let short = fs::OpenOptions::new().write(true).open(&place).unwrap();
    let mut buffer = file.buffer().unwrap();
    for bytes in [header.first_slot + 100, header.first_slot] {
        short.set_len(bytes).unwrap();
        let read = file.read(0, &mut buffer);
        assert!(matches!(read, Err(Error::Corrupt { row: 1, col: 1, .. })));
    }
}

#[test]
fn other_files_are_refused() {
    let place = Place::new("other");
    fs::write(&place, "text\n".repeat(9999)).unwrap();
    assert!(format_error(&place).contains("not a file of tiles"));
    fs::remove_file(&place).unwrap();

    drop(written(&place, TILE, Shape::Full));
    let single = TileFile::<f32>::open(&place, Access::Read);
    let Err(Error::FileFormat { what, .. }) = single else {
        panic!("the file is in double precision");
    };
    assert!(what.contains("double precision"));
    // A later version of the format, and a damaged number.
    flip(&place, 8);
    assert!(format_error(&place).contains("version 5"));
    flip(&place, 8);
    flip(&place, 24);
    assert!(format_error(&place).contains("damaged"));
    assert!(matches!(kind(&place), Err(Error::FileFormat { .. })));
}
