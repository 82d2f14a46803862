//! Factorizations that were interrupted and are resumed.

use crate::common::for_each_device;
use crate::common::place::Place;
use crate::common::triangle_file::upper_triangle;
use cudafactor::algo::tiled::cholesky_file::{factor_files, Files};
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::{Access, State, TileFile};

use super::{alone, in_place, positive, tiles_on, written};

fn what_was_interrupted_goes_on<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    goes_on::<T, D>(alone(dev));
}

/// On more of the devices each time, and on one again.
pub(super) fn goes_on<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
    use cudafactor::base::interrupt;
    use std::cell::Cell;
    thread_local! {
        static LEFT: Cell<usize> = const { Cell::new(0) };
    }
    // Stops at a question later each time; questions are asked at most every 50 ms.
    fn stop() -> bool {
        LEFT.set(LEFT.get().saturating_sub(1));
        LEFT.get() == 0
    }
    let (n, tile) = (1500, 32);
    let a = positive::<T>(n);
    let (whole, all) = in_place(&devs[0], &a, tile, (1000, 1000)).unwrap();
    let place = Place::new("cholesky-file");
    drop(written(&place, &a, tile));
    let (mut stops, mut begun) = (0, false);
    loop {
        // As another process would find it.
        let file = TileFile::<T>::open(&place, Access::Write).unwrap();
        let files = Files::new(None, &file);
        LEFT.set(1 + stops);
        interrupt::install(stop);
        // Different memory each time.
        let count = 1 + stops % devs.len();
        let budget = tiles_on(
            count,
            &file,
            12 + 9 * (stops as u64 % 3),
            9 + 4 * (stops as u64 % 2),
        );
        let done = factor_files(&devs[..count], &files, &budget, stops > 0);
        interrupt::install(|| false);
        match done {
            Ok(report) => {
                // What was stored is not done again.
                assert!(
                    report.operations < all.operations || !begun,
                    "after {stops} stops"
                );
                assert!(
                    crate::common::same(&upper_triangle(&file), &whole),
                    "after {stops} stops"
                );
                break;
            }
            Err(e) => assert_eq!(e, Error::Interrupted),
        }
        // Stopped before anything was stored it is a matrix still.
        if file.state() != State::Matrix {
            begun = true;
            assert_eq!(file.state(), State::Factoring);
            let refused = factor_files(&devs[..count], &files, &budget, false);
            let why = matches!(
                refused,
                Err(Error::Argument {
                    argument: "resume",
                    ..
                })
            );
            assert!(why);
        }
        stops += 1;
        assert!(stops < 500);
    }
    assert!(stops > 0);
}

for_each_device!(what_was_interrupted_goes_on);
