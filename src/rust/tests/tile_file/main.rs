//! Files of tiles: what is written is what is read, whatever happens to the file and to the process
//! that writes it.

mod damage;
mod images;
#[cfg(unix)]
mod killed;
#[path = "../common/place.rs"]
mod place;
mod refused;
mod threads;

use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use place::Place;

use cudafactor::tiles::{kind, Access, Buffer, Element, Layout, Shape, State, TileFile};

/// Numbers of a sequence that looks random and is the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// A tile after so many steps. The first number is the step; the others are different for each tile
/// and step.
fn fill<T: Scalar>(buffer: &mut Buffer<T>, tile: usize, step: u32) {
    let mut random = Random((tile as u64 + 1) << 32 | u64::from(step));
    for x in buffer.iter_mut() {
        *x = T::from_f64(random.below(1 << 24) as f64);
    }
    buffer[0] = T::from_f64(f64::from(step));
}

/// The step of a tile that was read, which must be what that tile was after that step.
fn step_of<T: Scalar>(buffer: &Buffer<T>, tile: usize, layout: &Layout) -> u32 {
    let first: f64 = buffer[0].into();
    let step = first as u32;
    let mut expected = Buffer::<T>::new(layout).unwrap();
    fill(&mut expected, tile, step);
    assert!(**buffer == *expected, "tile {tile}, step {step}");
    step
}

/// The steps of all tiles that a file has, each of which is read and compared.
fn steps<T: Scalar>(file: &TileFile<T>) -> Vec<Option<u32>> {
    let layout = file.layout();
    let mut buffer = Buffer::new(layout).unwrap();
    let read = |tile| {
        file.has(tile).then(|| {
            file.read(tile, &mut buffer).unwrap();
            let step = step_of(&buffer, tile, layout);
            assert_eq!(step, file.step(tile));
            step
        })
    };
    (0..layout.tiles()).map(read).collect()
}

/// The order of the tiles in these tests: two pages of double precision, which they do not fill.
const TILE: usize = 24;

/// A file whose tiles are all written, each with its number for a step, and committed.
fn written(place: &Place, n: usize, shape: Shape) -> TileFile<f64> {
    let layout = Layout::new(n, n, TILE, shape).unwrap();
    let file = TileFile::create(place, layout).unwrap();
    let mut buffer = file.buffer().unwrap();
    for tile in 0..layout.tiles() {
        fill(&mut buffer, tile, tile as u32);
        file.write(tile, &buffer, tile as u32).unwrap();
    }
    file.commit().unwrap();
    file
}

fn round_trip<T: Scalar>(element: Element) {
    for shape in [Shape::Triangle, Shape::Full] {
        for n in [0, 1, TILE - 1, TILE, TILE + 1, 5 * TILE + 3] {
            let place = Place::new(&format!("trip-{element:?}-{shape:?}-{n}"));
            let layout = Layout::new(n, n, TILE, shape).unwrap();
            let file = TileFile::<T>::create(&place, layout).unwrap();
            assert!((0..layout.tiles()).all(|tile| !file.has(tile)));
            assert_eq!(file.state(), State::Matrix);
            let mut buffer = Buffer::new(&layout).unwrap();
            // Over and over, which takes more slots than there are.
            for step in 0..9 {
                for tile in 0..layout.tiles() {
                    fill(&mut buffer, tile, step);
                    file.write(tile, &buffer, step).unwrap();
                }
            }
            assert_eq!(steps(&file), vec![Some(8); layout.tiles()]);
            let bytes = layout.tiles() as u64 * std::mem::size_of_val(&*buffer) as u64;
            assert_eq!(file.moved(), (bytes, 9 * bytes));
            file.set_state(State::Factor).unwrap();
            assert_eq!(std::fs::metadata(&place).unwrap().len(), file.bytes());
            drop(file);

            let header = kind(&place).unwrap();
            assert_eq!((header.element, header.layout), (element, layout));
            let file = TileFile::<T>::open(&place, Access::Read).unwrap();
            assert_eq!((*file.layout(), file.state()), (layout, State::Factor));
            assert_eq!(steps(&file), vec![Some(8); layout.tiles()]);
        }
    }
}

#[test]
fn tiles_come_back_in_double_precision() {
    round_trip::<f64>(Element::F64);
}

#[test]
fn tiles_come_back_in_single_precision() {
    round_trip::<f32>(Element::F32);
}

#[test]
fn what_was_not_committed_is_not_there_after_closing() {
    let place = Place::new("uncommitted");
    let file = written(&place, 3 * TILE, Shape::Triangle);
    let before = steps(&file);
    let mut buffer = file.buffer().unwrap();
    fill(&mut buffer, 2, 77);
    file.write(2, &buffer, 77).unwrap();
    assert_eq!(file.step(2), 77);
    drop(file);
    let file = TileFile::<f64>::open(&place, Access::Write).unwrap();
    assert_eq!(steps(&file), before);
    file.write(2, &buffer, 77).unwrap();
    file.set_state(State::NotPositiveDefinite { order: 1 << 33 })
        .unwrap();
    drop(file);
    let file = TileFile::<f64>::open(&place, Access::Write).unwrap();
    assert_eq!(file.step(2), 77);
    assert_eq!(file.state(), State::NotPositiveDefinite { order: 1 << 33 });
}

#[test]
fn a_tile_that_is_not_there_is_not_read() {
    let place = Place::new("absent");
    let layout = Layout::new(TILE, TILE, TILE, Shape::Full).unwrap();
    let file = TileFile::<f64>::create(&place, layout).unwrap();
    let mut buffer = file.buffer().unwrap();
    let mut other = Buffer::new(&Layout::new(9, 9, 2 * TILE, Shape::Full).unwrap()).unwrap();
    for error in [
        file.read(0, &mut buffer),
        file.read(1, &mut buffer),
        file.write(1, &buffer, 0),
        file.write(0, &other, 0),
        file.read(0, &mut other),
    ] {
        assert!(matches!(error, Err(Error::Internal { .. })), "{error:?}");
    }
    assert!(!file.has(0) && !file.has(1) && file.step(1) == 0);
}
