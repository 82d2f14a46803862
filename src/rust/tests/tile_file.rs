//! Files of tiles: what is written is what is read, whatever happens to the file and to the process that writes it.

use std::path::PathBuf;

use cudafactor::scalar::Scalar;
use cudafactor::tiles::{Access, Buffer, Layout, Shape, TileFile};

/// A path for a file that goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{}.tiles", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The contents of a tile after so many steps: all bits of a number change with each of the two.
fn fill<T: Scalar>(buffer: &mut Buffer<T>, tile: usize, step: u32) {
    let seed = (tile as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::from(step) << 20);
    for (k, x) in buffer.iter_mut().enumerate() {
        let bits = (seed + k as u64).wrapping_mul(0xD134_2543_DE82_EF95);
        *x = T::from_f64((bits >> 40) as f64 / 64.0);
    }
}

fn round_trip<T: Scalar>(name: &str) {
    const TILE: usize = 24;
    for shape in [Shape::Triangle, Shape::Full] {
        for n in [0, 1, TILE - 1, TILE, TILE + 1, 5 * TILE + 3] {
            let place = Place::new(&format!("{name}-{shape:?}-{n}"));
            let layout = Layout::new(n, n, TILE, shape).unwrap();
            let file = TileFile::<T>::create(&place.0, layout).unwrap();
            let mut buffer = Buffer::new(&layout).unwrap();
            // Over and over, which takes more slots than there are.
            for step in 0..9 {
                for tile in 0..layout.tiles() {
                    fill(&mut buffer, tile, step);
                    file.write(tile, &buffer, step).unwrap();
                }
            }
            file.commit().unwrap();
            drop(file);
            let file = TileFile::<T>::open(&place.0, Access::Read).unwrap();
            assert_eq!(*file.layout(), layout);
            let mut expected = Buffer::new(&layout).unwrap();
            for tile in 0..layout.tiles() {
                assert_eq!(file.step(tile), 8);
                fill(&mut expected, tile, 8);
                file.read(tile, &mut buffer).unwrap();
                assert!(*buffer == *expected);
            }
        }
    }
}

#[test]
fn tiles_come_back() {
    round_trip::<f64>("double");
    round_trip::<f32>("single");
}
