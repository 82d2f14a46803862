//! Files of other formats: what is there comes into files of tiles, and back, and what is no such
//! file is an error.

use std::path::Path;

use crate::common::place::Place;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::scalar::Scalar;
use cudafactor::foreign::source::Description;
use cudafactor::foreign::{export, import, npy, ExportFormat, Number, Source, StorageOrder};
use cudafactor::tiles::{Access, Layout, PlainFile, Shape, State, TileFile};

const TILE: usize = 7;
/// Around the size of a tile, and more than the eight rows that are turned at once.
const EXTENTS: [usize; 7] = [0, 1, TILE - 1, TILE, TILE + 1, 2 * TILE + 3, 40];

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
    for rows in EXTENTS {
        for cols in EXTENTS {
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

/// Numbers of an exported file.
fn numbers(path: &Place, skip: usize) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    let (numbers, rest) = pulp::as_arrays(&bytes[skip..]);
    assert!(rest.is_empty());
    numbers.iter().map(|b| f64::from_ne_bytes(*b)).collect()
}

#[test]
fn what_is_exported_is_the_whole_matrix() {
    for n in EXTENTS {
        for cols in EXTENTS {
            let (from, to) = (Place::new("raw"), Place::new("tiles"));
            let bytes = lines(StorageOrder::Columns, (n, cols), |v| v.to_ne_bytes().into());
            std::fs::write(&from, &bytes).unwrap();
            let of = describe(from.as_ref(), StorageOrder::Columns, (n, cols), "=f8");
            let file = tiles::<f64>(&of, Shape::Full, TILE, &to).unwrap();
            let out = Place::new("out");
            export(&file, out.as_ref(), ExportFormat::Raw).unwrap();
            assert_eq!(std::fs::read(&out).unwrap(), bytes);
            if n != cols {
                continue;
            }
            let to = Place::new("triangle");
            let file = tiles::<f64>(&of, Shape::Triangle, TILE, &to).unwrap();
            for (state, skip) in [(State::Matrix, 0), (State::Factor, 128)] {
                file.set_state(state).unwrap();
                let out = Place::new("out");
                let kind = if skip == 0 {
                    ExportFormat::Raw
                } else {
                    ExportFormat::Npy
                };
                export(&file, out.as_ref(), kind).unwrap();
                let seen = numbers(&out, skip);
                assert_eq!(seen.len(), n * n);
                for j in 0..n {
                    for i in 0..n {
                        let e = match state {
                            _ if i <= j => entry(i, j),
                            State::Matrix => entry(j, i),
                            _ => 0.0,
                        };
                        assert_eq!(seen[j * n + i], e);
                    }
                }
            }
        }
    }
}

#[test]
fn an_export_that_fails_leaves_no_file_and_takes_none_that_exists() {
    let to = Place::new("tiles");
    let layout = Layout::new(20, 20, TILE, Shape::Full).unwrap();
    let file = TileFile::<f64>::create(&to, layout).unwrap();
    let tile = file.buffer().unwrap();
    file.write(0, &tile, 0).unwrap();
    let out = Place::new("out");
    // The second tile was never written.
    let result = export(&file, out.as_ref(), ExportFormat::Raw);
    assert!(matches!(result, Err(Error::FileFormat { .. })));
    assert!(!out.0.exists());
    for state in [State::Factoring, State::NotPositiveDefinite { order: 3 }] {
        file.set_state(state).unwrap();
        let result = export(&file, out.as_ref(), ExportFormat::Npy);
        assert!(matches!(result, Err(Error::Argument { .. })));
        assert!(!out.0.exists());
    }
    file.set_state(State::Matrix).unwrap();
    std::fs::write(&out, "mine").unwrap();
    let result = export(&file, out.as_ref(), ExportFormat::Raw);
    assert!(matches!(result, Err(Error::FileExists { .. })));
    assert_eq!(std::fs::read(&out).unwrap(), b"mine");
    // More than any disk has.
    let result = PlainFile::create(Place::new("large").as_ref(), 1 << 60).map(|_| ());
    assert!(matches!(
        result,
        Err(Error::DiskSpace { .. } | Error::File { .. })
    ));
}

fn header_of(bytes: &[u8]) -> Result<npy::NpyHeader> {
    let path = Place::new("npy");
    std::fs::write(&path, bytes).unwrap();
    npy::read(&PlainFile::open(path.as_ref())?)
}

fn npy_bytes(version: u8, text: &str) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    if version == 1 {
        bytes.extend((text.len() as u16).to_le_bytes());
    } else {
        bytes.extend((text.len() as u32).to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn headers_as_numpy_writes_them() {
    let read = |version, text: &str| header_of(&npy_bytes(version, text)).unwrap();
    for version in [1, 2, 3] {
        let text = "{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }      \n";
        let header = read(version, text);
        assert_eq!((header.rows, header.cols), (3, 4));
        assert_eq!(
            (header.number.as_str(), header.order),
            (">f4", StorageOrder::Rows)
        );
        let before = if version == 1 { 10 } else { 12 };
        assert_eq!(header.offset, (before + text.len()) as u64);
    }
    // Python 2, other quotes, another order of the keys, no comma at the end.
    let header = read(
        1,
        "{\"shape\":(3L,4L),\"fortran_order\":True,\"descr\":\"|b1\"}",
    );
    assert_eq!((header.rows, header.cols), (3, 4));
    assert_eq!(header.order, StorageOrder::Columns);
    let header = read(
        1,
        "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }\n",
    );
    assert_eq!((header.rows, header.cols), (5, 1));
    assert_eq!(header.order, StorageOrder::Columns);
    for dims in [(0, 0), (3, 0), (usize::MAX, 7)] {
        let header = header_of(&npy::header(4, dims)).unwrap();
        assert_eq!((header.rows, header.cols), dims);
        assert_eq!(header.offset, npy::header(4, dims).len() as u64);
        assert_eq!(header.offset % 64, 0);
    }
}

#[test]
fn headers_that_are_none_are_errors() {
    let good = "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }\n";
    assert!(header_of(&npy_bytes(1, good)).is_ok());
    for (what, words) in [
        (
            "{'descr': '<c16', 'fortran_order': True, 'shape': (3, 4), }",
            "<c16",
        ),
        (
            "{'descr': '|O', 'fortran_order': True, 'shape': (3, 4), }",
            "|O",
        ),
        (
            "{'descr': [('a', '<f8')], 'fortran_order': True, 'shape': (3, 4), }",
            "structured",
        ),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (), }",
            "0 dimensions",
        ),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2, 3), }",
            "3 dimensions",
        ),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (-1, 2), }",
            "malformed",
        ),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (99999999999999999999, 2), }",
            "malformed",
        ),
        (
            "{'descr': '<f8', 'fortran_order': 1, 'shape': (1, 2), }",
            "malformed",
        ),
        ("{'descr': '<f8', 'fortran_order': True, }", "malformed"),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), 'more': 1}",
            "malformed",
        ),
        (
            "{'descr': '<f8', 'descr': '<f8', 'fortran_order': True, 'shape': (3, 4)}",
            "malformed",
        ),
        (
            "{'descr': '<f8' 'fortran_order': True, 'shape': (3, 4)}",
            "malformed",
        ),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4)} and more",
            "malformed",
        ),
        ("((((((((((((((((((((((((((", "malformed"),
        ("", "malformed"),
        ("{", "malformed"),
        (
            "{'descr': '\\x3cf8', 'fortran_order': True, 'shape': (3, 4)}",
            "malformed",
        ),
    ] {
        match header_of(&npy_bytes(1, what)) {
            Err(Error::FileFormat { what: said, .. }) => assert!(said.contains(words), "{said}"),
            other => panic!("{what}: {other:?}"),
        }
    }
    assert!(header_of(&npy_bytes(4, good)).is_err());
    assert!(header_of(b"").is_err());
    let mut endless = b"\x93NUMPY\x02\x00".to_vec();
    endless.extend(u32::MAX.to_le_bytes());
    assert!(matches!(header_of(&endless), Err(Error::FileFormat { .. })));
}

#[test]
fn bytes_at_random_are_no_panic() {
    let mut state = 88172645463325252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let letters = b"{}()[],:'\" \n\\<>=|fiubcOLTrueFals0123456789-\x00\xff\xc3\x93";
    let good = "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }\n";
    for round in 0..3000 {
        let mut bytes = npy_bytes(1 + (round % 3) as u8, good);
        for _ in 0..1 + random() % 4 {
            let at = random() % bytes.len();
            match random() % 3 {
                0 => bytes[at] = letters[random() % letters.len()],
                1 => bytes.truncate(at + 1),
                _ => bytes.insert(at, letters[random() % letters.len()]),
            }
        }
        match header_of(&bytes) {
            Ok(header) => assert!(Number::parse(&header.number).is_some()),
            Err(Error::FileFormat { .. }) => {}
            Err(other) => panic!("{other:?}: {bytes:?}"),
        }
    }
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

#[test]
fn a_factor_can_be_read_again() {
    let (from, to) = (Place::new("raw"), Place::new("tiles"));
    std::fs::write(
        &from,
        lines(StorageOrder::Rows, (9, 9), |v| {
            (v as i64).to_be_bytes().into()
        }),
    )
    .unwrap();
    let of = describe(from.as_ref(), StorageOrder::Rows, (9, 9), ">i8");
    let file = tiles::<f32>(&of, Shape::Triangle, 4, &to).unwrap();
    assert_eq!(stored(&file, 3, 8), 3008.0);
    drop(file);
    let file = TileFile::<f32>::open(&to, Access::Read).unwrap();
    let out = Place::new("npy");
    export(&file, out.as_ref(), ExportFormat::Npy).unwrap();
    let header = npy::read(&PlainFile::open(out.as_ref()).unwrap()).unwrap();
    assert_eq!((header.rows, header.cols), (9, 9));
    assert_eq!(&header.number[1..], "f4");
}
