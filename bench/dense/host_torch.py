"""What a user of PyTorch waits for from NumPy array to NumPy array, and what the machine itself
takes for each part of the way: bytes over the bus, copies within the host, first touch of a result,
arithmetic. Prints CSV: name,n,ms. Run by host.sh beside host.R."""
import ctypes
import sys
import threading
import time

import numpy as np
import torch

torch.set_grad_enabled(False)
device = torch.device("cuda")
print("# torch", torch.__version__, torch.cuda.get_device_name(), flush=True)


def median(call, repeats):
    # At least 0.3 s, as on the other side: the GPU's clock and the host's memory settle.
    start = time.perf_counter()
    call()
    while time.perf_counter() - start < 0.3:
        call()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = call()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
        del result
    return float(np.median(times))


def say(name, n, ms):
    print(f"{name},{n},{ms:.4f}", flush=True)


def machine():
    """Milliseconds for 1 GiB each way over the bus, of copies to pinned memory, and of first touch,
    by all threads."""
    size = 1 << 30
    pinned = torch.empty(size, dtype=torch.uint8).pin_memory()
    pinned.fill_(1)
    there = torch.empty(size, dtype=torch.uint8, device=device)
    say("bus_in", size, median(lambda: there.copy_(pinned, non_blocking=True), 5))
    say("bus_out", size, median(lambda: pinned.copy_(there, non_blocking=True), 5))
    pageable = torch.empty(size, dtype=torch.uint8).fill_(1)
    say("copy", size, median(lambda: pinned.copy_(pageable), 5))
    say("touch", size, touch(size))


def touch(size, threads=16, huge=14):
    """First touch of fresh memory in huge pages by many threads."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.munmap.argtypes = libc.madvise.argtypes = None
    times = []
    for _ in range(3):
        at = libc.mmap(None, size, 3, 0x22, -1, 0)
        libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), huge)
        step = size // threads
        workers = [
            threading.Thread(target=ctypes.memset, args=(at + i * step, 0, step))
            for i in range(threads)
        ]
        start = time.perf_counter()
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        times.append(1e3 * (time.perf_counter() - start))
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return float(np.median(times))


def calls(n):
    a, b = np.random.rand(n, n), np.random.rand(n, n)
    s = a + a.T + 2 * n * np.eye(n)

    def up(x):
        return torch.from_numpy(x).to(device)

    return {
        "product": lambda: (up(a) @ up(b)).cpu().numpy(),
        "chol": lambda: torch.linalg.cholesky(up(s)).cpu().numpy(),
        "lu": lambda: torch.linalg.lu_factor(up(a))[0].cpu().numpy(),
        "qr": lambda: torch.linalg.qr(up(a), mode="r")[1].cpu().numpy(),
    }, {"product": lambda x=up(a), y=up(b): x @ y,
        "chol": lambda x=up(s): torch.linalg.cholesky_ex(x)}


machine()
for n in map(int, sys.argv[1:]):
    from_host, on_device = calls(n)
    repeats = 10 if n <= 4096 else 5 if n <= 8192 else 3
    for name, call in from_host.items():
        say("torch_" + name, n, median(call, repeats))
    for name, call in on_device.items():
        say("arithmetic_" + name, n, median(call, repeats))
    del from_host, on_device
    torch.cuda.empty_cache()
