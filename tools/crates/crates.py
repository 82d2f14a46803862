"""The locked crates, as cargo sees them. Shared by vendor.py and authors.py."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATE = ROOT / "src" / "rust"

# Where the source package builds without network. Other platforms take their crates from the
# registry (tools/configure.sh).
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
)


def cargo(*arguments):
    """Runs cargo in the crate's folder and returns what it printed."""
    return subprocess.run(
        ["cargo", *arguments], cwd=CRATE, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def compiled():
    """The crates that a build on one of TARGETS compiles, without tests: (name, version) -> the
    features that are on."""
    found = {}
    for target in TARGETS:
        listing = cargo(
            "tree", "--locked", "--edges", "normal,build", "--target", target,
            "--prefix", "none", "--format", "{p}|{f}|",
        )
        for line in listing.splitlines():
            package, features, _ = line.split("|")
            name, version = package.split()[:2]
            on = found.setdefault((name, version.removeprefix("v")), set())
            on.update(filter(None, features.split(",")))
    return {crate: features for crate, features in found.items() if crate[0] != "cudafactor"}


def packages():
    """Every package in Cargo.lock, as `cargo metadata` describes it."""
    return json.loads(cargo("metadata", "--locked", "--format-version", "1"))["packages"]
