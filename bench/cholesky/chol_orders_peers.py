"""Cholesky factorizations by NVIDIA's libraries, as PyTorch and the CUDA toolkit have them:
cuSOLVER on one GPU, from NumPy array to NumPy array and with the data on the device, and cuSOLVERMg
on all GPUs with the data on the devices. Prints CSV: name,n,s. Run by chol-orders.sh before
chol-orders.R."""
import ctypes
import glob
import sys
import time

import numpy as np
import torch

torch.set_grad_enabled(False)
gpus = torch.cuda.device_count()
print("# torch", torch.__version__, "cuda", torch.version.cuda, torch.cuda.get_device_name(), "x",
    gpus, flush=True)


def median(call, repeats):
    times = []
    for i in range(repeats + 1):
        for d in range(gpus):
            torch.cuda.synchronize(d)
        start = time.perf_counter()
        result = call()
        for d in range(gpus):
            torch.cuda.synchronize(d)
        times.append(time.perf_counter() - start)
        del result
    # The first call is not counted.
    return float(np.median(times[1:]))


def library(name):
    for folder in sys.path:
        for path in sorted(glob.glob(f"{folder}/nvidia/**/{name}.so*", recursive=True)):
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(name + ".so")


class Multi:
    """cusolverMgPotrf on a matrix that is dealt out by blocks of columns, cyclically; the lower
    triangle, for it has no other."""

    DOUBLE, LOWER, BLOCK = 1, 0, 256

    def __init__(self):
        self.lib = library("libcusolverMg")
        runtime = library("libcudart")
        for a in range(gpus):
            for b in range(gpus):
                if a != b:
                    # An error where it is enabled already.
                    runtime.cudaSetDevice(a)
                    runtime.cudaDeviceEnablePeerAccess(b, 0)
        runtime.cudaGetLastError()
        self.ids = (ctypes.c_int * gpus)(*range(gpus))
        self.handle = ctypes.c_void_p()
        self.call("cusolverMgCreate", ctypes.byref(self.handle))
        self.call("cusolverMgDeviceSelect", self.handle, ctypes.c_int(gpus), self.ids)
        self.grid = ctypes.c_void_p()
        self.call("cusolverMgCreateDeviceGrid", ctypes.byref(self.grid), 1, gpus, self.ids, 0)

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status:
            raise RuntimeError(f"{name}: status {status}")

    def seconds(self, n, repeats):
        block = min(self.BLOCK, n)
        blocks = [list(range(d * block, n, gpus * block)) for d in range(gpus)]
        # Whole blocks everywhere, as many as the first device has.
        most = len(blocks[0]) * block
        local = [torch.empty((most, n), dtype=torch.float64, device=f"cuda:{d}")
            for d in range(gpus)]

        def fill():
            # Of the matrix, and of the rest of its blocks, the lower triangle alone is looked at.
            for d, own in enumerate(blocks):
                local[d].uniform_()
                for k, j in enumerate(own):
                    w = min(block, n - j)
                    diagonal = torch.arange(w, device=f"cuda:{d}")
                    local[d][k * block + diagonal, j + diagonal] += float(n)
                torch.cuda.synchronize(d)
            return local[0][0].clone()

        desc = ctypes.c_void_p()
        sizes = (ctypes.c_int64(n), ctypes.c_int64(n), ctypes.c_int64(n), ctypes.c_int64(block))
        self.call("cusolverMgCreateMatrixDesc", ctypes.byref(desc), *sizes,
            ctypes.c_int(self.DOUBLE), self.grid)
        matrix = (ctypes.c_void_p * gpus)(*[t.data_ptr() for t in local])
        lwork = ctypes.c_int64()
        front = (self.handle, ctypes.c_int(self.LOWER), ctypes.c_int(n), matrix, 1, 1, desc,
            ctypes.c_int(self.DOUBLE))
        self.call("cusolverMgPotrf_bufferSize", *front, ctypes.byref(lwork))
        work = [torch.empty(lwork.value, dtype=torch.float64, device=f"cuda:{d}")
            for d in range(gpus)]
        spaces = (ctypes.c_void_p * gpus)(*[w.data_ptr() for w in work])
        info = ctypes.c_int()
        times = []
        for _ in range(repeats + 1):
            first = fill()
            start = time.perf_counter()
            self.call("cusolverMgPotrf", *front, spaces, lwork, ctypes.byref(info))
            for d in range(gpus):
                torch.cuda.synchronize(d)
            times.append(time.perf_counter() - start)
            if info.value:
                raise RuntimeError(f"cusolverMgPotrf: info {info.value}")
        # The first column of the factor says whether it is one.
        expected = first / first[0].sqrt()
        if float((local[0][0] - expected).abs().max()) > 1e-10 * float(expected[0]):
            raise RuntimeError("cusolverMgPotrf: this is not the factor")
        return float(np.median(times[1:]))


try:
    multi = Multi()
except (OSError, RuntimeError, AttributeError) as e:
    print("# cuSOLVERMg:", e, flush=True)
    multi = None

for n in map(int, sys.argv[1:]):
    repeats = 5 if n < 30000 else 2
    up = torch.rand((n, n), dtype=torch.float64, device="cuda:0")
    up = up + up.T
    up.diagonal().add_(float(n))
    s = up.cpu().numpy()
    print(f"cusolver_device,{n},{median(lambda: torch.linalg.cholesky_ex(up), repeats):.6f}",
        flush=True)
    del up
    host = median(lambda: torch.linalg.cholesky(torch.from_numpy(s).to("cuda:0")).cpu().numpy(),
        repeats)
    print(f"cusolver_host,{n},{host:.6f}", flush=True)
    torch.cuda.empty_cache()
    if multi:
        try:
            print(f"cusolvermg_device,{n},{multi.seconds(n, repeats):.6f}", flush=True)
        except (RuntimeError, AttributeError) as e:
            print("# cuSOLVERMg:", n, e, flush=True)
        torch.cuda.empty_cache()
