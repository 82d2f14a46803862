//! What streams through a factor in a file of tiles: triangular systems and the diagonal of the inverse, with more memory than is needed and with hardly any.

mod common;

use common::apart::Apart;
use common::place::Place;
use common::{for_each_device, matrices, residual, same, Host};
use cudafactor::algo::cholesky_file::Budget;
use cudafactor::algo::tiled_factor::Factor;
use cudafactor::algo::tiled_inverse::inverse_diagonal;
use cudafactor::algo::tiled_solve::{solve, Passes, System};
use cudafactor::error::{Error, Result};
use cudafactor::interrupt;
use cudafactor::scalar::Scalar;
use cudafactor::tiles::machine::TileMachine;
use cudafactor::tiles::{Layout, Shape, State, TileFile};
use faer::Mat;

const SYSTEMS: [System; 3] = [System::Backward, System::Forward, System::Both];

/// An upper triangle whose inverse does not grow with its order.
fn triangle<T: Scalar>(n: usize) -> Host<T> {
    let r = matrices::random::<f64>(n, n, 11);
    Host::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => r.at(i, j) / (n as f64).sqrt(),
        std::cmp::Ordering::Equal => 2.0 + r.at(i, j),
        std::cmp::Ordering::Greater => 0.0,
    })
}

/// A file with this factor. What is not of the triangle is NaN: nobody is to read it.
fn written<T: Scalar>(place: &Place, r: &Host<T>, tile: usize) -> TileFile<T> {
    let layout = Layout::new(r.rows, r.rows, tile, Shape::Triangle).unwrap();
    let file = TileFile::<T>::create(place, layout).unwrap();
    let mut buffer = file.buffer().unwrap();
    for k in 0..layout.tiles() {
        let (bi, bj) = layout.position(k);
        let (rows, cols) = layout.extent(bi, bj);
        buffer.fill(T::from_f64(f64::NAN));
        for j in 0..cols {
            for i in 0..rows {
                let (row, col) = (bi * tile + i, bj * tile + j);
                if row <= col {
                    buffer[j * tile + i] = T::from_f64(r.at(row, col));
                }
            }
        }
        file.write(k, &buffer, 1).unwrap();
    }
    file.set_state(State::Factor).unwrap();
    file
}

/// Memory for so many tiles, and for so many numbers beside those on a device, or beside those of the host where that computes.
fn memory<T: Scalar>(
    file: &TileFile<T>,
    (host, device): (u64, u64),
    numbers: usize,
    in_host: bool,
) -> Budget {
    let each = file.buffer().unwrap().bytes().len() as u64;
    let beside = (numbers * size_of::<T>()) as u64;
    let layout = file.layout();
    let last = layout.extent(0, layout.block_cols() - 1).1;
    // The parts of the last column of tiles.
    let edges = ((layout.tile() + last) * last * size_of::<T>()) as u64;
    let ragged = !layout.rows().is_multiple_of(layout.tile());
    Budget {
        host: host * each + if in_host { beside } else { 0 },
        // What is computed with them takes two more.
        device: (device + 2) * each + beside + if ragged { edges } else { 0 },
    }
}

const MUCH: (u64, u64) = (1000, 1000);

/// The solution. What was read is what was planned.
fn solved<T: Scalar, D: TileMachine<T>>(
    dev: &D,
    file: &TileFile<T>,
    system: System,
    k: usize,
    b: &Host<T>,
    budget: Budget,
) -> Result<(Host<T>, Passes)> {
    let mut out = Host::<T>::spread(k, b.cols, 2, |_, _| f64::NAN);
    let before = file.moved().0;
    let factor = Factor::new(file, k)?;
    let passes = solve(dev, &factor, system, b.view(), out.view_mut(), budget)?;
    let read = file.moved().0 - before;
    assert_eq!(read, passes.traffic.loaded as u64 * passes.tile_bytes);
    out.assert_padding_untouched();
    Ok((out, passes))
}

fn matrix_of(system: System, r: &Mat<f64>) -> Mat<f64> {
    match system {
        System::Backward => r.clone(),
        System::Forward => r.transpose().to_owned(),
        System::Both => residual::product(r.transpose(), r.as_ref()),
    }
}

fn systems_of_every_size<T: Scalar, D: TileMachine<T>>(dev: &D) {
    let tile = 48;
    for n in [1, 2, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7] {
        let r = triangle::<T>(n);
        let place = Place::new("tile-solve");
        let file = written(&place, &r, tile);
        for q in [0, 1, 3, 65] {
            let b = matrices::random::<T>(n, q, 12).with_gap(3);
            for system in SYSTEMS {
                let mut first = None;
                for (room, columns) in [(MUCH, q), ((3, 3), 1), ((4, 3), 2), ((7, 5), 7)] {
                    let budget = memory(&file, room, columns * n, false);
                    let (x, passes) = solved(dev, &file, system, n, &b, budget).unwrap();
                    let a = matrix_of(system, &r.wide());
                    let (x64, b64) = (x.wide(), b.wide());
                    let error = residual::solve(a.as_ref(), x64.as_ref(), b64.as_ref(), T::EPS);
                    assert!(
                        error < residual::BACKWARD,
                        "{n} {q} {system:?} {room:?}: {error}"
                    );
                    if dev.is_host() {
                        // However much room there is.
                        let first = first.get_or_insert_with(|| x.clone());
                        assert!(same(first, &x), "{n} {q} {system:?} {room:?}");
                        assert_eq!(passes.chunks, usize::from(q > 0));
                    } else if q == 65 && columns == 1 {
                        assert!(passes.chunks > 1, "{n}");
                    }
                }
            }
        }
    }
}

fn leading_parts<T: Scalar, D: TileMachine<T>>(dev: &D) {
    let (n, tile) = (100, 32);
    let r = triangle::<T>(n);
    let place = Place::new("tile-solve");
    let file = written(&place, &r, tile);
    // More rows than are solved for.
    let b = matrices::random::<T>(n, 5, 12);
    for k in [0, 1, 31, 32, 33, 64, 70, 99] {
        for system in SYSTEMS {
            let budget = memory(&file, (4, 6), 5 * n, false);
            let (x, _) = solved(dev, &file, system, k, &b, budget).unwrap();
            let lead = |m: &Host<T>, cols| Mat::from_fn(k, cols, |i, j| m.at(i, j));
            let a = matrix_of(system, &lead(&r, k));
            let error =
                residual::solve(a.as_ref(), x.wide().as_ref(), lead(&b, 5).as_ref(), T::EPS);
            assert!(error < residual::BACKWARD, "{k} {system:?}: {error}");
        }
    }
    assert!(matches!(
        Factor::new(&file, n + 1),
        Err(Error::Dimension { .. })
    ));
}

fn tiles_are_read_as_seldom_as_memory_allows<T: Scalar, D: TileMachine<T>>(dev: &D) {
    let (count, tile, q) = (8, 32, 40);
    let n = count * tile;
    let all = count * (count + 1) / 2;
    let place = Place::new("tile-solve");
    let file = written(&place, &triangle::<T>(n), tile);
    let b = matrices::random::<T>(n, q, 3);
    for host in [3, 5, 10, 30, 36, 50] {
        for system in SYSTEMS {
            // All right-hand sides are there at once.
            let budget = memory(&file, (host, 3), q * n, false);
            let (_, passes) = solved(dev, &file, system, n, &b, budget).unwrap();
            assert_eq!(passes.chunks, 1);
            let kept = (host as usize).min(all);
            let want = match system {
                System::Both if dev.is_host() => 2 * all - kept,
                // What the device keeps need not be kept here.
                System::Both => passes.traffic.loaded.min(2 * all - kept),
                _ => all,
            };
            assert_eq!(passes.traffic.loaded, want, "{host} {system:?}");
            let sent = if system == System::Both {
                2 * all - 3
            } else {
                all
            };
            assert_eq!(passes.traffic.sent, if dev.is_host() { 0 } else { sent });
        }
    }
    if !dev.is_host() {
        // Many chunks; the host keeps all.
        let budget = memory(&file, (50, 3), n, false);
        let (_, passes) = solved(dev, &file, System::Both, n, &b, budget).unwrap();
        assert!(passes.chunks > 3);
        assert_eq!(passes.traffic.loaded, all);
        assert!(passes.traffic.sent > all * passes.chunks);
    }
}

/// In double precision, by substitution.
fn inverse_diagonal_of<T: Scalar>(r: &Host<T>) -> Vec<f64> {
    let n = r.rows;
    let column = |j: usize| {
        let mut y = vec![0.0; n];
        for i in j..n {
            let b = if i == j { 1.0 } else { 0.0 };
            let sum: f64 = (j..i).map(|k| r.at(k, i) * y[k]).sum();
            y[i] = (b - sum) / r.at(i, i);
        }
        y.iter().map(|y| y * y).sum()
    };
    (0..n).map(column).collect()
}

fn diagonals_of_inverses<T: Scalar, D: TileMachine<T>>(dev: &D) {
    let tile = 32;
    for n in [1, 2, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7] {
        let r = triangle::<T>(n);
        let place = Place::new("tile-solve");
        let file = written(&place, &r, tile);
        let want = inverse_diagonal_of(&r);
        for (room, columns) in [(MUCH, n), ((3, 3), 1), ((3, 3), 5), ((4, 6), 50)] {
            let budget = memory(&file, room, columns * n, dev.is_host());
            let mut out = vec![f64::NAN; n];
            let before = file.moved().0;
            let factor = Factor::new(&file, n).unwrap();
            let passes = inverse_diagonal(dev, &factor, &mut out, budget).unwrap();
            let read = file.moved().0 - before;
            assert_eq!(read, passes.traffic.loaded as u64 * passes.tile_bytes);
            for (got, want) in out.iter().zip(&want) {
                let error = (got - want).abs() / want;
                let most = residual::BACKWARD * n as f64 * T::EPS;
                assert!(error <= most, "{n} {room:?} {columns}: {error}");
            }
            let count = factor.count();
            let all = count * (count + 1) / 2;
            if room == MUCH {
                assert_eq!(passes.chunks, 1);
                assert_eq!(passes.traffic.loaded, all);
            } else if columns < 6 && n > 3 * tile {
                assert!(passes.chunks > 3, "{n} {columns} {}", passes.chunks);
                assert!(!dev.is_host() || passes.traffic.loaded > all);
                assert!(dev.is_host() || passes.traffic.sent > all);
            }
        }
        let d = Factor::new(&file, n).unwrap().diagonal().unwrap();
        assert!((0..n).all(|i| d[i].into() == r.at(i, i)));
    }
    let place = Place::new("tile-solve");
    let file = written(&place, &triangle::<T>(7), 4);
    let factor = Factor::new(&file, 0).unwrap();
    let budget = memory(&file, MUCH, 0, true);
    inverse_diagonal(dev, &factor, &mut [], budget).unwrap();
}

fn a_zero_on_the_diagonal_is_told<T: Scalar, D: TileMachine<T>>(dev: &D) {
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

fn nan_and_infinity_propagate<T: Scalar, D: TileMachine<T>>(dev: &D) {
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

fn what_is_no_factor_is_refused<T: Scalar, D: TileMachine<T>>(dev: &D) {
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
    for (room, which) in &short[..if dev.is_host() { 1 } else { 2 }] {
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

fn the_user_may_stop_it<T: Scalar, D: TileMachine<T>>(dev: &D) {
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

/// The same with a device whose memory is its own, wherever the tests run.
mod apart {
    use super::common::apart::Apart;

    macro_rules! each {
        ($($body:ident),* $(,)?) => {$(
            #[test]
            fn $body() {
                super::$body(&Apart::<f64>::new());
                super::$body(&Apart::<f32>::new());
            }
        )*};
    }

    each!(
        systems_of_every_size,
        leading_parts,
        tiles_are_read_as_seldom_as_memory_allows,
        diagonals_of_inverses,
        a_zero_on_the_diagonal_is_told,
        nan_and_infinity_propagate,
        what_is_no_factor_is_refused,
        the_user_may_stop_it,
    );
}

#[test]
fn a_device_keeps_to_its_memory() {
    let (n, tile, q) = (200, 32, 40);
    let dev = Apart::<f64>::new();
    let place = Place::new("tile-solve");
    let file = written(&place, &triangle::<f64>(n), tile);
    let b = matrices::random::<f64>(n, q, 3);
    for (tiles, columns) in [(3, 1), (4, 7), (8, 3), (3, 70), (100, 40)] {
        let budget = memory(&file, (4, tiles), columns * n, false);
        dev.most_bytes();
        solved(&dev, &file, System::Both, n, &b, budget).unwrap();
        assert!(dev.most_bytes() as u64 <= budget.device);
        let factor = Factor::new(&file, n).unwrap();
        inverse_diagonal(&dev, &factor, &mut vec![0.0; n], budget).unwrap();
        assert!(dev.most_bytes() as u64 <= budget.device);
    }
}

for_each_device!(
    systems_of_every_size,
    leading_parts,
    tiles_are_read_as_seldom_as_memory_allows,
    diagonals_of_inverses,
    a_zero_on_the_diagonal_is_told,
    nan_and_infinity_propagate,
    what_is_no_factor_is_refused,
    the_user_may_stop_it,
);
