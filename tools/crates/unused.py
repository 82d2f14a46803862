"""What no build of the source package reads of the crates it compiles. Used by vendor.py.

rustc opens the file of a module only if the module's `cfg` holds. Each entry below is a module that
is off: by a feature that the build does not use, or by a platform that does not build from the
archive. A module that is on but not in the archive is an error of rustc ("file not found for
module"), never another program.
"""

import fnmatch
import re

# Modules behind features, crate by crate: file or folder -> the features that read it. vendor.py
# asks cargo which features are on: an entry is left out only while none of its features is.
FEATURES = {
    "cudarc": {
        "src/cublas": ["cublas"],
        "src/cublaslt": ["cublaslt"],
        "src/cudnn": ["cudnn*"],
        "src/cufft": ["cufft"],
        "src/cufile": ["cufile"],
        "src/cupti": ["cupti"],
        "src/curand": ["curand"],
        "src/cusolver": ["cusolver"],
        "src/cusolvermg": ["cusolvermg"],
        "src/cusparse": ["cusparse"],
        "src/cutensor": ["cutensor*"],
        "src/nccl": ["nccl*"],
        "src/nvtx": ["nvtx"],
        "src/runtime": ["runtime"],
    },
    "extendr-api": {
        "src/deserializer.rs": ["serde"],
        "src/graphics": ["graphics"],
        "src/optional/either.rs": ["either"],
        "src/optional/faer.rs": ["faer"],
        "src/optional/ndarray.rs": ["ndarray"],
        "src/serializer.rs": ["serde"],
    },
    "lzma-rust2": {
        "src/enc": ["encoder"],
        "src/lzip": ["lzip"],
        "src/lzip.rs": ["lzip"],
        "src/xz": ["xz"],
        "src/xz.rs": ["xz"],
    },
    "raw-cpuid": {
        "src/bin": ["cli"],
        "src/display.rs": ["display"],
    },
    # Readers of whole syntax trees. Procedural macros that only derive need few of them.
    "syn": {
        "src/gen/debug.rs": ["extra-traits"],
        "src/gen/eq.rs": ["extra-traits"],
        "src/gen/fold.rs": ["fold"],
        "src/gen/hash.rs": ["extra-traits"],
        "src/gen/visit.rs": ["visit"],
        "src/gen/visit_mut.rs": ["visit-mut"],
    },
}

# Modules for platforms that do not build from the archive. It serves Linux, Android, macOS and the
# BSDs; tools/configure.sh takes the crates from the registry on every other platform.
PLATFORMS = {
    "libc": [
        "src/fuchsia", "src/helenos.rs", "src/hermit.rs", "src/psp.rs", "src/qurt", "src/sgx.rs",
        "src/solid", "src/switch.rs", "src/teeos", "src/trusty.rs", "src/vxworks", "src/wasi",
        "src/windows", "src/xous.rs",
        "src/unix/aix", "src/unix/cygwin", "src/unix/haiku", "src/unix/hurd", "src/unix/newlib",
        "src/unix/nto", "src/unix/nuttx", "src/unix/redox", "src/unix/solarish",
        "src/unix/linux_like/emscripten", "src/unix/linux_like/l4re",
        "src/new/aix", "src/new/cygwin", "src/new/emscripten", "src/new/espidf",
        "src/new/fuchsia", "src/new/haiku", "src/new/helenos", "src/new/hermit_abi",
        "src/new/horizon", "src/new/hurd", "src/new/illumos", "src/new/l4re", "src/new/newlib",
        "src/new/nto", "src/new/nuttx", "src/new/qurt", "src/new/redox", "src/new/relibc",
        "src/new/rtems", "src/new/sgx", "src/new/solaris", "src/new/solid", "src/new/teeos",
        "src/new/trusty", "src/new/ucrt", "src/new/vita", "src/new/vxworks", "src/new/wasi",
        "src/new/xous",
    ],
    "pulp": ["src/wasm.rs"],
}

# Files and folders of tests, at any depth: their modules are under `#[cfg(test)]`. A file that says
# so itself is read up to that line, and keeps it.
TESTS = {"test", "tests"}
FILE_OF_TESTS = b"#![cfg(test)]\n"

# A module of tests inside a file, as rustfmt writes it: from its attributes, after the end of
# another item, to the first brace in column 0. The notice that replaces it is what Apache-2.0 asks
# of a modified file.
INLINE_TESTS = re.compile(
    rb"(?:(?<=[;}]\n)|(?<=[;}]\n\n))(?:#\[[^\n]*\]\n)*"
    rb"#\[cfg\((?:test|all\(test,[^\n]*\))\)\]\n(?:#\[[^\n]*\]\n)*"
    rb"(?:pub(?:\(\w+\))? )?mod \w+ \{\n.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
NOTICE = b"// cudafactor's source package leaves out the tests that were here.\n"

# Other types of files are read only by include!(), include_str!() and include_bytes!(): names.
INCLUDED = re.compile(r"""\binclude(?:_str|_bytes)?!\s*\([^;]{0,100}?["/]([^"/]+)"\s*\)""")


def entries(crate, features):
    """The files and folders of `crate` that a build with `features` does not read."""
    off = [
        path for path, needed in FEATURES.get(crate, {}).items()
        if not any(fnmatch.filter(features, pattern) for pattern in needed)
    ]
    return off + PLATFORMS.get(crate, [])


def without_unread(crate, features, files):
    """`files` (relative path -> bytes) less those that rustc does not read. An entry of the tables
    that no file matches is out of date: an error."""
    unread = entries(crate, features)
    for entry in unread:
        if not any(is_within(name, entry) for name in files):
            raise SystemExit(f"tools/crates/unused.py: {crate} has no {entry}: mend the table")
    kept = {}
    included = set()
    for name, data in files.items():
        if any(is_within(name, entry) for entry in unread):
            continue
        if is_test(name):
            if FILE_OF_TESTS not in data:
                continue
            data = FILE_OF_TESTS + NOTICE
        if name.endswith(".rs"):
            data = INLINE_TESTS.sub(without_tests, data)
            included |= set(INCLUDED.findall(data.decode()))
        kept[name] = data
    return {
        name: data for name, data in kept.items()
        if name.endswith(".rs") or name.split("/")[-1] in included
    }


def without_tests(match):
    """What replaces a module of tests: nothing is cut where its braces do not balance, as when a
    string has a line that looks like the module's end."""
    balanced = match[0].count(b"{") == match[0].count(b"}")
    return NOTICE if balanced else match[0]


def is_within(name, entry):
    return name == entry or name.startswith(entry + "/")


def is_test(name):
    return any(part in TESTS for part in name.removesuffix(".rs").split("/"))
