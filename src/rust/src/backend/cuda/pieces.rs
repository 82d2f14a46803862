//! A matrix cut into pieces that each travel in one slot of staging memory.

use std::mem::size_of;

use crate::matrix::Part;
use crate::scalar::Scalar;

/// A matrix on the host and the contiguous column-major matrix on the device that is its copy.
#[derive(Clone, Copy)]
pub(super) struct Pair<T> {
    pub host: *mut T,
    /// Elements from column to column on the host; rows are adjacent.
    pub pitch: usize,
    pub device: u64,
    pub rows: usize,
    pub cols: usize,
}

/// A rectangle: `columns` columns of `width` bytes, packed in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Address of its first byte on the host, and bytes from column to column there.
    pub host: usize,
    pub pitch: usize,
    pub device: u64,
    pub device_pitch: usize,
    pub width: usize,
    pub columns: usize,
    /// Of a piece of an upper triangle: the bytes of its first column that belong to the triangle, each later column having
    /// an element more, and the bytes of a whole column. The rest of the columns is zero.
    pub triangle: Option<Triangle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Triangle {
    pub first: usize,
    pub element: usize,
    pub whole: usize,
}

impl Piece {
    pub(super) fn bytes(&self) -> usize {
        self.width * self.columns
    }
}

/// Copies shorter than this are not worth a thread of their own.
const LEAST: usize = 512 << 10;

/// How so many bytes are best cut: into pieces of how many bytes, for how many of `workers` threads. Some pieces for each thread,
/// none longer than a slot.
pub(super) fn cut(bytes: usize, workers: usize, slot: usize) -> (usize, usize) {
    let threads = (bytes / (2 * LEAST)).clamp(1, workers);
    let piece = (bytes / (2 * threads))
        .next_power_of_two()
        .clamp(LEAST, slot);
    (piece, threads)
}

impl<T: Scalar> Pair<T> {
    /// Columns `first..first + count`, which must exist.
    pub(super) fn columns(self, first: usize, count: usize) -> Self {
        Pair {
            // Wrapping, since nothing is read here; the caller's columns exist.
            host: self.host.wrapping_add(first * self.pitch),
            device: self.device + (first * self.rows * size_of::<T>()) as u64,
            cols: count,
            ..self
        }
    }

    /// Bytes that travel.
    pub(super) fn bytes(&self, part: Part) -> usize {
        let all = self.rows * self.cols * size_of::<T>();
        match part {
            Part::Upper => all / 2,
            _ => all,
        }
    }

    /// Pieces of at most `most` bytes, in order of columns. Of `Part::Upper` only what is needed for the upper triangle.
    pub(super) fn pieces(self, part: Part, most: usize) -> Vec<Piece> {
        let size = size_of::<T>();
        let column = self.rows * size;
        if self.rows == 0 || self.cols == 0 {
            return Vec::new();
        }
        if part == Part::Upper && column <= most {
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

    /// One run of memory on both sides.
    fn runs(&self, host: usize, device: u64, bytes: usize, most: usize) -> Vec<Piece> {
        // Cut where the host's pages begin, so that no two threads ask for the same one.
        let mut pieces = Vec::with_capacity(bytes / most + 2);
        let mut at = 0;
        while at < bytes {
            let width = (most - (host + at) % most).min(bytes - at);
            pieces.push(Piece {
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
    fn rectangle(&self, first: usize, columns: usize, rows: usize) -> Piece {
        let size = size_of::<T>();
        let at = self.columns(first, columns);
        Piece {
            host: at.host as usize,
            pitch: self.pitch * size,
            device: at.device,
            device_pitch: self.rows * size,
            width: rows * size,
            columns,
            triangle: None,
        }
    }

    fn of_triangle(&self, most: usize) -> Vec<Piece> {
        let size = size_of::<T>();
        let mut pieces = Vec::new();
        let mut j = 0;
        while j < self.cols {
            // As many columns as a slot holds at the height of the last of them.
            let mut columns = 1;
            while j + columns < self.cols
                && (columns + 1) * self.rows.min(j + columns + 1) * size <= most
            {
                columns += 1;
            }
            let piece = self.rectangle(j, columns, self.rows.min(j + columns));
            pieces.push(Piece {
                triangle: Some(Triangle {
                    first: self.rows.min(j + 1) * size,
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
