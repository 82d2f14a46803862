//! What cannot be, and what ends the work.

use super::{memory, solved, triangle, written, MUCH, SYSTEMS};
use crate::common::matrices;
use crate::common::place::Place;
use cudafactor::algo::tiled::factor::Factor;
use cudafactor::algo::tiled::inverse::inverse_diagonal;
use cudafactor::algo::tiled::solve::System;
use cudafactor::base::error::Error;
use cudafactor::base::interrupt;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::State;

fn a_zero_on_the_diagonal_is_told<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (n, tile) = (100, 24);
    for zeros in [&[1][..], &[24], &[25, 26], &[20, 99], &[100]] {
        let mut r = triangle::<T>(n);
        zeros.iter().for_each(|i| r.set(i - 1, i - 1, 0.0));
        let place = Place::new("tile-solve");
        let file = written(&place, &r, tile);
        let b = matrices::random::<T>(n, 2, 3);
        let index = zeros[0];
        for system in SYSTEMS {
            for room in [MUCH, (3, 3)] {
                let budget = memory(&file, room, 2 * n, false);
                let failed = solved(dev, &file, system, n, &b, budget).unwrap_err();
                assert_eq!(failed, Error::Singular { index });
            }
        }
        let factor = Factor::new(&file, n).unwrap();
        let budget = memory(&file, MUCH, 40 * n, true);
        let failed = inverse_diagonal(dev, &factor, &mut vec![0.0; n], budget).unwrap_err();
        assert_eq!(failed, Error::Singular { index });
        // A leading part that has none.
        if index > 1 {
            let budget = memory(&file, MUCH, 2 * n, false);
            solved(dev, &file, System::Both, index - 1, &b, budget).unwrap();
        }
    }
}

fn nan_and_infinity_propagate<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (n, tile) = (70, 32);
    for bad in [f64::NAN, f64::INFINITY] {
        let place = Place::new("tile-solve");
        let file = written(&place, &triangle::<T>(n), tile);
        let mut b = matrices::random::<T>(n, 3, 3);
        b.set(40, 1, bad);
        let budget = memory(&file, (3, 6), 3 * n, false);
        let (x, _) = solved(dev, &file, System::Forward, n, &b, budget).unwrap();
        let finite = |i, j| x.at(i, j).is_finite();
        assert!((0..n).all(|i| finite(i, 0) && finite(i, 2) && finite(i, 1) == (i < 40)));
        let (x, _) = solved(dev, &file, System::Backward, n, &b, budget).unwrap();
        let finite = |i, j| x.at(i, j).is_finite();
        assert!((0..n).all(|i| finite(i, 0) && finite(i, 2) && finite(i, 1) == (i > 40)));
        let mut r = triangle::<T>(n);
        r.set(10, 50, f64::NAN);
        let place = Place::new("tile-solve");
        let file = written(&place, &r, tile);
        let (x, _) = solved(dev, &file, System::Both, n, &b, budget).unwrap();
        assert!(x.at(5, 0).is_nan() && x.at(60, 2).is_nan());
        let mut d = vec![0.0; n];
        let factor = Factor::new(&file, n).unwrap();
        let budget = memory(&file, MUCH, n, true);
        inverse_diagonal(dev, &factor, &mut d, budget).unwrap();
        assert!(d[10].is_nan() && d[55].is_finite());
    }
}

fn what_is_no_factor_is_refused<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let place = Place::new("tile-solve");
    let file = written(&place, &triangle::<T>(40), 16);
    let b = matrices::random::<T>(40, 2, 3);
    let npd = State::NotPositiveDefinite { order: 3 };
    for state in [State::Matrix, State::Factoring, npd] {
        file.set_state(state).unwrap();
        let failed = Factor::new(&file, 40).err();
        assert!(matches!(
            failed,
            Some(Error::Argument { argument: "r", .. })
        ));
    }
    file.set_state(State::Factor).unwrap();
    let short = [((2, 9), "host_memory"), ((9, 2), "gpu_memory")];
    for (room, which) in &short[..if dev.has_own_memory() { 2 } else { 1 }] {
        let budget = memory(&file, *room, 0, false);
        let failed = solved(dev, &file, System::Both, 40, &b, budget).unwrap_err();
        let is = matches!(failed, Error::Argument { argument, .. } if argument == *which);
        assert!(is, "{failed:?}");
        let factor = Factor::new(&file, 40).unwrap();
        let failed = inverse_diagonal(dev, &factor, &mut [0.0; 40], budget).unwrap_err();
        let is = matches!(failed, Error::Argument { argument, .. } if argument == *which);
        assert!(is, "{failed:?}");
    }
    // Room for tiles, and none for a column.
    let budget = memory(&file, (3, 3), 0, false);
    let factor = Factor::new(&file, 40).unwrap();
    let failed = inverse_diagonal(dev, &factor, &mut [0.0; 40], budget);
    assert!(matches!(failed, Err(Error::Argument { .. })));
}

fn the_user_may_stop_it<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let n = 400;
    let place = Place::new("tile-solve");
    let file = written(&place, &triangle::<T>(n), 16);
    let b = matrices::random::<T>(n, 50, 3);
    let budget = memory(&file, (8, 8), 50 * n, false);
    std::thread::sleep(std::time::Duration::from_millis(60));
    interrupt::install(|| true);
    let stopped = solved(dev, &file, System::Both, n, &b, budget);
    interrupt::install(|| false);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    solved(dev, &file, System::Both, n, &b, budget).unwrap();
}

everywhere!(
    a_zero_on_the_diagonal_is_told,
    nan_and_infinity_propagate,
    what_is_no_factor_is_refused,
    the_user_may_stop_it,
);
