#!/usr/bin/env python3
"""Checks that no line of a tracked text file has more than 100 characters; needs Python and git.

    python3 tools/lines.py              names each line that is too long, and fails if there is one
    python3 tools/lines.py FILE...      checks only these files

What may be longer stands in FREE_FILES and FREE_LINES, each with its reason.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 100

# Files, by the pattern of their path; `*` stands for folders too.
FREE_FILES = {
    "R/extendr-wrappers.R": "written by `make wrappers`",
    "NAMESPACE": "written by roxygen2",
    "man/*": "written by roxygen2",
    "bench/results/*": "written by the benchmarks",
    "bench/RESULTS.md": "written by `make results`",
    "*Cargo.lock": "written by cargo",
    "inst/AUTHORS": "written by tools/crates/authors.py",
    "LICENSE*": "legal texts, and what tools/crates/authors.py writes",
    "src/rust/kernels/MANIFEST": "written by tools/kernels.py",
    "*.csv": "data: a row is a line",
    "tests/testthat/lp-highs.txt": "data: a problem is a line",
}
# Lines, by the pattern of a path and that of the line: what Markdown allows no break in.
FREE_LINES = [
    ("*.md", r"\s*\|", "a row of a table"),
    ("*.Rmd", r"\s*\|", "a row of a table"),
    ("*.rs", r"\s*//[/!] \|", "a row of a table in a documentation comment"),
    ("*.md", r"\[[^\]]+\]: ", "the definition of a link"),
]


def tracked() -> list:
    """The paths of all tracked files."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for path in listed.stdout.split("\0") if path]


def too_long(path: str) -> list:
    """The numbers and lengths of the lines of a file that are too long."""
    if any(fnmatch.fnmatch(path, pattern) for pattern in FREE_FILES):
        return []
    try:
        text = (ROOT / path).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return []
    free = [line for pattern, line, _ in FREE_LINES if fnmatch.fnmatch(path, pattern)]
    return [
        (number, len(line)) for number, line in enumerate(text.split("\n"), 1)
        if len(line) > MOST and not any(re.match(pattern, line) for pattern in free)
    ]


def main() -> None:
    given = [str(pathlib.Path(path).resolve().relative_to(ROOT)) for path in sys.argv[1:]]
    wrong = [
        f"{path}:{number}: {length} characters, at most {MOST}"
        for path in given or tracked() for number, length in too_long(path)
    ]
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
