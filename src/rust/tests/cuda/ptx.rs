//! The committed PTX and machine code belong to the committed sources, and a README describes every
//! kernel.
//! These tests need neither a compiler nor a GPU.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use lzma_rust2::LzmaReader;
use sha2::{Digest, Sha256};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// What is in a file, decompressed if its name ends in `lzma`.
fn content(path: &Path) -> Vec<u8> {
    let data = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if path.extension().is_none_or(|e| e != "lzma") {
        return data;
    }
    let mut content = Vec::new();
    let mut reader = LzmaReader::new_mem_limit(&data[..], u32::MAX, None).unwrap();
    reader.read_to_end(&mut content).unwrap();
    content
}

fn text(path: &Path) -> String {
    String::from_utf8(content(path)).unwrap()
}

fn sha256(path: &Path) -> String {
    Sha256::digest(content(path))
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Files below `folder` with one of the extensions, relative to it and with `/` between folders.
fn files(folder: &Path, extensions: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let below = files(&path, extensions);
            found.extend(below.iter().map(|f| format!("{name}/{f}")));
        } else if extensions
            .iter()
            .any(|x| path.extension().is_some_and(|e| e == *x))
        {
            found.insert(name);
        }
    }
    found
}

/// The part of a path after the last `/` and before the first dot.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}

/// The architectures that each source has PTX for, by the names of the files.
fn targets_of_ptx() -> BTreeMap<String, BTreeSet<String>> {
    let mut targets = BTreeMap::<String, BTreeSet<String>>::new();
    for file in files(&kernels().join("ptx"), &["lzma"]) {
        let [_, arch, "ptx", "lzma"] = file.split('.').collect::<Vec<_>>()[..] else {
            panic!("{file}: run tools/kernels.py");
        };
        let first = targets.entry(stem(&file).to_string()).or_default();
        assert!(first.insert(arch.to_string()), "{file}: two for {arch}");
    }
    targets
}

#[test]
fn manifest_matches_every_file() {
    let kernels = kernels();
    let manifest = fs::read_to_string(kernels.join("MANIFEST")).unwrap();
    let cubin = kernels.join("cubin");
    for (kind, folder, extensions) in [
        ("source", &kernels, &["cu", "cuh"][..]),
        ("ptx", &kernels.join("ptx"), &["lzma"][..]),
        ("cubin", &cubin, &["lzma"][..]),
    ] {
        // A source package may come without machine code.
        if kind == "cubin" && cfg!(feature = "ptx-only") && !cubin.exists() {
            continue;
        }
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
            files(folder, extensions),
            "{kind}: run tools/kernels.py"
        );
    }
}

/// The first line of every source is `// arch: sm_80 sm_90` or the like, and there is PTX for
/// exactly these architectures, whose text targets them.
#[test]
fn first_lines_name_the_architectures_of_the_ptx() {
    let mut named = BTreeMap::new();
    for file in files(&kernels(), &["cu"]) {
        let source = text(&kernels().join(&file));
        let first = source.lines().next().unwrap_or_default();
        let words = first
            .strip_prefix("// arch: ")
            .unwrap_or_else(|| panic!("{file}: the first line must name the architectures"));
        let targets: BTreeSet<String> = words.split(' ').map(str::to_string).collect();
        assert_eq!(
            targets.len(),
            words.split(' ').count(),
            "{file}: an architecture twice"
        );
        let twice = named.insert(stem(&file).to_string(), targets);
        assert!(twice.is_none(), "{file}: two sources of this name");
    }
    assert!(!named.is_empty());
    assert_eq!(named, targets_of_ptx());

    for file in files(&kernels().join("ptx"), &["lzma"]) {
        let ptx = text(&kernels().join("ptx").join(&file));
        let target = ptx.lines().find_map(|l| l.strip_prefix(".target "));
        assert_eq!(target, file.split('.').nth(1), "{file}");
    }
}

/// The kernels in the first cells of a table: "| `solve_{lower,upper}`, `copy` |" names three.
fn kernels_in_table(readme: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for row in readme.lines().filter(|l| l.starts_with("| `")) {
        let cell = row.split(" |").next().unwrap_or_default();
        for word in cell.split('`').skip(1).step_by(2) {
            let (stem, list) = word.split_once('{').unwrap_or((word, "}"));
            let (list, end) = list.split_once('}').expect("a closing brace");
            for part in list.split(',') {
                let name = format!("{stem}{part}{end}");
                assert!(names.insert(name.clone()), "{name}: two rows");
            }
        }
    }
    names
}

/// The README of each folder has a row for every kernel of the folder and for no other.
#[test]
fn every_kernel_is_described() {
    let mut made = BTreeMap::<String, BTreeSet<String>>::new();
    let mut described = BTreeMap::new();
    let sources = files(&kernels(), &["cu"]);
    for file in &sources {
        let (folder, _) = file.split_once('/').expect("sources lie in folders");
        let kernels_here = made.entry(folder.to_string()).or_default();
        for packed in files(&kernels().join("ptx"), &["lzma"]) {
            if stem(&packed) != stem(file) {
                continue;
            }
            let ptx = text(&kernels().join("ptx").join(packed));
            for entry in ptx.split(".entry ").skip(1) {
                let name = entry.split('(').next().unwrap_or_default();
                let stem = name.strip_suffix("_f64").or(name.strip_suffix("_f32"));
                kernels_here.insert(stem.unwrap_or(name).to_string());
            }
        }
    }
    for folder in made.keys() {
        let readme = fs::read_to_string(kernels().join(folder).join("README.md")).unwrap();
        assert!(readme.lines().count() <= 40, "{folder}/README.md");
        described.insert(folder.clone(), kernels_in_table(&readme));
    }
    assert!(!made.is_empty());
    assert_eq!(made, described);
}
