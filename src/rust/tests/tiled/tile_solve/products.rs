//! Products with a matrix in a file, and how often its tiles are read.

use super::MUCH;
use crate::common::place::Place;
use crate::common::{matrices, residual, same, Host};
use cudafactor::algo::tiled::memory::Budget;
use cudafactor::algo::tiled::product::{multiply, Stored};
use cudafactor::algo::tiled::solve::Passes;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::interrupt;
use cudafactor::base::matrix::Trans;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::{Layout, Shape, State, TileFile};
use faer::{Mat, MatRef};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Whole,
    Symmetric,
    Factor,
}

const KINDS: [Kind; 3] = [Kind::Whole, Kind::Symmetric, Kind::Factor];
const OPS: [Trans; 2] = [Trans::No, Trans::Yes];

/// A matrix of this kind.
fn matrix<T: Scalar>(kind: Kind, rows: usize, cols: usize) -> Host<T> {
    let a = matrices::random::<T>(rows, cols, 5);
    Host::from_fn(rows, cols, |i, j| match kind {
        Kind::Whole => a.at(i, j),
        Kind::Symmetric => a.at(i.min(j), i.max(j)),
        Kind::Factor if i > j => 0.0,
        Kind::Factor => a.at(i, j),
    })
}

/// A file with it. What is not of the matrix, or not of the triangle, is NaN: nobody is to read it.
fn written<T: Scalar>(place: &Place, kind: Kind, a: &Host<T>, tile: usize) -> TileFile<T> {
    let whole = kind == Kind::Whole;
    let shape = if whole { Shape::Full } else { Shape::Triangle };
    let layout = Layout::new(a.rows, a.cols, tile, shape).unwrap();
    let file = TileFile::<T>::create(place, layout).unwrap();
    let mut buffer = file.buffer().unwrap();
    for k in 0..layout.tiles() {
        let (bi, bj) = layout.position(k);
        let (rows, cols) = layout.dimensions(bi, bj);
        buffer.fill(T::from_f64(f64::NAN));
        for j in 0..cols {
            for i in 0..rows {
                let (row, col) = (bi * tile + i, bj * tile + j);
                if whole || row <= col {
                    buffer[j * tile + i] = T::from_f64(a.at(row, col));
                }
            }
        }
        file.write(k, &buffer, 0).unwrap();
    }
    if kind == Kind::Factor {
        file.set_state(State::Factor).unwrap();
    }
    file
}

/// Memory for so many tiles, and on a device beside them for so many numbers.
fn memory<T: Scalar>(file: &TileFile<T>, (host, device): (u64, u64), numbers: usize) -> Budget {
    let each = file.buffer().unwrap().bytes().len() as u64;
    // What is computed with them takes two more, and parts at the edges at most three.
    let beside = 5 * each + (numbers * size_of::<T>()) as u64;
    Budget {
        host: host * each,
        device: device * each + beside,
    }
}

/// The product. What was read is what was planned.
fn times<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    file: &TileFile<T>,
    op: Trans,
    y: &Host<T>,
    budget: Budget,
) -> Result<(Host<T>, Passes)> {
    let x = Stored::new(file)?;
    let (rows, cols) = x.dimensions();
    let rows = if op == Trans::No { rows } else { cols };
    let mut out = Host::<T>::spread(rows, y.cols, 2, |_, _| f64::NAN);
    let before = file.moved().0;
    let passes = multiply(dev, &x, op, y.view(), out.view_mut(), budget)?;
    let read = file.moved().0 - before;
    assert_eq!(read, passes.traffic.loaded as u64 * passes.tile_bytes);
    out.assert_padding_untouched();
    Ok((out, passes))
}

fn turned(op: Trans, a: &Mat<f64>) -> MatRef<'_, f64> {
    match op {
        Trans::No => a.as_ref(),
        Trans::Yes => a.transpose(),
    }
}

fn products_of_every_size<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let tile = 48;
    let square = [1, 2, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7].map(|n| (n, n));
    let others = [(1, 100), (100, 1), (97, 200), (3, 5)];
    for (rows, cols) in square.into_iter().chain(others) {
        for kind in KINDS {
            if kind != Kind::Whole && rows != cols {
                continue;
            }
            let a = matrix::<T>(kind, rows, cols);
            let place = Place::new("tile-product");
            let file = written(&place, kind, &a, tile);
            let size = a.wide().map(|x| x.abs());
            for op in OPS {
                let inner = if op == Trans::No { cols } else { rows };
                for q in [0, 1, 65] {
                    let y = matrices::random::<T>(inner, q, 12).with_gap(3);
                    let want = residual::product(turned(op, &a.wide()), y.wide().as_ref());
                    let bound =
                        residual::product(turned(op, &size), y.wide().map(|x| x.abs()).as_ref());
                    let mut first = None;
                    for (room, columns) in [(MUCH, q), ((3, 3), 1), ((7, 5), 7)] {
                        let about = format!("{rows} x {cols} {kind:?} {op:?} {q} {room:?}");
                        let budget = memory(&file, room, columns * (rows + cols));
                        let (got, passes) = times(dev, &file, op, &y, budget).unwrap();
                        for j in 0..q {
                            for i in 0..want.nrows() {
                                let error = (got.at(i, j) - want[(i, j)]).abs();
                                let most = residual::PRODUCT * inner as f64 * T::EPS;
                                assert!(error <= most * bound[(i, j)], "{about}: {error}");
                            }
                        }
                        if !dev.has_own_memory() {
                            // However much room there is.
                            let first = first.get_or_insert_with(|| got.clone());
                            assert!(same(first, &got), "{about}");
                            assert_eq!(passes.chunks, usize::from(q > 0));
                        }
                    }
                }
            }
        }
    }
}

fn matrices_without_entries<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
        let place = Place::new("tile-product");
        let file = written(
            &place,
            Kind::Whole,
            &matrix::<T>(Kind::Whole, rows, cols),
            4,
        );
        for op in OPS {
            let inner = if op == Trans::No { cols } else { rows };
            let y = matrices::random::<T>(inner, 3, 12);
            let (got, _) = times(dev, &file, op, &y, memory(&file, MUCH, 100)).unwrap();
            let all = (0..got.rows).flat_map(|i| (0..3).map(move |j| (i, j)));
            assert!(all.into_iter().all(|(i, j)| got.at(i, j) == 0.0));
        }
    }
}

fn each_tile_is_read_once<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (count, tile, q) = (8, 32, 40);
    let n = count * tile;
    for kind in KINDS {
        let place = Place::new("tile-product");
        let file = written(&place, kind, &matrix::<T>(kind, n, n), tile);
        let all = file.layout().tiles();
        let y = matrices::random::<T>(n, q, 3);
        for host in [3, 50] {
            let budget = memory(&file, (host, 3), 2 * q * n);
            let (_, passes) = times(dev, &file, Trans::No, &y, budget).unwrap();
            assert_eq!(passes.chunks, 1);
            assert_eq!(passes.traffic.loaded, all);
            assert_eq!(
                passes.traffic.sent,
                if dev.has_own_memory() { all } else { 0 }
            );
            // Memory that is of no use is not taken.
            assert!(passes.slots.host <= 16);
        }
        if dev.has_own_memory() {
            // Many chunks; the host keeps all, or what it can.
            for (host, loaded) in [(all, all), (all / 2 + 1, 0)] {
                let budget = memory(&file, (host as u64, 3), 10 * n);
                let (_, passes) = times(dev, &file, Trans::Yes, &y, budget).unwrap();
                assert!(passes.chunks > 3);
                assert!(passes.traffic.sent > 2 * all);
                if loaded > 0 {
                    assert_eq!(passes.traffic.loaded, loaded);
                } else {
                    let again = passes.chunks * all;
                    assert!((all + 1..again).contains(&passes.traffic.loaded));
                }
            }
        }
    }
}

fn nan_and_infinity_propagate<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (n, tile) = (70, 16);
    let (row, col) = (20, 41);
    for kind in KINDS {
        for bad in [f64::NAN, f64::INFINITY] {
            let place = Place::new("tile-product");
            let file = written(&place, kind, &matrix::<T>(kind, n, n), tile);
            let budget = memory(&file, (3, 6), 6 * n);
            let mut y = matrices::random::<T>(n, 3, 3);
            y.set(row, 1, bad);
            for op in OPS {
                let (z, _) = times(dev, &file, op, &y, budget).unwrap();
                let finite = |i, j| z.at(i, j).is_finite();
                // Zeros of the factor are numbers, too.
                assert!((0..n).all(|i| finite(i, 0) && finite(i, 2) && !finite(i, 1)));
            }
            let mut a = matrix::<T>(kind, n, n);
            a.set(row, col, bad);
            if kind == Kind::Symmetric {
                a.set(col, row, bad);
            }
            let place = Place::new("tile-product");
            let file = written(&place, kind, &a, tile);
            let y = matrices::random::<T>(n, 3, 3);
            for op in OPS {
                let (z, _) = times(dev, &file, op, &y, budget).unwrap();
                let wrong = |i| match (kind, op) {
                    (Kind::Symmetric, _) => i == row || i == col,
                    (_, Trans::No) => i == row,
                    (_, Trans::Yes) => i == col,
                };
                assert!((0..n).all(|i| z.at(i, 0).is_finite() != wrong(i)));
            }
        }
    }
}

fn what_cannot_be_multiplied_is_refused<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let n = 40;
    let place = Place::new("tile-product");
    let file = written(
        &place,
        Kind::Symmetric,
        &matrix::<T>(Kind::Symmetric, n, n),
        16,
    );
    let y = matrices::random::<T>(n, 2, 3);
    for (room, which) in [((2, 9), "host_memory"), ((9, 0), "gpu_memory")] {
        if !dev.has_own_memory() && which == "gpu_memory" {
            continue;
        }
        let mut budget = memory(&file, room, 0);
        budget.device /= 2;
        let failed = times(dev, &file, Trans::No, &y, budget).unwrap_err();
        let is = matches!(failed, Error::Argument { argument, .. } if argument == which);
        assert!(is, "{failed:?}");
    }
    let short = matrices::random::<T>(n - 1, 2, 3);
    let failed = times(dev, &file, Trans::No, &short, memory(&file, MUCH, 9 * n));
    assert!(matches!(failed, Err(Error::Dimension { .. })));
    let npd = State::NotPositiveDefinite { order: 3 };
    for state in [State::Factoring, npd] {
        file.set_state(state).unwrap();
        let failed = Stored::new(&file).err();
        assert!(matches!(
            failed,
            Some(Error::Argument { argument: "x", .. })
        ));
    }
    // A tile that is missing.
    let place = Place::new("tile-product");
    let layout = Layout::new(n, n, 16, Shape::Full).unwrap();
    let file = TileFile::<T>::create(&place, layout).unwrap();
    let failed = times(dev, &file, Trans::No, &y, memory(&file, MUCH, 9 * n));
    assert!(matches!(failed, Err(Error::FileFormat { .. })));
}

fn the_user_may_stop_it<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let n = 400;
    let place = Place::new("tile-product");
    let file = written(
        &place,
        Kind::Symmetric,
        &matrix::<T>(Kind::Symmetric, n, n),
        16,
    );
    let y = matrices::random::<T>(n, 50, 3);
    let budget = memory(&file, (8, 8), 100 * n);
    std::thread::sleep(std::time::Duration::from_millis(60));
    interrupt::install(|| true);
    let stopped = times(dev, &file, Trans::No, &y, budget);
    interrupt::install(|| false);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    times(dev, &file, Trans::No, &y, budget).unwrap();
}

everywhere!(
    products_of_every_size,
    matrices_without_entries,
    each_tile_is_read_once,
    nan_and_infinity_propagate,
    what_cannot_be_multiplied_is_refused,
    the_user_may_stop_it,
);

#[test]
fn a_device_keeps_to_its_memory() {
    let q = 40;
    let dev = super::Apart::<f64>::new();
    for (rows, cols) in [(200, 200), (190, 70), (70, 190), (20, 300)] {
        let place = Place::new("tile-product");
        let a = matrix::<f64>(Kind::Whole, rows, cols);
        let file = written(&place, Kind::Whole, &a, 32);
        for op in OPS {
            let inner = if op == Trans::No { cols } else { rows };
            let y = matrices::random::<f64>(inner, q, 3);
            for (tiles, columns) in [(3, 1), (4, 7), (8, 3), (3, 70), (100, 40)] {
                let budget = memory(&file, (4, tiles), columns * (rows + cols));
                dev.most_bytes();
                times(&dev, &file, op, &y, budget).unwrap();
                assert!(dev.most_bytes() as u64 <= budget.device);
            }
        }
    }
}
