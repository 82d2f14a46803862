"""Eigenvalues and eigenvectors of 512 symmetric matrices of each order, on the device, and from
NumPy array to NumPy arrays: PyTorch, CuPy and cuSOLVER's XsyevBatched, those that are installed.
Prints CSV: name,n,ms. Run by eigen-batch.sh with eigen-batch.R."""
import ctypes
import sys

import numpy as np
import torch

COUNT = 512
torch.set_grad_enabled(False)
device = torch.device("cuda")
print("# torch", torch.__version__, torch.cuda.get_device_name(), flush=True)


def median(call, restore=lambda: None):
    """Milliseconds by events of the device."""
    times = []
    for _ in range(8):
        restore()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return float(np.median(times[1:]))


def say(name, n, call, restore=lambda: None):
    try:
        print(f"{name},{n},{median(call, restore):.4f}", flush=True)
    except Exception as error:  # A peer without the routine, or without memory for it.
        print(f"# {name} {n}: {error}", flush=True)


def solver():
    """cuSOLVER, which PyTorch has loaded."""
    for name in ("libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def from_host(x):
    return [part.cpu().numpy() for part in torch.linalg.eigh(torch.from_numpy(x).to(device))]


class Batched:
    """cusolverDnXsyevBatched, in double precision with vectors."""

    def __init__(self, cusolver, n):
        self.cusolver, self.n = cusolver, ctypes.c_int64(n)
        self.handle, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(cusolver.cusolverDnCreate(ctypes.byref(self.handle)))
        self.check(cusolver.cusolverDnCreateParams(ctypes.byref(self.params)))
        self.a = torch.empty(COUNT, n, n, dtype=torch.float64, device=device)
        self.w = torch.empty(COUNT, n, dtype=torch.float64, device=device)
        self.info = torch.zeros(COUNT, dtype=torch.int32, device=device)
        there, here = ctypes.c_size_t(), ctypes.c_size_t()
        self.check(cusolver.cusolverDnXsyevBatched_bufferSize(
            *self.operands(), ctypes.byref(there), ctypes.byref(here), ctypes.c_int64(COUNT)))
        self.work = torch.empty(max(there.value, 1), dtype=torch.uint8, device=device)
        self.host = ctypes.create_string_buffer(max(here.value, 1))
        self.sizes = there, here

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"cuSOLVER returned {status}")

    def operands(self):
        double, vectors, lower = 1, 1, 0
        return (self.handle, self.params, vectors, lower, self.n, double,
                ctypes.c_void_p(self.a.data_ptr()), self.n, double,
                ctypes.c_void_p(self.w.data_ptr()), double)

    def run(self):
        self.check(self.cusolver.cusolverDnXsyevBatched(
            *self.operands(), ctypes.c_void_p(self.work.data_ptr()), self.sizes[0], self.host,
            self.sizes[1], ctypes.c_void_p(self.info.data_ptr()), ctypes.c_int64(COUNT)))


# PyTorch loads cuSOLVER at the first use.
torch.linalg.eigh(torch.eye(2, dtype=torch.float64, device=device))
cusolver = solver()
for n in map(int, sys.argv[1:]):
    host = np.random.rand(COUNT, n, n)
    host = host + host.transpose(0, 2, 1)
    x = torch.from_numpy(host).to(device)
    say("torch.linalg.eigh", n, lambda: torch.linalg.eigh(x))
    say("torch.linalg.eigh, NumPy to NumPy", n, lambda: from_host(host))
    try:
        import cupy

        there = cupy.from_dlpack(x)
        say("cupy.linalg.eigh", n, lambda: cupy.linalg.eigh(there))
    except ImportError as error:
        print("# cupy:", error, flush=True)
    if cusolver is not None and hasattr(cusolver, "cusolverDnXsyevBatched"):
        batch = Batched(cusolver, n)
        # cuSOLVER's handle has the default stream, as PyTorch has.
        say("cusolverDnXsyevBatched", n, batch.run, lambda: batch.a.copy_(x))
    else:
        print("# this cuSOLVER has no XsyevBatched", flush=True)
