//! Headers of numpy's files.

use crate::common::place::Place;
use cudafactor::base::error::{Error, Result};
use cudafactor::foreign::{npy, Number, StorageOrder};
use cudafactor::tiles::PlainFile;

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
