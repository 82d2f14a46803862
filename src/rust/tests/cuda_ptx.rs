//! The committed PTX is what the committed sources made, and every kernel in it is described. Needs neither a compiler nor a GPU.
#![cfg(feature = "cuda")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use lzma_rust2::LzmaReader;
use sha2::{Digest, Sha256};

/// What a file holds, unpacked where it is packed.
fn text(path: &Path) -> String {
    let data = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if path.extension().is_none_or(|e| e != "lzma") {
        return String::from_utf8(data).unwrap();
    }
    let mut text = String::new();
    let mut reader = LzmaReader::new_mem_limit(&data[..], u32::MAX, None).unwrap();
    reader.read_to_string(&mut text).unwrap();
    text
}

fn sha256(path: &Path) -> String {
    Sha256::digest(text(path))
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

fn names(folder: &Path, extensions: &[&str]) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| {
            p.extension()
                .is_some_and(|e| extensions.iter().any(|x| e == *x))
        })
        .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn manifest_matches_sources_and_ptx() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let ptx = kernels.join("ptx");
    let manifest = fs::read_to_string(ptx.join("MANIFEST")).unwrap();
    for (kind, folder, extensions) in [
        ("source", &kernels, &["cu", "cuh"][..]),
        ("ptx", &ptx, &["lzma"][..]),
    ] {
        let mut listed = BTreeSet::new();
        for line in manifest.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let [k, hash, name] = words[..] {
                if k == kind {
                    assert_eq!(
                        hash,
                        sha256(&folder.join(name)),
                        "{name}: run tools/kernels.py"
                    );
                    listed.insert(name.to_string());
                }
            }
        }
        assert_eq!(
            listed,
            names(folder, extensions),
            "{kind}: run tools/kernels.py"
        );
    }
}

#[test]
fn every_source_has_its_ptx() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let stems = |n: BTreeSet<String>| -> BTreeSet<String> {
        n.iter()
            .map(|f| f.split('.').next().unwrap_or_default().to_string())
            .collect()
    };
    assert_eq!(
        stems(names(&kernels, &["cu"])),
        stems(names(&kernels.join("ptx"), &["lzma"]))
    );
}

/// `kernels/README.md` has a row for every kernel and for no other.
#[test]
fn every_kernel_is_described() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut made = BTreeSet::new();
    for file in names(&kernels.join("ptx"), &["lzma"]) {
        let ptx = text(&kernels.join("ptx").join(file));
        for entry in ptx.split(".entry ").skip(1) {
            let name = entry.split('(').next().unwrap_or_default();
            let stem = name.strip_suffix("_f64").or(name.strip_suffix("_f32"));
            made.insert(stem.unwrap_or(name).to_string());
        }
    }
    let readme = fs::read_to_string(kernels.join("README.md")).unwrap();
    let described: BTreeSet<String> = readme
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next())
        .map(str::to_string)
        .collect();
    assert!(!made.is_empty());
    assert_eq!(made, described);
}
