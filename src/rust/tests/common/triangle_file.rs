//! What a file of one triangle holds.

use cudafactor::base::scalar::Scalar;
use cudafactor::tiles::TileFile;

use super::Host;

/// The upper triangle that a file holds; zero elsewhere.
pub fn upper_triangle<T: Scalar>(file: &TileFile<T>) -> Host<T> {
    let layout = *file.layout();
    let mut r = Host::<T>::from_fn(layout.rows(), layout.rows(), |_, _| 0.0);
    let mut buffer = file.buffer().unwrap();
    for k in 0..layout.tiles() {
        let (bi, bj) = layout.position(k);
        let (rows, cols) = layout.dimensions(bi, bj);
        file.read(k, &mut buffer).unwrap();
        for j in 0..cols {
            for i in 0..rows {
                let (row, col) = (bi * layout.tile() + i, bj * layout.tile() + j);
                if row <= col {
                    r.set(row, col, buffer[j * layout.tile() + i].into());
                }
            }
        }
    }
    r
}
