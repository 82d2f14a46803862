//! Triangular systems, and how often their tiles are read.

use super::{memory, solved, triangle, written, MUCH, SYSTEMS};
use crate::common::place::Place;
use crate::common::{matrices, residual, same, Host};
use cudafactor::algo::tiled::factor::Factor;
use cudafactor::algo::tiled::solve::System;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use faer::Mat;

fn matrix_of(system: System, r: &Mat<f64>) -> Mat<f64> {
    match system {
        System::Backward => r.clone(),
        System::Forward => r.transpose().to_owned(),
        System::Both => residual::product(r.transpose(), r.as_ref()),
    }
}

fn systems_of_every_size<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
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
                    if !dev.has_own_memory() {
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

fn leading_parts<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
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

fn tiles_are_read_as_seldom_as_memory_allows<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
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
                System::Both if !dev.has_own_memory() => 2 * all - kept,
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
            assert_eq!(
                passes.traffic.sent,
                if dev.has_own_memory() { sent } else { 0 }
            );
        }
    }
    if dev.has_own_memory() {
        // Many chunks; the host keeps all.
        let budget = memory(&file, (50, 3), n, false);
        let (_, passes) = solved(dev, &file, System::Both, n, &b, budget).unwrap();
        assert!(passes.chunks > 3);
        assert_eq!(passes.traffic.loaded, all);
        assert!(passes.traffic.sent > all * passes.chunks);
    }
}

everywhere!(
    systems_of_every_size,
    leading_parts,
    tiles_are_read_as_seldom_as_memory_allows,
);
