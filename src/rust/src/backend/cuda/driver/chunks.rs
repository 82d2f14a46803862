//! Splits a matrix into chunks, each of which fits one slot of staging memory.

use std::mem::size_of;

use crate::base::matrix::Part;
use crate::base::scalar::Scalar;

/// A matrix on the host and the contiguous column-major matrix on the device that is its copy.
#[derive(Clone, Copy)]
pub(crate) struct HostDevicePair<T> {
    pub host: *mut T,
    /// Elements from column to column on the host; rows are adjacent.
    pub pitch: usize,
    pub device: u64,
    pub rows: usize,
    pub cols: usize,
    /// Columns of a larger matrix to the left of these. Its diagonal is that many rows lower here.
    pub left: usize,
}

/// A rectangle: `columns` columns of `width` bytes, packed in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyChunk {
    /// Address of its first byte on the host, and bytes from column to column there.
    pub host: usize,
    pub pitch: usize,
    pub device: u64,
    pub device_pitch: usize,
    pub width: usize,
    pub columns: usize,
    /// For a chunk of an upper triangle: the bytes of its first column that belong to the triangle,
    /// those of an element, and those of a whole column. Each later column has an element more. The
    /// rest of the columns is zero.
    pub triangle: Option<Triangle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Triangle {
    pub first: usize,
    pub element: usize,
    pub whole: usize,
}

impl CopyChunk {
    pub(crate) fn bytes(&self) -> usize {
        self.width * self.columns
    }

    /// Whether it is contiguous on the device.
    pub(crate) fn is_run(&self) -> bool {
        self.device_pitch == self.width || self.columns == 1
    }
}

/// Shorter columns are copied whole, which takes less time than copies of their parts in a
/// triangle.
const TALL: usize = 32 << 10;

/// Copies shorter than this are not worth a separate thread.
const LEAST: usize = 512 << 10;

/// The best size of a chunk of `bytes` bytes, and the number of threads, at most `workers`. Each
/// thread gets some chunks, none longer than a slot.
pub(crate) fn cut(bytes: usize, workers: usize, slot: usize) -> (usize, usize) {
    let threads = (bytes / (2 * LEAST)).clamp(1, workers);
    let piece = (bytes / (2 * threads))
        .next_power_of_two()
        .clamp(LEAST, slot);
    (piece, threads)
}

impl<T: Scalar> HostDevicePair<T> {
    /// Columns `first..first + count`, which must exist.
    pub(crate) fn columns(self, first: usize, count: usize) -> Self {
        HostDevicePair {
            // Wrapping, since nothing is read here; the caller's columns exist.
            host: self.host.wrapping_add(first * self.pitch),
            device: self.device + (first * self.rows * size_of::<T>()) as u64,
            cols: count,
            left: self.left + first,
            ..self
        }
    }

    /// Whether only the entries of the upper triangle are copied.
    fn is_triangle(&self, part: Part) -> bool {
        part == Part::Upper && self.rows * size_of::<T>() >= TALL
    }

    /// Bytes that are copied.
    pub(crate) fn bytes(&self, part: Part) -> usize {
        let rows = match self.is_triangle(part) {
            true => self.rows.min(self.left + self.cols / 2),
            false => self.rows,
        };
        rows * self.cols * size_of::<T>()
    }

    /// Chunks of at most `most` bytes, in order of columns. For `Part::Upper` only those of the
    /// upper triangle.
    pub(crate) fn pieces(self, part: Part, most: usize) -> Vec<CopyChunk> {
        let size = size_of::<T>();
        let column = self.rows * size;
        if self.rows == 0 || self.cols == 0 {
            return Vec::new();
        }
        if self.is_triangle(part) && column <= most {
            return self.of_triangle(most);
        }
        if self.pitch == self.rows || self.cols == 1 {
            return self.runs(self.host as usize, self.device, column * self.cols, most);
        }
        if column > most {
            let of_column = |j: usize| {
                let one = self.columns(j, 1);
                self.runs(one.host as usize, one.device, column, most)
            };
            return (0..self.cols).flat_map(of_column).collect();
        }
        let step = most / column;
        (0..self.cols)
            .step_by(step)
            .map(|j| self.rectangle(j, step.min(self.cols - j), self.rows))
            .collect()
    }

    /// Chunks of memory that is contiguous on both sides.
    fn runs(&self, host: usize, device: u64, bytes: usize, most: usize) -> Vec<CopyChunk> {
        // Chunks begin at pages of the host, so that no two threads touch the same one.
        let mut pieces = Vec::with_capacity(bytes / most + 2);
        let mut at = 0;
        while at < bytes {
            let width = (most - (host + at) % most).min(bytes - at);
            pieces.push(CopyChunk {
                host: host + at,
                pitch: width,
                device: device + at as u64,
                device_pitch: width,
                width,
                columns: 1,
                triangle: None,
            });
            at += width;
        }
        pieces
    }

    /// The first `rows` rows of some columns.
    fn rectangle(&self, first: usize, columns: usize, rows: usize) -> CopyChunk {
        let size = size_of::<T>();
        let at = self.columns(first, columns);
        CopyChunk {
            host: at.host as usize,
            pitch: self.pitch * size,
            device: at.device,
            device_pitch: self.rows * size,
            width: rows * size,
            columns,
            triangle: None,
        }
    }

    fn of_triangle(&self, most: usize) -> Vec<CopyChunk> {
        let size = size_of::<T>();
        // Entries in the triangle of the last of the first j columns.
        let height = |j: usize| self.rows.min(self.left + j);
        let mut pieces = Vec::new();
        let mut j = 0;
        while j < self.cols {
            // As many columns as fit a slot at the height of the last of them.
            let mut columns = 1;
            while j + columns < self.cols && (columns + 1) * height(j + columns + 1) * size <= most
            {
                columns += 1;
            }
            let piece = self.rectangle(j, columns, height(j + columns));
            pieces.push(CopyChunk {
                triangle: Some(Triangle {
                    first: height(j + 1) * size,
                    element: size,
                    whole: self.rows * size,
                }),
                ..piece
            });
            j += columns;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a host matrix, each counted, that pieces cover.
    fn covered(rows: usize, cols: usize, pitch: usize, part: Part, most: usize) -> Vec<u8> {
        // Never read: addresses alone are looked at.
        let base = 1usize << 30;
        let pair = HostDevicePair::<f64> {
            host: base as *mut f64,
            pitch,
            device: 1 << 40,
            rows,
            cols,
            left: 0,
        };
        let mut seen = vec![0u8; pitch * cols * 8];
        let (half, rest) = (cols / 2, cols - cols / 2);
        let mut pieces = pair.columns(0, half).pieces(part, most);
        pieces.extend(pair.columns(half, rest).pieces(part, most));
        for p in pieces {
            assert!(p.bytes() <= most && p.width > 0 && p.columns > 0);
            for j in 0..p.columns {
                let kept = match p.triangle {
                    Some(t) => (t.first + j * t.element).min(t.whole),
                    None => p.width,
                };
                let at = p.host - base + j * p.pitch;
                seen[at..at + kept].iter_mut().for_each(|n| *n += 1);
                // The same entries on the device, where columns follow one another.
                let there = (p.device - (1 << 40)) as usize + j * p.device_pitch;
                let (column, within) = (at / (pitch * 8), at % (pitch * 8));
                if p.columns > 1 || pitch > rows {
                    assert_eq!(there, column * rows * 8 + within);
                } else {
                    assert_eq!(there, at);
                }
            }
        }
        seen
    }

    #[test]
    fn pieces_cover_every_entry_once() {
        for (rows, cols, pitch) in [
            (1, 1, 1),
            (7, 5, 7),
            (7, 5, 9),
            (1000, 3, 1000),
            (1000, 3, 1111),
            (3, 900, 4),
        ] {
            for most in [4096, 8192, 1 << 20] {
                let seen = covered(rows, cols, pitch, Part::All, most);
                for (at, n) in seen.iter().enumerate() {
                    let inside = at % (pitch * 8) < rows * 8;
                    assert_eq!(*n, u8::from(inside), "{rows} {cols} {pitch} {most} {at}");
                }
            }
        }
        assert_eq!(covered(0, 3, 0, Part::All, 4096).len(), 0);
    }

    #[test]
    fn pieces_of_a_triangle_have_its_entries_once() {
        for (rows, cols) in [(TALL / 8, 1), (TALL / 8, 300), (5000, 70)] {
            let seen = covered(rows, cols, rows, Part::Upper, 1 << 16);
            for j in 0..cols {
                for i in 0..rows {
                    let n = seen[(i + j * rows) * 8];
                    assert_eq!(n, u8::from(i <= j), "{rows} {cols} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn short_columns_travel_whole() {
        let seen = covered(50, 70, 50, Part::Upper, 8192);
        assert!(seen.iter().all(|n| *n == 1));
    }

    #[test]
    fn pieces_end_where_pages_do() {
        let pair = HostDevicePair::<f64> {
            host: 1000 as *mut f64,
            pitch: 4096,
            device: 0,
            rows: 4096,
            cols: 4,
            left: 0,
        };
        let pieces = pair.pieces(Part::All, 1 << 16);
        assert!(pieces[1..].iter().all(|p| p.host % (1 << 16) == 0));
    }

    #[test]
    fn little_is_left_to_few_threads() {
        assert_eq!(cut(1000, 16, 2 << 20), (512 << 10, 1));
        assert_eq!(cut(8 << 20, 16, 2 << 20), (512 << 10, 8));
        assert_eq!(cut(1 << 30, 16, 2 << 20), (2 << 20, 16));
        assert_eq!(cut(1 << 30, 2, 2 << 20), (2 << 20, 2));
    }
}
