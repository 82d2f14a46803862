#!/usr/bin/env python3
"""Compiles the kernels below src/rust/kernels to PTX with a pinned NVRTC.

    python3 tools/kernels.py            write src/rust/kernels/ptx/*.ptx.lzma and MANIFEST
    python3 tools/kernels.py --check    fail when the committed PTX differs from the sources' PTX

It needs no GPU, no CUDA toolkit and no nvcc.

The first line of a source names its architectures: `// arch: sm_80 sm_90`. A header that needs a
newer GPU than sm_60 has such a line too. See `check_architectures()` for what must hold.

PTX files are compressed to a tenth of their size; `xz -dc FILE` shows the text. The text depends
on the sources and the compiler only. The manifest and --check compare the text, because versions
of liblzma may compress it differently. A file with the right text is left unchanged.

NVRTC 12.0.76 writes PTX ISA 8.0, which every driver since 525 accepts. It comes from the Python
package index as a wheel, is checked against its hash, and is unpacked below build/.
"""

import ctypes
import hashlib
import lzma
import multiprocessing
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "src" / "rust" / "kernels"
PTX = KERNELS / "ptx"
BUILD = ROOT / "build"

VERSION = "12.0.76"
WHEEL = f"nvidia_cuda_nvrtc_cu12-{VERSION}-py3-none-manylinux1_x86_64.whl"
WHEEL_SHA256 = "8dd4458a7d8bf8fd2b01a34a9069856d53a9b4c0af2037b77c12b270daf9c828"

# sm_60 is the oldest architecture. Most kernels need no newer one.
PORTABLE = [60]
ARCH = re.compile(r"// arch:((?: sm_[0-9]+)+)")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# Text has no alignment, hence pb = 0. The decoder needs as much memory as the dictionary.
PACKING = [
    {
        "id": lzma.FILTER_LZMA1,
        "preset": 9 | lzma.PRESET_EXTREME,
        "pb": 0,
        "dict_size": 4 << 20,
    }
]
COMMON = ["--std=c++17", "--device-as-default-execution-space"]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def compiler() -> ctypes.CDLL:
    """NVRTC from the pinned wheel, downloaded on first use."""
    folder = BUILD / f"nvrtc-{VERSION}"
    library = folder / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
    if not library.exists():
        wheel = BUILD / WHEEL
        if not wheel.exists():
            BUILD.mkdir(exist_ok=True)
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                 "--only-binary=:all:", "--platform", "manylinux1_x86_64",
                 "--dest", str(BUILD), f"nvidia-cuda-nvrtc-cu12=={VERSION}"],
                check=True,
            )
        if sha256(wheel.read_bytes()) != WHEEL_SHA256:
            sys.exit(f"{wheel}: the hash must be {WHEEL_SHA256}; delete the file and try again")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    # NVRTC opens its builtins by bare name, so the process must have loaded them before.
    ctypes.CDLL(str(library.with_name("libnvrtc-builtins.so.12.0")), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(library))


def compile_ptx(source: pathlib.Path, headers: list, flags: list) -> bytes:
    """The PTX text of one source.

    NVRTC gets the headers by their bare names, so the output contains no path of this machine.
    """
    nvrtc = compiler()
    program = ctypes.c_void_p()
    texts = (ctypes.c_char_p * len(headers))(*[h.read_bytes() for h in headers])
    names = (ctypes.c_char_p * len(headers))(*[h.name.encode() for h in headers])
    code = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.read_bytes(), source.name.encode(), len(headers), texts, names
    )
    if code:
        sys.exit(f"nvrtcCreateProgram: error {code}")
    options = (ctypes.c_char_p * len(flags))(*[f.encode() for f in flags])
    code = nvrtc.nvrtcCompileProgram(program, len(flags), options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if log.value.strip():
        print(log.value.decode(), file=sys.stderr)
    if code:
        sys.exit(f"{source.name}: NVRTC error {code}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    # The compiler's remarks around inline assembly are a tenth of the text for tensor cores.
    remarks = (b"// begin inline asm", b"// end inline asm")
    lines = ptx.value.splitlines(keepends=True)
    text = b"".join(line for line in lines if line.strip() not in remarks)
    # NVRTC 12.0 passes st.async on to the driver; ISA 8.1 is the first that has it.
    return text.replace(b".version 8.0", b".version 8.1", 1) if b"st.async" in text else text


def named_architectures(path: pathlib.Path) -> list:
    """The architectures in a file's first line, [60] for a header without such a line."""
    first = path.read_text().partition("\n")[0]
    match = ARCH.fullmatch(first)
    if match:
        named = [int(word.removeprefix("sm_")) for word in match[1].split()]
        if named == sorted(set(named)):
            return named
    elif path.suffix == ".cuh" and not first.startswith("// arch"):
        return PORTABLE
    sys.exit(
        f"{path.relative_to(ROOT)}: the first line must name the architectures in ascending "
        f"order, such as '// arch: sm_80 sm_90', but it is '{first}'"
    )


def included(source: pathlib.Path, headers: dict) -> list:
    """The headers that a source includes, directly or through others."""
    found, todo = {}, [source]
    while todo:
        path = todo.pop()
        for name in INCLUDE.findall(path.read_text()):
            if name not in headers:
                sys.exit(f"{path.relative_to(ROOT)}: there is no header '{name}'")
            if name not in found:
                found[name] = headers[name]
                todo.append(headers[name])
    return list(found.values())


def check_architectures(source: pathlib.Path, headers: dict) -> list:
    """The architectures of a source, checked against those of the headers that it includes.

    A header's first architecture is the oldest that can run it; for every other one it has code
    that suits that architecture better. So a source may name no architecture older than a
    header's first, and must name every newer one that a header names.
    """
    targets = named_architectures(source)
    for header in included(source, headers):
        needs = named_architectures(header)
        if targets[0] < needs[0]:
            sys.exit(
                f"{source.relative_to(ROOT)}: {header.name} needs sm_{needs[0]} or newer, but the "
                f"first line names sm_{targets[0]}; remove sm_{targets[0]} or the header"
            )
        for need in needs:
            if need > targets[0] and need not in targets:
                sys.exit(
                    f"{source.relative_to(ROOT)}: {header.name} has code for sm_{need}, but the "
                    f"first line does not name it; add sm_{need}"
                )
    return targets


def by_name(suffix: str) -> dict:
    """The files with this suffix below KERNELS. PTX files and #include need unique names."""
    files = {}
    for path in sorted(KERNELS.rglob("*" + suffix)):
        if path.name in files:
            first, second = files[path.name].relative_to(ROOT), path.relative_to(ROOT)
            sys.exit(f"{first} and {second}: file names must be unique; rename one of them")
        files[path.name] = path
    return files


def pack(text: bytes) -> bytes:
    return lzma.compress(text, format=lzma.FORMAT_ALONE, filters=PACKING)


def unpack(path: pathlib.Path) -> bytes:
    """The text in a file; nothing if the file is missing or damaged."""
    if path.suffix != ".lzma":
        return path.read_bytes()
    try:
        return lzma.decompress(path.read_bytes(), format=lzma.FORMAT_ALONE)
    except (OSError, EOFError, lzma.LZMAError):
        return b""


def build() -> dict:
    """The name and text of every generated file, before compression."""
    compiler()
    sources, headers = by_name(".cu"), by_name(".cuh")
    jobs = {}
    for source in sources.values():
        targets = check_architectures(source, headers)
        for target in targets:
            suffix = ".ptx.lzma" if targets == PORTABLE else f".sm_{target}.ptx.lzma"
            flags = [f"--gpu-architecture=compute_{target}", *COMMON]
            jobs[source.stem + suffix] = (source, list(headers.values()), flags)
    # One process a program: names in NVRTC's output depend on the programs compiled before.
    with multiprocessing.Pool(maxtasksperchild=1) as pool:
        out = dict(zip(jobs, pool.starmap(compile_ptx, jobs.values(), chunksize=1)))
    files = sorted([*sources.values(), *headers.values()])
    lines = ["# Generated by tools/kernels.py: do not edit.",
             f"compiler NVRTC {VERSION}",
             "flags " + " ".join(COMMON)]
    lines += [f"source {sha256(f.read_bytes())} {f.relative_to(KERNELS).as_posix()}" for f in files]
    lines += [f"ptx {sha256(text)} {name}" for name, text in sorted(out.items())]
    out["MANIFEST"] = ("\n".join(lines) + "\n").encode()
    return out


def main() -> None:
    made = build()
    have = {f.name: unpack(f) for f in PTX.iterdir()} if PTX.is_dir() else {}
    wrong = sorted(n for n in set(made) | set(have) if made.get(n) != have.get(n))
    if "--check" in sys.argv[1:]:
        if wrong:
            sys.exit(
                "the committed PTX must be what the sources compile to; these differ: "
                + ", ".join(wrong) + "; run tools/kernels.py"
            )
        print("PTX is up to date")
        return
    PTX.mkdir(exist_ok=True)
    for name in wrong:
        if name not in made:
            (PTX / name).unlink()
            print(f"{name}: removed")
            continue
        data = pack(made[name]) if name.endswith(".lzma") else made[name]
        (PTX / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes for {len(made[name])}")


if __name__ == "__main__":
    main()
