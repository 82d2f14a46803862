//! Cholesky factorization by tiles of a matrix in host memory, by one device and by several.

use crate::common::{matrices, residual, same, Host};
use cudafactor::algo::tiled::cholesky_host::{
    factor, factor_by_tiles, factor_staying, factor_staying_by, DevicePool,
};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;

/// The factor, in a place that was full of something else.
fn by_tiles<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    a: &Host<T>,
    tiles: f64,
    gap: usize,
) -> Result<Host<T>> {
    let mut r = Host::<T>::from_fn(a.rows, a.cols, |_, _| 7e30).with_gap(gap);
    // The smallest tiles have 128 rows.
    let memory = tiles * (128 * 128 * size_of::<T>()) as f64;
    factor_by_tiles(devs, memory, a.view(), r.view_mut())?;
    Ok(r)
}

fn makes_the_factor<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
    for n in [0, 1, 127, 128, 129, 400, 1001] {
        for (kind, a) in matrices::positive::<T>(n) {
            let half = Host::from_fn(n, n, |i, j| if i <= j { a.at(i, j) } else { f64::NAN });
            let mut first: Option<Host<T>> = None;
            for (count, tiles, gap) in [(1, 5.0, 0), (2, 5.0, 3), (3, 9.0, 0), (1, 16.0, 0)] {
                let before = half.with_gap(gap);
                let r = by_tiles(&devs[..count], &before, tiles, gap).unwrap();
                assert!(same(&before, &half), "{kind} {n}: the matrix was changed");
                let error = residual::cholesky(&a, &r);
                assert!(error < residual::BACKWARD, "{kind} {n}: {error}");
                for j in 0..n {
                    assert!((j + 1..n).all(|i| r.at(i, j) == 0.0), "{kind} {n}");
                }
                let first = first.get_or_insert_with(|| r.clone());
                assert!(same(first, &r), "{kind} {n} {count} {tiles}");
            }
        }
    }
}

fn tells_the_order<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
    // Of ten columns of tiles each device has some, and is at work when another fails.
    let n = 1250;
    for order in [1, 128, 129, 300, 500, 700, 900, 1000, 1250] {
        let mut a = Host::<T>::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        a.set(
            order - 1,
            order - 1,
            if order == 300 { f64::NAN } else { -1.0 },
        );
        for count in 1..=devs.len() {
            let failed = by_tiles(&devs[..count], &a, 6.0, 0).err();
            assert_eq!(failed, Some(Error::NotPositiveDefinite { order }));
        }
    }
}

fn too_little_is_too_little<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
    let a = Host::<T>::from_fn(300, 300, |i, j| f64::from(u8::from(i == j)));
    let failed = by_tiles(devs, &a, 4.9, 0).err();
    assert!(matches!(failed, Some(Error::Argument { .. })), "{failed:?}");
}

/// Where memory is limited tiles are taken, and the whole matrix where it is not.
fn goes_by_tiles_where_it_must<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let n = 700;
    let a = matrices::positive::<T>(n).remove(0).1;
    let make = |memory: f64| {
        let mut r = Host::<T>::from_fn(n, n, |_, _| 7e30);
        let means = DevicePool {
            devices: Box::new(|| vec![0]),
            together: false,
            memory,
        };
        factor(dev, &means, a.view(), r.view_mut()).map(|()| r)
    };
    for memory in [f64::INFINITY, 1e6] {
        let r = make(memory).unwrap();
        let error = residual::cholesky(&a, &r);
        assert!(error < residual::BACKWARD, "{memory}: {error}");
        assert!((1..n).all(|i| r.at(i, i - 1) == 0.0));
    }
    let failed = make(1e4).err();
    assert_eq!(failed.is_some(), dev.has_own_memory());
}

/// Tiles of more than four megabytes come to three devices strip by strip; the last strip is a
/// narrow one.
fn comes_in_strips<T: Scalar, D: AsyncCopy<T>>(devs: &[D], tile: usize) {
    let n = 2 * tile + 100;
    let a = matrices::positive::<T>(n).remove(0).1;
    let mut first: Option<Host<T>> = None;
    for count in 1..=devs.len() {
        let made = factor_staying(&devs[..count], f64::INFINITY, tile, a.view()).unwrap();
        let mut r = Host::<T>::from_fn(n, n, |_, _| 0.0);
        for stayed in &made {
            let mut found = Host::<T>::from_fn(tile, tile, |_, _| 7e30);
            let dev = &devs[stayed.device];
            dev.read(&stayed.matrix, found.view_mut()).unwrap();
            let (i, j) = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)][stayed.tile];
            let inside = (0..tile).flat_map(|l| (0..tile).map(move |k| (k, l)));
            for (k, l) in inside {
                let (row, col) = (i * tile + k, j * tile + l);
                if row <= col && col < n {
                    r.set(row, col, found.at(k, l));
                }
            }
        }
        let error = residual::cholesky(&a, &r);
        assert!(error < residual::BACKWARD, "{count}: {error}");
        assert!(same(first.get_or_insert_with(|| r.clone()), &r), "{count}");
    }
}

/// Tiles that stay on their devices are those of the factor, bit for bit, and each is there once.
fn stays_where_it_is_made<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
    let tile = 128;
    for n in [0, 1, 127, 128, 129, 640, 1001] {
        let a = matrices::positive::<T>(n).remove(0).1;
        let r = by_tiles(&devs[..1], &a, 1000.0, 0).unwrap();
        for count in 1..=devs.len() {
            let tile = tile.min(n.max(1));
            let made = factor_staying(&devs[..count], f64::INFINITY, tile, a.view()).unwrap();
            let rows = n.div_ceil(tile);
            let mut seen = vec![false; rows * (rows + 1) / 2];
            for stayed in &made {
                assert!(!std::mem::replace(&mut seen[stayed.tile], true));
                let mut found = Host::<T>::from_fn(tile, tile, |_, _| 7e30);
                let dev = &devs[stayed.device];
                dev.read(&stayed.matrix, found.view_mut()).unwrap();
                let j = (0..rows)
                    .find(|j| (j + 1) * (j + 2) / 2 > stayed.tile)
                    .unwrap();
                let i = stayed.tile - j * (j + 1) / 2;
                for (k, l) in (0..tile).flat_map(|l| (0..tile).map(move |k| (k, l))) {
                    let (row, col) = (i * tile + k, j * tile + l);
                    if row <= col && col < n {
                        assert_eq!(found.at(k, l), r.at(row, col), "{n} {count}: {row} {col}");
                    } else if row <= col {
                        assert_eq!(
                            found.at(k, l),
                            f64::from(u8::from(row == col)),
                            "{n}: {row} {col}"
                        );
                    }
                }
            }
            assert!(seen.iter().all(|seen| *seen), "{n} {count}");
            if count > 1 && n > tile {
                assert!(made.iter().any(|stayed| stayed.device == 1));
            }
        }
    }
    let bad = Host::<T>::from_fn(300, 300, |i, j| f64::from(u8::from(i == j && i != 200)));
    let failed = factor_staying(devs, f64::INFINITY, tile, bad.view()).err();
    assert_eq!(failed, Some(Error::NotPositiveDefinite { order: 201 }));
    // Room for a part of it.
    let memory = 8.0 * (tile * tile * size_of::<T>()) as f64;
    let a = matrices::positive::<T>(1001).remove(0).1;
    let failed = factor_staying(devs, memory, tile, a.view()).err();
    assert!(matches!(
        failed,
        Some(Error::Argument {
            argument: "devices",
            ..
        })
    ));
}

/// Devices that exchange no memory cannot. By default the first one works alone then; devices
/// that the user names must work together.
fn does_not_stay_out_of_reach<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) {
    let a = matrices::positive::<T>(300).remove(0).1;
    let failed = factor_staying(devs, f64::INFINITY, 128, a.view()).err();
    assert!(matches!(
        failed,
        Some(Error::Argument {
            argument: "devices",
            ..
        })
    ));
    assert!(factor_staying(&devs[..1], f64::INFINITY, 128, a.view()).is_ok());
    let by = |together| {
        let means = DevicePool {
            devices: Box::new(|| vec![0, 1, 2]),
            together,
            memory: f64::INFINITY,
        };
        factor_staying_by(&devs[0], &means, 128, a.view()).map(|(devs, made)| (devs.len(), made))
    };
    let (count, made) = by(false).unwrap();
    assert_eq!((count, made.len()), (1, 6));
    assert!(by(true).is_err());
}

fn all<T: Scalar, D: AsyncCopy<T>>(devs: [D; 3]) {
    makes_the_factor::<T, D>(&devs);
    tells_the_order::<T, D>(&devs);
    too_little_is_too_little::<T, D>(&devs);
    goes_by_tiles_where_it_must::<T, D>(&devs[0]);
}

#[test]
fn cpus_apart() {
    stays_where_it_is_made::<f64, _>(&[(); 3].map(|()| CpuDevice::with_separate_memory(1)));
    comes_in_strips::<f64, _>(&[(); 3].map(|()| CpuDevice::with_separate_memory(1)), 750);
    does_not_stay_out_of_reach::<f32, _>(&[(); 3].map(|()| CpuDevice::without_peer_access(1)));
    all::<f64, _>([(); 3].map(|()| CpuDevice::with_separate_memory(1)));
    all::<f32, _>([(); 3].map(|()| CpuDevice::without_peer_access(1)));
}

#[test]
fn a_cpu_has_its_memory() {
    goes_by_tiles_where_it_must::<f64, _>(&CpuDevice::new(2));
}

/// The first GPU takes every part where there are no others.
#[cfg(feature = "cuda")]
#[test]
fn gpus() {
    use cudafactor::backend::cuda::CudaDevice;
    if let Some(gpu) = crate::common::gpu() {
        let devs = [0, 1, 2].map(|d| CudaDevice::open(d).unwrap_or(gpu));
        stays_where_it_is_made::<f64, _>(&devs);
        stays_where_it_is_made::<f32, _>(&devs);
        comes_in_strips::<f64, _>(&devs, 750);
        comes_in_strips::<f32, _>(&devs, 1050);
        all::<f64, _>(devs);
        all::<f32, _>(devs);
    }
}
