//! Factorizations into a second file.

use crate::common::for_each_device;
use crate::common::place::Place;
use crate::common::triangle_file::upper_triangle;
use crate::common::Host;
use cudafactor::algo::tiled::cholesky_file::{factor_files, Files};
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::{Access, Buffer, State, TileFile};

use super::{alone, in_place, positive, tiles, written};

fn a_second_file_leaves_the_first_alone<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (n, tile) = (100, 24);
    let a = positive::<T>(n);
    let (one, two) = (Place::new("cholesky-file"), Place::new("cholesky-file"));
    drop(written(&one, &a, tile));
    let before = std::fs::read(&one).unwrap();
    let from = TileFile::<T>::open(&one, Access::Read).unwrap();
    let to = TileFile::<T>::create_from(&two, &from).unwrap();
    let files = Files::new(Some(&from), &to);
    factor_files(alone(dev), &files, &tiles(&to, 6, 4), false).unwrap();
    assert_eq!(from.state(), State::Matrix);
    assert!(std::fs::read(&one).unwrap() == before);
    let (r, _) = in_place(dev, &a, tile, (1000, 1000)).unwrap();
    assert!(crate::common::same(&upper_triangle(&to), &r));
    // What is a factor is not factored, and what is complete is not gone on with.
    let again = factor_files(alone(dev), &files, &tiles(&to, 6, 4), false);
    assert!(matches!(again, Err(Error::Argument { argument: "x", .. })));
    let nothing = factor_files(alone(dev), &files, &tiles(&to, 6, 4), true).unwrap();
    assert_eq!((nothing.operations, nothing.traffic.loaded), (0.0, 0));
    // A file of another matrix is not taken for what was begun.
    let other = Place::new("cholesky-file");
    let other = written(&other, &a, tile);
    let refused = factor_files(
        alone(dev),
        &Files::new(Some(&from), &other),
        &tiles(&to, 6, 4),
        true,
    );
    assert!(matches!(
        refused,
        Err(Error::Argument {
            argument: "file",
            ..
        })
    ));
}

/// The same contents with another history: tiles elsewhere in the file, and one that was another
/// for a while.
fn written_again<T: Scalar>(place: &Place, a: &Host<T>, tile: usize) -> TileFile<T> {
    let file = written(place, a, tile);
    let whole = file.fingerprint();
    let mut buffer = file.buffer().unwrap();
    for k in [file.layout().tiles() - 1, 0] {
        file.read(k, &mut buffer).unwrap();
        let first = buffer[0];
        // Of two writes the second one has the place of the first contents.
        for other in [-1.0, -2.0] {
            buffer[0] = T::from_f64(other);
            file.write(k, &buffer, 0).unwrap();
            file.commit().unwrap();
            assert_ne!(file.fingerprint(), whole);
        }
        buffer[0] = first;
        file.write(k, &buffer, 7).unwrap();
        file.commit().unwrap();
        assert_eq!(file.fingerprint(), whole);
    }
    file
}

/// Changes a byte of a tile in the file, or changes it back.
fn flip<T: Scalar>(place: &Place, tile: &Buffer<T>, at: &mut Option<usize>) {
    let mut bytes = std::fs::read(place).unwrap();
    let step = 4096;
    let find = || {
        (0..bytes.len())
            .step_by(step)
            .find(|at| bytes[*at..].starts_with(tile.bytes()))
    };
    let at = *at.get_or_insert_with(|| find().unwrap());
    bytes[at] ^= 1;
    std::fs::write(place, bytes).unwrap();
}

/// A second file is for the matrix that it was begun from, wherever that lies now, and for no
/// other: when it is empty, when the factorization was interrupted, and when it is complete.
fn a_second_file_is_for_one_matrix<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    for (n, tile) in [(1, 8), (8, 8), (9, 8), (9 * 32 + 5, 32)] {
        let a = positive::<T>(n);
        let mut b = a.clone();
        b.set(0, n - 1, a.at(0, n - 1) + 0.25);
        let (one, same, third) = (Place::new("a"), Place::new("same"), Place::new("b"));
        let from = written(&one, &a, tile);
        let again = written_again(&same, &a, tile);
        let other = written(&third, &b, tile);
        let of_other_tiles = Place::new("tiles");
        let of_other_tiles = written(&of_other_tiles, &a, tile + 1);
        let (whole, _) = in_place(dev, &a, tile, (1000, 1000)).unwrap();
        let mut last = from.buffer().unwrap();
        from.read(from.layout().tiles() - 1, &mut last).unwrap();

        let place = Place::new("second");
        drop(TileFile::<T>::create_from(&place, &from).unwrap());
        for call in [0, 1, 2] {
            let to = TileFile::<T>::open(&place, Access::Write).unwrap();
            let state = to.state();
            match call {
                0 => assert_eq!(state, State::Matrix),
                // Of a few tiles perhaps none is stored before the last one is read.
                1 => assert!(state == State::Factoring || n < 10),
                _ => assert_eq!(state, State::Factor),
            }
            assert_eq!(to.origin(), Some(from.fingerprint()));
            let budget = tiles(&to, 12, 6);
            let before = [&place, &third].map(|p| std::fs::read(p).unwrap());
            for (matrix, resume) in [(&other, true), (&of_other_tiles, true), (&other, false)] {
                let files = Files::new(Some(matrix), &to);
                let refused = factor_files(alone(dev), &files, &budget, resume);
                let Err(Error::FileFormat { path, what }) = refused else {
                    panic!("{n} {state:?}: {refused:?}");
                };
                assert_eq!(path, place.0.display().to_string());
                assert!(what.contains("begun from another matrix"), "{what}");
            }
            assert!([&place, &third].map(|p| std::fs::read(p).unwrap()) == before);

            let mut at = None;
            if call == 0 {
                flip(&one, &last, &mut at);
                let files = Files::new(Some(&from), &to);
                let failed = factor_files(alone(dev), &files, &budget, true);
                assert!(matches!(failed, Err(Error::Corrupt { .. })), "{failed:?}");
                flip(&one, &last, &mut at);
            } else {
                let files = Files::new(Some(&again), &to);
                let report = factor_files(alone(dev), &files, &budget, true).unwrap();
                assert_eq!(report.operations == 0.0, state == State::Factor);
                assert!(crate::common::same(&upper_triangle(&to), &whole));
            }
        }
        // A file made for another matrix is not a second one, whatever happened to it since.
        let own = Place::new("own");
        let to = written(&own, &a, tile);
        assert_eq!(to.origin(), None);
        for _ in ["matrix", "factor"] {
            let files = Files::new(Some(&from), &to);
            let failed = factor_files(alone(dev), &files, &tiles(&to, 12, 6), true);
            let is = matches!(
                &failed,
                Err(Error::Argument {
                    argument: "file",
                    ..
                })
            );
            assert!(is, "{failed:?}");
            factor_files(alone(dev), &Files::new(None, &to), &tiles(&to, 12, 6), true).unwrap();
        }
    }
}

for_each_device!(
    a_second_file_leaves_the_first_alone,
    a_second_file_is_for_one_matrix,
);
