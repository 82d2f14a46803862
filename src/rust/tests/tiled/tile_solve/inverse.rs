//! The diagonal of the inverse.

use super::{memory, triangle, written, MUCH};
use crate::common::place::Place;
use crate::common::{residual, Host};
use cudafactor::algo::tiled::factor::Factor;
use cudafactor::algo::tiled::inverse::inverse_diagonal;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;

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

fn diagonals_of_inverses<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let tile = 32;
    for n in [1, 2, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7] {
        let r = triangle::<T>(n);
        let place = Place::new("tile-solve");
        let file = written(&place, &r, tile);
        let want = inverse_diagonal_of(&r);
        for (room, columns) in [(MUCH, n), ((3, 3), 1), ((3, 3), 5), ((4, 6), 50)] {
            let budget = memory(&file, room, columns * n, !dev.has_own_memory());
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
                assert!(dev.has_own_memory() || passes.traffic.loaded > all);
                assert!(!dev.has_own_memory() || passes.traffic.sent > all);
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

everywhere!(diagonals_of_inverses,);
