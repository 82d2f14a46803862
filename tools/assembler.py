"""Assembles PTX to machine code with a pinned ptxas. Shared by kernels.py and its tables.

ptxas comes from the Python package index as a wheel, is checked against its hash, and is unpacked
below build/. It needs no GPU. The same PTX gives the same machine code.

Version 12.9 is the newest of CUDA 12. Machine code of any CUDA 12 loads with every driver from
525 on that knows the architecture.
"""

import lzma
import pathlib
import re
import subprocess
import sys
import tempfile

from wheels import unpacked

ROOT = pathlib.Path(__file__).resolve().parent.parent

VERSION = "12.9.86"
WHEEL = (
    f"nvidia_cuda_nvcc_cu12-{VERSION}-py3-none-"
    "manylinux2010_x86_64.manylinux_2_12_x86_64.whl"
)
WHEEL_SHA256 = "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0"

# The architectures with machine code, in their order in the packed file of a source. A GPU runs
# code for its major number and a minor number that is not greater. One file for all is a fourteenth
# smaller than three. Code for an architecture is unpacked with all before it: 150 MB take a second,
# and all code of the largest source has 4.6 MB.
TARGETS = [90, 100, 75, 80, 120]
# The driver compiles PTX for these; that they assemble is checked.
OTHERS = [60, 61, 70, 86, 87, 89, 103, 121]

# Instructions have 16 bytes, hence lp = pb = 4. The decoder needs as much memory as the dictionary.
PACKING = [
    {
        "id": lzma.FILTER_LZMA1,
        "preset": 9 | lzma.PRESET_EXTREME,
        "lc": 0,
        "lp": 4,
        "pb": 4,
        "dict_size": 4 << 20,
    }
]

# Architectures without tensor cores for double precision: kernels that use them have other kernels
# in their place there, save those that are named.
WITHOUT_DOUBLE = [120]
IRREPLACEABLE = ["cholesky_update"]
DOUBLE = re.compile(rb"mma\.sync\S*\.f64")

KINDS = {".u64": "l", ".u32": "i", ".f64": "d", ".f32": "f"}
ENTRY = re.compile(r"\.entry (\w+)\(([^)]*)\)")
USED = re.compile(
    r"Compiling entry function '(\w+)' for '\w+'\n"
    r".*Function properties for \w+\n"
    r" *\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n"
    r".*Used (\d+) registers(?:.*?(\d+) bytes smem)?"
)


def program() -> pathlib.Path:
    """ptxas from the pinned wheel, downloaded on first use."""
    folder = unpacked("nvidia-cuda-nvcc-cu12", VERSION, WHEEL, WHEEL_SHA256, f"ptxas-{VERSION}")
    path = folder / "nvidia" / "cuda_nvcc" / "bin" / "ptxas"
    path.chmod(0o755)
    return path


def parameters(ptx: bytes) -> list:
    """`kernel NAME KINDS` for every kernel whose parameters all have known kinds, one letter for
    each parameter."""
    lines = []
    for name, listed in ENTRY.findall(ptx.decode()):
        params = [line for line in listed.splitlines() if ".param" in line]
        kinds = [next((k for t, k in KINDS.items() if t in line), "?") for line in params]
        if "?" not in kinds:
            lines.append(f"kernel {name} {''.join(kinds)}".rstrip())
    return lines


def is_exact(ptx: bytes) -> bool:
    """Whether code is for GPUs of one compute capability alone."""
    return b".target sm_90a" in ptx


def assemble(name: str, ptx: bytes, arch: int) -> tuple:
    """The machine code of one module for one architecture, and what its kernels use: name ->
    (registers, bytes spilled, bytes of static shared memory)."""
    with tempfile.TemporaryDirectory() as folder:
        # ptxas writes the name of its input into nothing that is kept.
        source, output = pathlib.Path(folder, "kernels.ptx"), pathlib.Path(folder, "kernels.cubin")
        source.write_bytes(ptx)
        target = f"sm_{arch}{'a' * is_exact(ptx)}"
        command = [program(), f"-arch={target}", "-v", source, "-o", output]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"{name} for sm_{arch}: ptxas fails: {run.stderr.strip()}")
        used = {
            kernel: (int(registers), int(stores) + int(loads), int(shared or 0))
            for kernel, stores, loads, registers, shared in USED.findall(run.stderr)
        }
        return output.read_bytes(), used


def newest(variants: dict, arch: int):
    """The PTX for an architecture among a module's variants; None if all are for others."""
    fits = [(a, text) for a, text in variants.items()
            if a == arch or (a < arch and not is_exact(text))]
    return max(fits, default=(0, None))[1]


def images(modules: dict, pool) -> tuple:
    """Machine code for all TARGETS.

    `modules`: name -> {architecture: PTX}. Returns the files, name -> bytes before packing, and
    what kernels use, (name, architecture) -> see assemble().

    A file is text, an empty line, and the machine code of the architectures one after the other.
    The text has a line `sm_90 BYTES` for each architecture, in their order, and the lines of
    parameters().
    """
    jobs = [
        (name, newest(variants, arch), arch)
        for name, variants in modules.items()
        for arch in TARGETS
        if newest(variants, arch)
        and not (
            arch in WITHOUT_DOUBLE
            and name not in IRREPLACEABLE
            and DOUBLE.search(newest(variants, arch))
        )
    ]
    # The longest first.
    jobs.sort(key=lambda job: -len(job[1]))
    done = dict(zip([(n, a) for n, _, a in jobs], pool.starmap(assemble, jobs, chunksize=1)))
    files = {}
    for name, variants in modules.items():
        codes = [(arch, done[name, arch][0]) for arch in TARGETS if (name, arch) in done]
        head = [f"sm_{arch} {len(code)}" for arch, code in codes]
        # Each line once, in order.
        head += dict.fromkeys(
            line for arch, _ in codes for line in parameters(newest(variants, arch))
        )
        text = "\n".join(head) + "\n\n"
        files[f"{name}.cubin.lzma"] = text.encode() + b"".join(code for _, code in codes)
    return files, {key: used for key, (_, used) in done.items()}


def check_others(modules: dict, pool) -> None:
    """Stops unless every module assembles for OTHERS."""
    jobs = [
        (name, newest(variants, arch), arch)
        for name, variants in modules.items()
        for arch in OTHERS
        if newest(variants, arch)
    ]
    pool.starmap(assemble, jobs, chunksize=1)
