//! Files of other formats: their numbers are imported to files of tiles and exported from them, and
//! a file of another kind is an error.

mod export;
mod numpy;

use std::path::Path;

use crate::common::place::Place;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::scalar::Scalar;
use cudafactor::foreign::source::Description;
use cudafactor::foreign::{import, Number, Source, StorageOrder};
use cudafactor::tiles::{Layout, Shape, TileFile};

const TILE: usize = 7;
/// Around the size of a tile, and more than the eight rows that are turned at once.
const SIZES: [usize; 7] = [0, 1, TILE - 1, TILE, TILE + 1, 2 * TILE + 3, 40];

/// The entry in this row and column: another one everywhere, not symmetric.
fn entry(i: usize, j: usize) -> f64 {
    (1000 * i + j) as f64 + 0.25
}

/// Bytes of a matrix, line by line.
fn lines(
    order: StorageOrder,
    (rows, cols): (usize, usize),
    to: impl Fn(f64) -> Vec<u8>,
) -> Vec<u8> {
    let (outer, inner) = match order {
        StorageOrder::Columns => (cols, rows),
        StorageOrder::Rows => (rows, cols),
    };
    let mut bytes = Vec::new();
    for a in 0..outer {
        for b in 0..inner {
            let (i, j) = match order {
                StorageOrder::Columns => (b, a),
                StorageOrder::Rows => (a, b),
            };
            bytes.extend(to(entry(i, j)));
        }
    }
    bytes
}

fn describe(
    path: &Path,
    order: StorageOrder,
    (rows, cols): (usize, usize),
    number: &str,
) -> Description {
    Description {
        path: path.to_owned(),
        number: Number::parse(number).unwrap(),
        order,
        rows,
        cols,
        offset: 0,
        stride: match order {
            StorageOrder::Columns => rows,
            StorageOrder::Rows => cols,
        },
        separate: None,
        exact: true,
    }
}

/// A file of tiles from a file of another format.
fn tiles<T: Scalar>(
    of: &Description,
    shape: Shape,
    tile: usize,
    path: &Place,
) -> Result<TileFile<T>> {
    let source = Source::open(of)?;
    let layout = Layout::new(of.rows, of.cols, tile, shape)?;
    let file = TileFile::<T>::create(path, layout)?;
    import(&source, &file)?;
    file.commit()?;
    Ok(file)
}

/// The stored entry in this row and column.
fn stored<T: Scalar>(file: &TileFile<T>, i: usize, j: usize) -> f64 {
    let t = file.layout().tile();
    let mut tile = file.buffer().unwrap();
    let index = file.layout().index(i / t, j / t).unwrap();
    file.read(index, &mut tile).unwrap();
    tile[(j % t) * t + i % t].into()
}

fn check_entries<T: Scalar>(file: &TileFile<T>, expected: impl Fn(usize, usize) -> f64) {
    let layout = *file.layout();
    let t = layout.tile();
    let mut tile = file.buffer().unwrap();
    for index in 0..layout.tiles() {
        file.read(index, &mut tile).unwrap();
        let (i, j) = layout.position(index);
        for c in 0..t {
            for r in 0..t {
                let (row, col) = (i * t + r, j * t + c);
                let outside = row >= layout.rows() || col >= layout.cols();
                let below = layout.shape() == Shape::Triangle && row > col;
                let e = if outside || below {
                    0.0
                } else {
                    expected(row, col)
                };
                assert_eq!(Into::<f64>::into(tile[c * t + r]), e, "({row}, {col})");
            }
        }
    }
}

#[test]
fn all_shapes_in_both_orders() {
    for rows in SIZES {
        for cols in SIZES {
            for order in [StorageOrder::Columns, StorageOrder::Rows] {
                for shape in [Shape::Full, Shape::Triangle] {
                    if shape == Shape::Triangle && rows != cols {
                        continue;
                    }
                    let (from, to) = (Place::new("raw"), Place::new("tiles"));
                    std::fs::write(
                        &from,
                        lines(order, (rows, cols), |v| v.to_le_bytes().into()),
                    )
                    .unwrap();
                    let of = describe(from.as_ref(), order, (rows, cols), "<f8");
                    check_entries(&tiles::<f64>(&of, shape, TILE, &to).unwrap(), entry);
                    let to = Place::new("single");
                    check_entries(&tiles::<f32>(&of, shape, TILE, &to).unwrap(), |i, j| {
                        f64::from(entry(i, j) as f32)
                    });
                }
            }
        }
    }
}

#[test]
fn parts_of_a_larger_matrix_and_columns_in_files_of_their_own() {
    let dims = (20, 17);
    let (from, to) = (Place::new("raw"), Place::new("tiles"));
    let bytes = lines(StorageOrder::Columns, dims, |v| {
        (v as f32).to_be_bytes().into()
    });
    std::fs::write(&from, &bytes).unwrap();
    // Rows 3 to 18 and columns 5 to 15, behind which the file goes on.
    let part = Description {
        offset: (5 * 20 + 3) * 4,
        stride: 20,
        exact: false,
        ..describe(from.as_ref(), StorageOrder::Columns, (16, 11), ">f4")
    };
    let file = tiles::<f64>(&part, Shape::Full, TILE, &to).unwrap();
    check_entries(&file, |i, j| entry(i + 3, j + 5));
    for j in 0..17 {
        let name = format!("{}{j}", from.0.display());
        std::fs::write(&name, &bytes[j * 80..(j + 1) * 80]).unwrap();
    }
    let each = Description {
        offset: 3 * 4,
        separate: Some(5),
        ..part.clone()
    };
    let to = Place::new("tiles");
    let file = tiles::<f64>(&each, Shape::Full, TILE, &to).unwrap();
    check_entries(&file, |i, j| entry(i + 3, j + 5));
    let missing = Description {
        separate: Some(9),
        ..each
    };
    let result = tiles::<f64>(&missing, Shape::Full, TILE, &Place::new("tiles"));
    assert!(matches!(result, Err(Error::File { .. })));
    for j in 0..17 {
        std::fs::remove_file(format!("{}{j}", from.0.display())).unwrap();
    }
}

#[test]
fn spans_longer_than_what_is_read_at_once() {
    // Each span has 5.5 MiB; of the first row of tiles only a little is needed for the triangle.
    let n = 1500;
    for order in [StorageOrder::Columns, StorageOrder::Rows] {
        for shape in [Shape::Full, Shape::Triangle] {
            let (from, to) = (Place::new("raw"), Place::new("tiles"));
            std::fs::write(&from, lines(order, (n, n), |v| v.to_le_bytes().into())).unwrap();
            let of = describe(from.as_ref(), order, (n, n), "<f8");
            check_entries(&tiles::<f64>(&of, shape, 480, &to).unwrap(), entry);
        }
    }
}

#[test]
fn lengths_that_do_not_fit() {
    let from = Place::new("raw");
    std::fs::write(&from, [0; 96]).unwrap();
    let of = |offset, rows, cols, exact| Description {
        offset,
        exact,
        ..describe(from.as_ref(), StorageOrder::Columns, (rows, cols), "<f8")
    };
    assert!(Source::open(&of(0, 3, 4, true)).is_ok());
    assert!(Source::open(&of(8, 11, 1, true)).is_ok());
    assert!(Source::open(&of(96, 0, 5, true)).is_ok());
    assert!(Source::open(&of(0, 2, 4, false)).is_ok());
    for wrong in [
        of(0, 3, 5, false),
        of(8, 3, 4, false),
        of(0, 2, 4, true),
        of(97, 0, 5, false),
        of(u64::MAX, 1, 1, false),
        of(0, usize::MAX, 2, false),
        of(0, usize::MAX / 2, usize::MAX / 2, false),
    ] {
        assert!(matches!(
            Source::open(&wrong),
            Err(Error::FileFormat { .. })
        ));
    }
    let gone = describe(
        "/nowhere/at/all".as_ref(),
        StorageOrder::Columns,
        (1, 1),
        "<f8",
    );
    assert!(matches!(Source::open(&gone), Err(Error::File { .. })));
}

#[test]
fn a_file_that_is_cut_off_meanwhile() {
    let (from, to) = (Place::new("raw"), Place::new("tiles"));
    std::fs::write(&from, vec![0; 20 * 20 * 8]).unwrap();
    let of = describe(from.as_ref(), StorageOrder::Columns, (20, 20), "<f8");
    let source = Source::open(&of).unwrap();
    std::fs::write(&from, vec![0; 100]).unwrap();
    let layout = Layout::new(20, 20, TILE, Shape::Full).unwrap();
    let file = TileFile::<f64>::create(&to, layout).unwrap();
    assert!(matches!(
        import(&source, &file),
        Err(Error::FileFormat { .. })
    ));
}
