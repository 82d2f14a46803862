//! Cholesky factorization of files of tiles, with more memory than is needed and with hardly any.

mod interrupted;
mod second_file;
mod several_devices;

use crate::common::place::Place;
use crate::common::triangle_file::upper_triangle;
use crate::common::{for_each_device, matrices, residual, Host};
use cudafactor::algo::tiled::cholesky_file::{factor_files, Budget, Files, Report};
use cudafactor::base::error::{Error, Result};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::{Access, Layout, Shape, State, TileFile};

fn layout(n: usize, tile: usize) -> Layout {
    Layout::new(n, n, tile, Shape::Triangle).unwrap()
}

/// The upper triangle of `a` in a new file. What lies below the diagonal is not zero: nobody is to
/// read it.
pub fn written<T: Scalar>(place: &Place, a: &Host<T>, tile: usize) -> TileFile<T> {
    let layout = layout(a.rows, tile);
    let file = TileFile::<T>::create(place, layout).unwrap();
    let mut buffer = file.buffer().unwrap();
    for k in 0..layout.tiles() {
        let (bi, bj) = layout.position(k);
        let (rows, cols) = layout.dimensions(bi, bj);
        buffer.fill(T::from_f64(0.0));
        for j in 0..cols {
            for i in 0..rows {
                let (r, c) = (bi * tile + i, bj * tile + j);
                buffer[j * tile + i] = T::from_f64(if r <= c { a.at(r, c) } else { 7e30 });
            }
        }
        file.write(k, &buffer, 0).unwrap();
    }
    file.commit().unwrap();
    file
}

fn alone<D>(dev: &D) -> &[D] {
    std::slice::from_ref(dev)
}

/// Memory for so many tiles.
fn tiles<T: Scalar>(file: &TileFile<T>, host: u64, device: u64) -> Budget {
    let each = file.buffer().unwrap().bytes().len() as u64;
    Budget {
        host: host * each,
        // What is computed with them takes two more.
        devices: vec![(device + 2) * each],
        speeds: vec![1.0],
    }
}

/// Of several devices, each faster than the one before.
fn tiles_on<T: Scalar>(count: usize, file: &TileFile<T>, host: u64, device: u64) -> Budget {
    let one = tiles(file, host, device);
    Budget {
        devices: vec![one.devices[0]; count],
        speeds: (1..=count).map(|d| d as f64).collect(),
        ..one
    }
}

fn in_place<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    a: &Host<T>,
    tile: usize,
    (host, device): (u64, u64),
) -> Result<(Host<T>, Report)> {
    in_place_on(alone(dev), a, tile, (host, device))
}

/// On several devices of the same kind, each with as much memory.
fn in_place_on<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    a: &Host<T>,
    tile: usize,
    (host, device): (u64, u64),
) -> Result<(Host<T>, Report)> {
    let place = Place::new("cholesky-file");
    let file = written(&place, a, tile);
    let files = Files::new(None, &file);
    let before = file.moved();
    let budget = tiles_on(devs.len(), &file, host, device);
    let report = factor_files(devs, &files, &budget, false)?;
    assert_eq!(file.state(), State::Factor);
    let after = file.moved();
    assert_eq!(
        after.0 - before.0,
        report.traffic.loaded as u64 * report.tile_bytes
    );
    assert_eq!(
        after.1 - before.1,
        report.traffic.stored as u64 * report.tile_bytes
    );
    // Another look, at what is durable.
    drop(file);
    let file = TileFile::<T>::open(&place, Access::Read).unwrap();
    Ok((upper_triangle(&file), report))
}

pub fn positive<T: Scalar>(n: usize) -> Host<T> {
    let x = matrices::random::<T>(n, n, 5);
    let wide = x.wide();
    let s = wide.transpose() * &wide;
    Host::from_fn(n, n, |i, j| s[(i, j)] + if i == j { n as f64 } else { 0.0 })
}

fn factors_of_every_size<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    for tile in [32, 96] {
        for n in [1, 2, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7] {
            let a = positive::<T>(n);
            let mut first = None;
            for room in [(1000, 1000), (3, 3), (4, 3), (7, 5), (12, 20)] {
                let (r, _) = in_place(dev, &a, tile, room).unwrap();
                let error = residual::cholesky(&a, &r);
                assert!(error < residual::BACKWARD, "{n} {tile} {room:?}: {error}");
                // However much room there is.
                let first = first.get_or_insert_with(|| r.clone());
                assert!(crate::common::same(first, &r), "{n} {tile} {room:?}");
            }
        }
    }
}

fn little_room_means_more_copies<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (count, tile) = (12, 16);
    let a = positive::<T>(count * tile);
    let all = count * (count + 1) / 2;
    let (_, rich) = in_place(dev, &a, tile, (1000, 1000)).unwrap();
    assert_eq!((rich.traffic.loaded, rich.traffic.stored), (all, all));
    let (_, poor) = in_place(dev, &a, tile, (20, 10)).unwrap();
    assert!(poor.traffic.loaded > all);
    assert_eq!(poor.slots.host, 20);
    let on_device = if dev.has_own_memory() {
        vec![10]
    } else {
        vec![]
    };
    assert_eq!(poor.slots.devices, on_device);
}

fn minors_that_are_not_positive<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (n, tile) = (150, 32);
    for order in [1, 2, 32, 33, 100, 150] {
        let mut a = positive::<T>(n);
        let bad = a.at(order - 1, order - 1);
        a.set(order - 1, order - 1, -bad);
        for room in [(1000, 1000), (5, 4)] {
            let place = Place::new("cholesky-file");
            let file = written(&place, &a, tile);
            let files = Files::new(None, &file);
            let budget = tiles(&file, room.0, room.1);
            let failed = factor_files(alone(dev), &files, &budget, false).unwrap_err();
            assert_eq!(failed, Error::NotPositiveDefinite { order });
            let order = order as u64;
            assert_eq!(file.state(), State::NotPositiveDefinite { order });
            // And again.
            let failed = factor_files(alone(dev), &files, &budget, true).unwrap_err();
            assert!(matches!(failed, Error::NotPositiveDefinite { .. }));
        }
    }
}

fn too_little_memory_is_refused<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let a = positive::<T>(40);
    let short = [((2, 9), "host_memory"), ((9, 2), "gpu_memory")];
    for (room, argument) in &short[..if dev.has_own_memory() { 2 } else { 1 }] {
        let failed = in_place(dev, &a, 16, *room).unwrap_err();
        let is = matches!(failed, Error::Argument { argument: which, .. } if which == *argument);
        assert!(is, "{failed:?}");
    }
}

for_each_device!(
    factors_of_every_size,
    little_room_means_more_copies,
    minors_that_are_not_positive,
    too_little_memory_is_refused,
);
