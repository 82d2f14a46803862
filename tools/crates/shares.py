#!/usr/bin/env python3
"""Prints the shares of a source package as a table, and fails above CRAN's limit.

Usage: tools/crates/shares.py build/cudafactor_VERSION.tar.gz

A file's share is its own size after gzip. The sum differs a little from the archive's size.
"""

import fnmatch
import pathlib
import sys
import tarfile
import zlib

# What CRAN's policy allows a source package without asking.
LIMIT = 10_000_000

# The first pattern that a path matches names its share.
SHARES = [
    ("crates (vendor.tar.xz)", "src/rust/vendor.tar.xz"),
    ("packed code for GPUs", "src/rust/kernels/*.lzma"),
    ("kernels, CUDA sources", "src/rust/kernels/*"),
    ("Rust sources", "src/*"),
    ("R sources", "R/*"),
    ("tests of R", "tests/*"),
    ("vignettes as HTML", "inst/doc/*.html"),
    ("figures", "man/figures/*"),
    ("help pages", "man/*"),
    ("all others", "*"),
]


def share_of(path):
    return next(name for name, pattern in SHARES if fnmatch.fnmatchcase(path, pattern))


def shares(archive):
    """Bytes by share, after gzip."""
    sizes = {name: 0 for name, _ in SHARES}
    with tarfile.open(archive) as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):
            # The first folder is the package.
            path = member.name.partition("/")[2]
            sizes[share_of(path)] += len(zlib.compress(tar.extractfile(member).read(), 9))
    return sizes


def main():
    archive = pathlib.Path(sys.argv[1])
    size = archive.stat().st_size
    print("| share | MB |\n|:---|---:|")
    for name, bytes_ in shares(archive).items():
        print(f"| {name} | {bytes_ / 1e6:.2f} |")
    print(f"| {archive.name} | {size / 1e6:.2f} |")
    if size > LIMIT:
        sys.exit(f"{archive.name} must have at most {LIMIT} bytes, CRAN's limit, but has {size}: "
            "make a share smaller, see docs/design/source-package.md")


if __name__ == "__main__":
    main()
