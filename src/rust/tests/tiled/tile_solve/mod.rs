//! What streams through a file of tiles: products with what it holds, and with a factor triangular
//! systems and the diagonal of the inverse, with more memory than is needed and with hardly any.

use crate::common::apart::Apart;
use crate::common::place::Place;
use crate::common::{matrices, Host};
use cudafactor::algo::tiled::factor::Factor;
use cudafactor::algo::tiled::inverse::inverse_diagonal;
use cudafactor::algo::tiled::memory::Budget;
use cudafactor::algo::tiled::solve::{solve, Passes, System};
use cudafactor::base::error::Result;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::tiles::{Layout, Shape, State, TileFile};

/// Tests of these functions on each device there is, and on one whose memory is its own wherever
/// the tests run.
macro_rules! everywhere {
    ($($body:ident),* $(,)?) => {
        crate::common::for_each_device!($($body),*);
        mod apart {
            use crate::common::apart::Apart;
            $(
                #[test]
                fn $body() {
                    super::$body(&Apart::<f64>::new());
                    super::$body(&Apart::<f32>::new());
                }
            )*
        }
    };
}

mod inverse;
mod products;
mod refused;
mod systems;
mod tasks;
mod updates;

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
        let (rows, cols) = layout.dimensions(bi, bj);
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

/// Memory for so many tiles, and for so many numbers beside those on a device, or beside those of
/// the host where that computes.
fn memory<T: Scalar>(
    file: &TileFile<T>,
    (host, device): (u64, u64),
    numbers: usize,
    in_host: bool,
) -> Budget {
    let each = file.buffer().unwrap().bytes().len() as u64;
    let beside = (numbers * size_of::<T>()) as u64;
    let layout = file.layout();
    let last = layout.dimensions(0, layout.block_cols() - 1).1;
    // The parts of the last column of tiles.
    let edges = ((layout.tile() + last) * last * size_of::<T>()) as u64;
    let ragged = layout.rows() % layout.tile() != 0;
    Budget {
        host: host * each + if in_host { beside } else { 0 },
        // What is computed with them takes two more.
        device: (device + 2) * each + beside + if ragged { edges } else { 0 },
    }
}

const MUCH: (u64, u64) = (1000, 1000);

/// The solution. What was read is what was planned.
fn solved<T: Scalar, D: AsyncCopy<T>>(
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
