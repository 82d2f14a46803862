"""Fetches pinned programs and libraries from the Python package index."""

import hashlib
import pathlib
import subprocess
import sys
import zipfile

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def unpacked(package: str, version: str, wheel: str, expected: str, folder: str) -> pathlib.Path:
    """The folder below build/ with what `wheel` contains, downloaded on first use.

    It stops if the wheel has another hash than `expected`.
    """
    target = BUILD / folder
    if target.exists():
        return target
    path = BUILD / wheel
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        platforms = wheel.removesuffix(".whl").rsplit("-", 1)[1].split(".")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--only-binary=:all:", "--dest", str(BUILD), f"{package}=={version}"]
        for platform in platforms:
            command += ["--platform", platform]
        subprocess.run(command, check=True)
    if sha256(path.read_bytes()) != expected:
        sys.exit(f"{path}: the hash must be {expected}; delete the file and try again")
    partial = target.with_name(target.name + ".partial")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(partial)
    partial.rename(target)
    return target
