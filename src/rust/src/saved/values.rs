//! Writes the values of a matrix to a file and reads them back, piece by piece.

use std::path::Path;

use faer::MatMut;

use super::head::{self, Head};
use super::{damaged, AT_ONCE};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Block;
use crate::base::scalar::{try_zeroed, widen, Scalar};
use crate::device::dense::Device;
use crate::tiles::PlainFile;

/// Writes a matrix of a device to a new file. After an error there is no file.
pub fn write<T: Scalar, D: Device<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    description: &[u8],
    path: &Path,
) -> Result<()> {
    let (rows, cols) = dev.shape(a);
    let (head, page) = head::of(size_of::<T>(), (rows, cols), description)?;
    let file = PlainFile::create(path, head.file_bytes().unwrap_or(u64::MAX))?;
    file.write(description, head::BYTES as u64)?;
    let (mut at, _) = head.values();
    let mut sum = crc32fast::Hasher::new();
    let mut buffer = try_zeroed::<T>((AT_ONCE / size_of::<T>()).min(rows * cols))?;
    for block in blocks((rows, cols), buffer.len()) {
        interrupt::poll()?;
        let piece = &mut buffer[..block.rows * block.cols];
        let out = MatMut::from_column_major_slice_mut(piece, block.rows, block.cols);
        dev.read_block(a, block, out)?;
        let bytes = little_endian(piece);
        sum.update(bytes);
        file.write(bytes, at)?;
        at += bytes.len() as u64;
    }
    file.write(&sum.finalize().to_le_bytes(), at)?;
    // The header is written last, so that an incomplete file of a stopped process is not valid.
    file.write(&page, 0)?;
    file.finish()
}

/// Parts of a matrix with adjacent values, at most `most` values each: columns, or a part of one.
fn blocks((rows, cols): (usize, usize), most: usize) -> impl Iterator<Item = Block> {
    let (down, across) = if rows > most {
        (most, 1)
    } else {
        (rows, most.checked_div(rows).unwrap_or(1))
    };
    let starts = |n: usize, step: usize| (0..n).step_by(step.max(1));
    starts(cols, across).flat_map(move |col| {
        starts(rows, down).map(move |row| Block {
            row,
            col,
            rows: down.min(rows - row),
            cols: across.min(cols - col),
        })
    })
}

/// Fills `out` with the values of a file with this head, as doubles. On error its contents are
/// undefined.
pub fn read(file: &PlainFile, head: &Head, out: &mut [f64]) -> Result<()> {
    if head.size == size_of::<f32>() {
        read_as::<f32>(file, head, out)
    } else {
        read_as::<f64>(file, head, out)
    }
}

fn read_as<T: Scalar>(file: &PlainFile, head: &Head, out: &mut [f64]) -> Result<()> {
    let (mut at, end) = head.values();
    let mut sum = crc32fast::Hasher::new();
    let most = AT_ONCE / size_of::<T>();
    let mut buffer = try_zeroed::<T>(most.min(out.len()))?;
    let mut whole = true;
    for out in out.chunks_mut(most) {
        interrupt::poll()?;
        let piece = &mut buffer[..out.len()];
        let bytes: &mut [u8] = pulp::bytemuck::cast_slice_mut(piece);
        whole &= file.read(bytes, at)?;
        sum.update(bytes);
        at += bytes.len() as u64;
        little_endian(piece);
        widen(piece, out)?;
    }
    let mut wanted = [0; 4];
    whole &= file.read(&mut wanted, end)?;
    if whole && at == end && sum.finalize().to_le_bytes() == wanted {
        return Ok(());
    }
    let what = "the values are damaged: their checksum is not that of what was written";
    Err(damaged(file, what))
}

/// Converts numbers to or from the byte order of the file, in place, if the machine has another
/// one. Returns their bytes.
fn little_endian<T: Scalar>(numbers: &mut [T]) -> &[u8] {
    let bytes: &mut [u8] = pulp::bytemuck::cast_slice_mut(numbers);
    if cfg!(target_endian = "big") {
        for number in bytes.chunks_exact_mut(size_of::<T>()) {
            number.reverse();
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use faer::MatRef;

    use super::*;
    use crate::backend::cpu::CpuDevice;
    use crate::base::error::Error;
    use crate::base::matrix::Part;
    use crate::device::memory::Memory;

    #[test]
    fn pieces_cover_a_matrix_in_order() {
        for dim in [(0, 3), (3, 0), (1, 1), (7, 5), (30, 2)] {
            let mut next = 0;
            for block in blocks(dim, 12) {
                assert_eq!(block.col * dim.0 + block.row, next);
                assert!(block.rows * block.cols <= 12);
                assert!(block.cols == 1 || block.rows == dim.0);
                next += block.rows * block.cols;
            }
            assert_eq!(next, dim.0 * dim.1);
        }
    }

    #[test]
    fn any_changed_byte_is_seen() {
        let path = std::env::temp_dir().join(format!("cudafactor-saved-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let dev = CpuDevice::new(1);
        let values = vec![1.5_f32, f32::NAN, -0.0, 3.0, 4.0, f32::INFINITY];
        let a = MatRef::from_column_major_slice(&values, 2, 3);
        let a = Memory::<f32>::load_temporary(&dev, a, Part::All);
        write::<f32, _>(&dev, &a.unwrap(), b"some words", &path).unwrap();
        let back = || -> Result<Vec<f64>> {
            let file = PlainFile::open(&path)?;
            let head = Head::read(&file)?;
            assert_eq!(head.description(&file)?, b"some words");
            let mut out = vec![0.0; head.rows * head.cols];
            read(&file, &head, &mut out)?;
            Ok(out)
        };
        let out = back().unwrap();
        let same = |(x, y): (&f64, &f32)| x.to_bits() == f64::from(*y).to_bits();
        assert!(out.iter().zip(&values).all(same));
        let good = std::fs::read(&path).unwrap();
        for k in 0..good.len() {
            let mut bad = good.clone();
            bad[k] ^= 0x40;
            std::fs::write(&path, &bad).unwrap();
            assert!(matches!(back(), Err(Error::FileFormat { .. })), "byte {k}");
            std::fs::write(&path, &good[..k]).unwrap();
            assert!(matches!(back(), Err(Error::FileFormat { .. })), "{k} bytes");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
