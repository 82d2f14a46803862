//! Files of other formats from files of tiles.

use crate::common::place::Place;
use cudafactor::base::error::Error;
use cudafactor::foreign::{export, npy, ExportFormat, StorageOrder};
use cudafactor::tiles::{Access, Layout, PlainFile, Shape, State, TileFile};

use super::{describe, entry, lines, stored, tiles, SIZES, TILE};

/// Numbers of an exported file.
fn numbers(path: &Place, skip: usize) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    let (numbers, rest) = pulp::as_arrays(&bytes[skip..]);
    assert!(rest.is_empty());
    numbers.iter().map(|b| f64::from_ne_bytes(*b)).collect()
}

#[test]
fn what_is_exported_is_the_whole_matrix() {
    for n in SIZES {
        for cols in SIZES {
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
