#!/usr/bin/env python3
"""Compiles src/rust/kernels/*.cu to PTX with a pinned NVRTC; needs no GPU, toolkit or nvcc.

    python3 tools/kernels.py            write src/rust/kernels/ptx/*.ptx.lzma and MANIFEST
    python3 tools/kernels.py --check    fail when what is committed is not what the sources make

The text is packed, because it is ten times as large; `xz -dc FILE` shows it. Its bytes depend on the sources and the
compiler alone, and it is the text that the manifest and --check are about: versions of liblzma may pack it differently. A file
whose text is still right is therefore left as it is.

NVRTC 12.0.76 writes PTX ISA 8.0, which every driver since 525 accepts. It comes from the Python
package index as a wheel, checked against its hash, and is unpacked under build/.
"""

import ctypes
import hashlib
import lzma
import multiprocessing
import pathlib
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

# sm_60 is the oldest architecture with everything the portable kernels use. Kernels that need tensor cores in double precision
# exist from sm_80 on, once more for the larger instructions of sm_90; those that only need copies beside the threads, or the
# warps' largest number that columns in a pipeline ask for, for sm_80; those of clusters of blocks for sm_90, and these name ISA
# 8.1, from which they have an instruction that NVRTC only passes on.
PORTABLE = [60]
COPYING = [80]
COPYING_HEADER = b'#include "copies.cuh"'
PIPELINE_HEADER = b'#include "pipeline.cuh"'
CLUSTER = [90]
CLUSTER_HEADER = b'#include "cluster.cuh"'
TENSOR = [80, 90]
TENSOR_HEADER = b'#include "tile_f64.cuh"'
# Text: no alignment to look at. The reader needs as much memory as the dictionary has.
PACKING = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0, "dict_size": 4 << 20}]
COMMON = ["--std=c++17", "--device-as-default-execution-space"]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def compiler() -> ctypes.CDLL:
    """NVRTC from the pinned wheel, fetched on first use."""
    folder = BUILD / f"nvrtc-{VERSION}"
    library = folder / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
    if not library.exists():
        wheel = BUILD / WHEEL
        if not wheel.exists():
            BUILD.mkdir(exist_ok=True)
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                 "--platform", "manylinux1_x86_64", "--dest", str(BUILD), f"nvidia-cuda-nvrtc-cu12=={VERSION}"],
                check=True,
            )
        if sha256(wheel.read_bytes()) != WHEEL_SHA256:
            sys.exit(f"{wheel}: not the expected file; delete it and try again")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    # NVRTC opens its builtins by bare name, so they must be in the process already.
    ctypes.CDLL(str(library.with_name("libnvrtc-builtins.so.12.0")), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(library))


def compile_ptx(source: pathlib.Path, headers: list, flags: list) -> bytes:
    """One source to PTX text. Headers travel by name, so no path of this machine can reach the output."""
    nvrtc = compiler()
    program = ctypes.c_void_p()
    texts = (ctypes.c_char_p * len(headers))(*[h.read_bytes() for h in headers])
    names = (ctypes.c_char_p * len(headers))(*[h.name.encode() for h in headers])
    code = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), source.name.encode(), len(headers), texts, names)
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
    # The compiler's remarks around inline assembly are a tenth of what is made for tensor cores.
    lines = ptx.value.splitlines(keepends=True)
    text = b"".join(line for line in lines if line.strip() not in (b"// begin inline asm", b"// end inline asm"))
    return text.replace(b".version 8.0", b".version 8.1", 1) if b"st.async" in text else text


def architectures(source: pathlib.Path, headers: list) -> list:
    """What a source is compiled for: it tells by the headers it includes, through others or not."""
    texts = {h.name: h.read_bytes() for h in headers}
    text, seen = source.read_bytes(), set()
    while more := {n for n in texts if b'#include "%s"' % n.encode() in text} - seen:
        seen |= more
        text += b"".join(texts[n] for n in more)
    if CLUSTER_HEADER in text:
        return CLUSTER
    if TENSOR_HEADER in text:
        return TENSOR
    return COPYING if COPYING_HEADER in text or PIPELINE_HEADER in text else PORTABLE


def pack(text: bytes) -> bytes:
    return lzma.compress(text, format=lzma.FORMAT_ALONE, filters=PACKING)


def unpack(path: pathlib.Path) -> bytes:
    """The text in a file; nothing where it is not there or not whole."""
    if path.suffix != ".lzma":
        return path.read_bytes()
    try:
        return lzma.decompress(path.read_bytes(), format=lzma.FORMAT_ALONE)
    except (OSError, EOFError, lzma.LZMAError):
        return b""


def build() -> dict:
    """Every generated file's name and text, before it is packed."""
    compiler()
    sources = sorted(KERNELS.glob("*.cu"))
    headers = sorted(KERNELS.glob("*.cuh"))
    jobs = {}
    for source in sources:
        targets = architectures(source, headers)
        for target in targets:
            suffix = ".ptx.lzma" if targets == PORTABLE else f".sm_{target}.ptx.lzma"
            jobs[source.stem + suffix] = (source, headers, [f"--gpu-architecture=compute_{target}", *COMMON])
    # Each in a process of its own: the library compiles one program after the other, and names in it depend on those before.
    with multiprocessing.Pool(maxtasksperchild=1) as pool:
        out = dict(zip(jobs, pool.starmap(compile_ptx, jobs.values(), chunksize=1)))
    lines = ["# Generated by tools/kernels.py: do not edit.",
             f"compiler NVRTC {VERSION}",
             "flags " + " ".join(COMMON),
             f"architectures {PORTABLE} {COPYING} {TENSOR}"]
    lines += [f"source {sha256(f.read_bytes())} {f.name}" for f in sources + headers]
    lines += [f"ptx {sha256(text)} {name}" for name, text in sorted(out.items())]
    out["MANIFEST"] = ("\n".join(lines) + "\n").encode()
    return out


def main() -> None:
    made = build()
    have = {f.name: unpack(f) for f in PTX.iterdir()} if PTX.is_dir() else {}
    wrong = sorted(n for n in set(made) | set(have) if made.get(n) != have.get(n))
    if "--check" in sys.argv[1:]:
        if wrong:
            sys.exit("not what the sources make: " + ", ".join(wrong))
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
