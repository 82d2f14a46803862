//! Cholesky factorization of files of tiles, with more memory than is needed and with hardly any.

use crate::common::place::Place;
use crate::common::triangle_file::upper_triangle;
use crate::common::{for_each_device, matrices, residual, Host};
use cudafactor::algo::tiled::cholesky_file::{factor_files, Budget, Files, Report};
use cudafactor::base::error::{Error, Result};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::{Access, Buffer, Layout, Shape, State, TileFile};

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
        let (rows, cols) = layout.extent(bi, bj);
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
    assert_eq!(poor.room.host, 20);
    let on_device = if dev.is_host() { vec![] } else { vec![10] };
    assert_eq!(poor.room.devices, on_device);
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
        // A file with a matrix of its own is no second one, whatever has become of it.
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

fn what_was_interrupted_goes_on<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    goes_on::<T, D>(alone(dev));
}

/// On more of the devices each time, and on one again.
fn goes_on<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
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

fn too_little_memory_is_refused<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let a = positive::<T>(40);
    let short = [((2, 9), "host_memory"), ((9, 2), "gpu_memory")];
    for (room, argument) in &short[..if dev.is_host() { 1 } else { 2 }] {
        let failed = in_place(dev, &a, 16, *room).unwrap_err();
        let is = matches!(failed, Error::Argument { argument: which, .. } if which == *argument);
        assert!(is, "{failed:?}");
    }
}

for_each_device!(
    factors_of_every_size,
    little_room_means_more_copies,
    minors_that_are_not_positive,
    a_second_file_leaves_the_first_alone,
    a_second_file_is_for_one_matrix,
    what_was_interrupted_goes_on,
    too_little_memory_is_refused,
);

/// What one device makes, several make, bit for bit; in any memory.
fn several_make_what_one_makes<T: Scalar, D: AsyncCopy<T>>(devs: [D; 3], one: &D) {
    for tile in [16, 40] {
        for n in [1, tile, tile + 1, 4 * tile, 9 * tile + 5] {
            let a = positive::<T>(n);
            let (r, _) = in_place(one, &a, tile, (1000, 1000)).unwrap();
            for count in 1..=devs.len() {
                for room in [(1000, 1000), (3, 3), (5, 8), (30, 6)] {
                    let (s, report) = in_place_on(&devs[..count], &a, tile, room).unwrap();
                    assert!(crate::common::same(&r, &s), "{n} {tile} {count} {room:?}");
                    assert_eq!(report.room.devices.len(), count);
                    assert!(report.traffic.sent >= report.traffic.stored);
                }
            }
            let mut bad = a.clone();
            bad.set(n - 1, n - 1, -1.0);
            for count in 1..=devs.len() {
                let failed = in_place_on(&devs[..count], &bad, tile, (12, 5)).err();
                assert_eq!(failed, Some(Error::NotPositiveDefinite { order: n }));
            }
        }
    }
}

mod several_make_what_one_makes {
    #[test]
    fn cpus_apart() {
        use cudafactor::backend::cpu::CpuDevice;
        let reached = [(); 3].map(|()| CpuDevice::with_separate_memory(1));
        super::goes_on::<f64, _>(&reached);
        super::several_make_what_one_makes::<f64, _>(reached, &CpuDevice::new(1));
        let unreached = [(); 3].map(|()| CpuDevice::without_peer_access(1));
        super::several_make_what_one_makes::<f32, _>(unreached, &CpuDevice::new(1));
    }

    /// The first GPU takes every part where there are no others.
    #[cfg(feature = "cuda")]
    #[test]
    fn gpus() {
        use cudafactor::backend::cuda::CudaDevice;
        if let Some(gpu) = crate::common::gpu() {
            let devs = [0, 1, 2].map(|d| CudaDevice::open(d).unwrap_or(gpu));
            super::several_make_what_one_makes::<f64, _>(devs, &gpu);
            super::several_make_what_one_makes::<f32, _>(devs, &gpu);
        }
    }
}
