//! Copies of matrices and of their blocks that stay on the device.

use crate::common::{for_each_device, matrices, same, Host, SIZES};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Block, Part};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(copies, blocks_read, blocks_copied, blocks_outside);

fn read<T: Scalar, D: Device<T>>(device: &D, a: &D::Mat<'_>) -> Host<T> {
    let (rows, cols) = device.shape(a);
    let mut out = Host::from_fn(rows, cols, |_, _| f64::NAN);
    device.read(a, out.view_mut()).unwrap();
    out
}

/// NaN and infinities among the entries.
fn special<T: Scalar>(rows: usize, cols: usize) -> Host<T> {
    let a = matrices::random::<T>(rows, cols, 71);
    Host::from_fn(rows, cols, |i, j| match (i + 2 * j) % 11 {
        3 => f64::NAN,
        7 => f64::INFINITY,
        _ => a.at(i, j),
    })
}

fn copies<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES {
        for (rows, cols) in [(n, n), (n, 3), (2, n)] {
            let a = special::<T>(rows, cols);
            let from = device.load_temporary(a.view(), Part::All).unwrap();
            for part in [Part::All, Part::Upper, Part::Lower] {
                let mut copy = device.duplicate(&from, part).unwrap();
                let expected = Host::from_fn(rows, cols, |i, j| match part {
                    Part::Upper if i > j => 0.0,
                    Part::Lower if i < j => 0.0,
                    _ => a.at(i, j),
                });
                assert!(
                    same(&read(device, &copy), &expected),
                    "{rows} x {cols}, {part:?}"
                );
                device.set_identity(&mut copy).unwrap();
            }
            assert!(
                same(&read(device, &from), &a),
                "{rows} x {cols}: the original"
            );
        }
    }
}

/// Blocks of an m x n matrix: its corners, all of it, nothing.
fn parts(m: usize, n: usize) -> Vec<Block> {
    let block = |row, col, rows, cols| Block {
        row,
        col,
        rows,
        cols,
    };
    let (h, w) = (m.min(6), n.min(5));
    vec![
        block(0, 0, m, n),
        block(0, 0, h, w),
        block(m - h, n - w, h, w),
        block(m / 2, 0, m - m / 2, n),
        block(0, n / 2, m, n - n / 2),
        block(m, n, 0, 0),
        block(0, n / 2, m, 0),
    ]
}

fn blocks_read<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [
        (0, 0),
        (0, 3),
        (3, 0),
        (1, 1),
        (33, 7),
        (128, 129),
        (257, 64),
    ] {
        let a = special::<T>(m, n);
        let from = device.load_temporary(a.view(), Part::All).unwrap();
        for b in parts(m, n) {
            let mut out = Host::spread(b.rows, b.cols, 2, |_, _| f64::NAN);
            device.read_block(&from, b, out.view_mut()).unwrap();
            out.assert_padding_untouched();
            let expected = Host::from_fn(b.rows, b.cols, |i, j| a.at(b.row + i, b.col + j));
            assert!(same(&out, &expected), "{m} x {n}: {b:?}");
        }
    }
}

fn blocks_copied<T: Scalar, D: Device<T>>(device: &D) {
    let (m, n) = (130, 70);
    let a = special::<T>(m, n);
    let from = device.load_temporary(a.view(), Part::All).unwrap();
    for b in parts(m, n) {
        for at in [(0, 0), (3, 1), (10, 20)] {
            let below = matrices::random::<T>(m + 10, n + 20, 72);
            let mut to = device.load_temporary(below.view(), Part::All).unwrap();
            device.copy_block(&from, b, &mut to, at).unwrap();
            let expected = Host::from_fn(m + 10, n + 20, |i, j| {
                let inside =
                    (at.0..at.0 + b.rows).contains(&i) && (at.1..at.1 + b.cols).contains(&j);
                if inside {
                    a.at(b.row + i - at.0, b.col + j - at.1)
                } else {
                    below.at(i, j)
                }
            });
            assert!(same(&read(device, &to), &expected), "{b:?} at {at:?}");
        }
    }
}

fn blocks_outside<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::random::<T>(4, 3, 73);
    let from = device.load_temporary(a.view(), Part::All).unwrap();
    let mut to = device.zeros(4, 3).unwrap();
    let b = |row, col, rows, cols| Block {
        row,
        col,
        rows,
        cols,
    };
    for block in [
        b(0, 0, 5, 1),
        b(1, 0, 4, 1),
        b(0, 3, 1, 1),
        b(usize::MAX, 0, 2, 1),
    ] {
        let mut out = Host::from_fn(block.rows, block.cols, |_, _| 0.0);
        let read = device.read_block(&from, block, out.view_mut());
        let copied = device.copy_block(&from, block, &mut to, (0, 0));
        assert!(matches!(read, Err(Error::Dimension { .. })), "{block:?}");
        assert!(matches!(copied, Err(Error::Dimension { .. })), "{block:?}");
    }
    let copied = device.copy_block(&from, b(0, 0, 2, 2), &mut to, (3, 0));
    assert!(matches!(copied, Err(Error::Dimension { .. })));
    let mut small = Host::from_fn(2, 2, |_, _| 0.0);
    let read = device.read_block(&from, b(0, 0, 2, 3), small.view_mut());
    assert!(matches!(read, Err(Error::Dimension { .. })));
}
