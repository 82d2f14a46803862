"""The locked crates, as cargo sees them. Shared by vendor.py and authors.py."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATE = ROOT / "src" / "rust"

# Where the source package builds without network. Windows takes its crates from the registry.
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)


def cargo(*arguments):
    """Runs cargo in the crate's folder and returns what it printed."""
    return subprocess.run(
        ["cargo", *arguments], cwd=CRATE, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def compiled():
    """The (name, version) of every crate that a build on one of TARGETS compiles, without
    tests."""
    found = set()
    for target in TARGETS:
        listing = cargo(
            "tree", "--locked", "--edges", "normal,build", "--target", target,
            "--prefix", "none", "--format", "{p}",
        )
        for line in listing.splitlines():
            name, version = line.split()[:2]
            found.add((name, version.removeprefix("v")))
    return {crate for crate in found if crate[0] != "cudafactor"}


def packages():
    """Every package in Cargo.lock, as `cargo metadata` describes it."""
    return json.loads(cargo("metadata", "--locked", "--format-version", "1"))["packages"]
