#!/usr/bin/env python3
"""Packs the crates that a build without network needs into one archive.

Usage: tools/crates/vendor.py [OUTPUT]     (build/vendor.tar.xz)

`cargo vendor` brings every crate of Cargo.lock, 170 MB of them, most for Windows and for tests.
Cargo wants each locked crate to be present, but compiles only some of them. The others keep their
manifest and licence, and get an empty library. A compiled crate keeps its licence and the files
that a build reads: no tests, benchmarks, examples or their data, and no module that is off
(tools/crates/unused.py). The same lock file gives the same bytes with the same version of xz.
"""

import hashlib
import io
import json
import lzma
import pathlib
import shutil
import sys
import tarfile
import tomllib

import crates
import unused

UNUSED_FOLDERS = {"tests", "test", "benches", "bench", "examples", "example", "docs", "doc", "ci",
    "fuzz"}
LICENCE_STEMS = ("licen", "copying", "copyright", "notice", "unlicense")


def is_licence(path):
    return path.name.lower().startswith(LICENCE_STEMS)


def is_notice(name):
    """Whether a file at the top of a crate is its manifest or a licence."""
    path = pathlib.PurePath(name)
    return len(path.parts) == 1 and (name == "Cargo.toml" or is_licence(path))


def wanted(path, compiled):
    """Whether the file `path`, relative to its crate, goes into the archive."""
    if any(part.startswith(".") for part in path.parts):
        return False
    if is_notice(path.as_posix()):
        return True
    if not compiled or path.name in ("Cargo.lock", "Cargo.toml.orig"):
        return False
    return path.parts[0] not in UNUSED_FOLDERS


def trim(folder, features):
    """The files of one vendored crate that are kept: relative path -> bytes. `features` are those
    that the build uses, or None for a crate that it does not compile."""
    compiled = features is not None
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and wanted(path.relative_to(folder), compiled)
    }
    manifest = tomllib.loads(files["Cargo.toml"].decode())
    if compiled:
        always = {name: data for name, data in files.items() if is_notice(name)}
        files = always | unused.without_unread(manifest["package"]["name"], features, files)
    else:
        files[manifest.get("lib", {}).get("path", "src/lib.rs")] = b""
        build_script = manifest["package"].get("build")
        if isinstance(build_script, str):
            files[build_script] = b"fn main() {}\n"
    # Cargo compares the crate's checksum with Cargo.lock, and each file that is listed here with
    # its hash. It needs no file listed; xz has a checksum of the archive.
    checksum = json.loads((folder / ".cargo-checksum.json").read_text())
    checksum["files"] = {}
    files[".cargo-checksum.json"] = json.dumps(checksum, sort_keys=True).encode()
    return files


def archive(entries):
    """A tar archive that depends on names and contents alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in sorted(entries.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def key():
    """What the archive is made from, so that an unchanged one is not made again."""
    digest = hashlib.sha256()
    tools = [pathlib.Path(module.__file__) for module in (crates, unused)]
    manifests = [crates.CRATE / "Cargo.lock", crates.CRATE / "Cargo.toml"]
    for path in (*manifests, *tools, pathlib.Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main():
    build = crates.ROOT / "build"
    output = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else build / "vendor.tar.xz"
    stamp = output.with_suffix(".key")
    if output.exists() and stamp.exists() and stamp.read_text() == key():
        print(f"{output}: up to date")
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    vendor = build / "vendor"
    shutil.rmtree(vendor, ignore_errors=True)
    crates.cargo("vendor", "--locked", "--versioned-dirs", "--quiet", str(vendor))

    compiled = crates.compiled()
    entries = {}
    kept = 0
    for folder in sorted(vendor.iterdir()):
        package = tomllib.loads((folder / "Cargo.toml").read_text())["package"]
        features = compiled.get((package["name"], package["version"]))
        kept += features is not None
        for name, data in trim(folder, features).items():
            entries[f"vendor/{folder.name}/{name}"] = data
    if kept != len(compiled):
        sys.exit(f"cargo compiles {len(compiled)} crates, but {kept} of them were vendored")

    # lc and pb for text: 0.5 % smaller than the preset. The order of files matters less.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
    data = lzma.compress(archive(entries), filters=filters)
    output.write_bytes(data)
    stamp.write_text(key())
    shutil.rmtree(vendor)
    print(f"{output}: {kept} crates and {len(folder_names(entries)) - kept} stubs, "
          f"{len(data) / 1e6:.2f} MB")


def folder_names(entries):
    return {name.split("/")[1] for name in entries}


if __name__ == "__main__":
    main()
