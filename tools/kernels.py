#!/usr/bin/env python3
"""Compiles the kernels below src/rust/kernels to PTX with a pinned NVRTC, and the PTX to machine
code with a pinned ptxas.

    python3 tools/kernels.py            write ptx/, cubin/ and images.rs in src/rust/kernels, and
                                        the table of what kernels use
    python3 tools/kernels.py --check    fail when a committed file differs from what the sources
                                        give
    python3 tools/kernels.py --check-ptx
                                        the same for PTX; machine code must have the hashes of the
                                        manifest

It needs no GPU, no CUDA toolkit and no nvcc.

The first line of a source names its architectures: `// arch: sm_80 sm_90`. A header that needs a
newer GPU than sm_60 has such a line too. See `check_architectures()` for what must hold. Code for
`sm_90a` runs on GPUs of compute capability 9.0 alone.

PTX files are compressed to a tenth of their size, machine code to a seventh; `xz -dc FILE` shows
what is inside, which depends on the sources and the compilers only. The manifest and --check
compare that, because versions of liblzma may compress it differently. A file with the right
content is left unchanged.

NVRTC 12.0.76 writes PTX ISA 8.0, which every driver since 525 accepts.
"""

import ctypes
import lzma
import multiprocessing
import pathlib
import re
import sys

import assembler
import kernel_tables
from wheels import sha256, unpacked

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "src" / "rust" / "kernels"
TABLE = ROOT / "docs" / "design" / "gpu" / "resources.md"

VERSION = "12.0.76"
WHEEL = f"nvidia_cuda_nvrtc_cu12-{VERSION}-py3-none-manylinux1_x86_64.whl"
WHEEL_SHA256 = "8dd4458a7d8bf8fd2b01a34a9069856d53a9b4c0af2037b77c12b270daf9c828"

# sm_60 is the oldest architecture. Most kernels need no newer one.
PORTABLE = [60]
ARCH = re.compile(r"// arch:((?: sm_[0-9]+)+|(?: sm_[0-9]+a))")
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


def compiler() -> ctypes.CDLL:
    """NVRTC from the pinned wheel, downloaded on first use."""
    folder = unpacked(
        "nvidia-cuda-nvrtc-cu12", VERSION, WHEEL, WHEEL_SHA256, f"nvrtc-{VERSION}"
    )
    library = folder / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
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
        named = [int(word.removeprefix("sm_").removesuffix("a")) for word in match[1].split()]
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


def pack(path: pathlib.Path, content: bytes) -> bytes:
    if path.suffix != ".lzma":
        return content
    filters = assembler.PACKING if ".cubin" in path.suffixes else PACKING
    return lzma.compress(content, format=lzma.FORMAT_ALONE, filters=filters)


def content(path: pathlib.Path) -> bytes:
    """What is in a file, before compression; nothing if the file is missing or damaged."""
    try:
        data = path.read_bytes()
        if path.suffix != ".lzma":
            return data
        return lzma.decompress(data, format=lzma.FORMAT_ALONE)
    except (OSError, EOFError, lzma.LZMAError):
        return b""


def manifest(files: list, ptx: dict, cubins: dict) -> bytes:
    lines = ["# Generated by tools/kernels.py: do not edit.",
             f"compiler NVRTC {VERSION}",
             "flags " + " ".join(COMMON),
             f"assembler ptxas {assembler.VERSION}"]
    lines += [f"source {sha256(f.read_bytes())} {f.relative_to(KERNELS).as_posix()}" for f in files]
    lines += [f"ptx {sha256(text)} {name}" for name, text in sorted(ptx.items())]
    lines += [f"cubin {sha256(image)} {name}" for name, image in sorted(cubins.items())]
    return ("\n".join(lines) + "\n").encode()


def build(assemble: bool, check_others: bool) -> dict:
    """The content of every generated file. Machine code and its table are those on disk unless
    `assemble`. `check_others`: see assembler.py."""
    compiler()
    sources, headers = by_name(".cu"), by_name(".cuh")
    jobs = {}
    for source in sources.values():
        for target in check_architectures(source, headers):
            exact = source.read_text().partition("\n")[0].endswith("a")
            flags = [f"--gpu-architecture=compute_{target}{'a' * exact}", *COMMON]
            jobs[source.stem, target] = (source, list(headers.values()), flags)
    out = {}
    # One process a program: names in NVRTC's output depend on the programs compiled before.
    with multiprocessing.Pool(maxtasksperchild=1) as pool:
        texts = dict(zip(jobs, pool.starmap(compile_ptx, jobs.values(), chunksize=1)))
        modules = {}
        for (name, target), text in texts.items():
            modules.setdefault(name, {})[target] = text
        if assemble:
            assembler.program()
            cubins, used = assembler.images(modules, pool)
            out[TABLE] = kernel_tables.resources(used).encode()
            if check_others:
                assembler.check_others(modules, pool)
        else:
            cubins = {path.name: content(path) for path in KERNELS.glob("cubin/*")}
    suffix = {key: "a" * assembler.is_exact(text) for key, text in texts.items()}
    ptx = {f"{n}.sm_{t}{suffix[n, t]}.ptx.lzma": text for (n, t), text in texts.items()}
    out.update({KERNELS / "ptx" / name: text for name, text in ptx.items()})
    out.update({KERNELS / "cubin" / name: image for name, image in cubins.items()})
    files = sorted([*sources.values(), *headers.values()])
    out[KERNELS / "MANIFEST"] = manifest(files, ptx, cubins)
    out[KERNELS / "images.rs"] = kernel_tables.images(ptx, cubins).encode()
    return out


def main() -> None:
    check = [option for option in sys.argv[1:] if option in ("--check", "--check-ptx")]
    made = build(assemble="--check-ptx" not in check, check_others=not check)
    have = {*KERNELS.glob("ptx/*"), *KERNELS.glob("cubin/*")}
    wrong = sorted(p for p in set(made) | have if p not in made or made[p] != content(p))
    if check:
        if wrong:
            names = ", ".join(str(p.relative_to(ROOT)) for p in wrong)
            sys.exit(f"committed files must be what the sources give; these differ: {names}; "
                     "run tools/kernels.py")
        print("the generated code of kernels is up to date")
        return
    for path in wrong:
        name = path.relative_to(ROOT)
        if path not in made:
            path.unlink()
            print(f"{name}: removed")
            continue
        data = pack(path, made[path])
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        print(f"{name}: {len(data)} bytes for {len(made[path])}")


if __name__ == "__main__":
    main()
