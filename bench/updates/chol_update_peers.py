"""Cholesky factorizations by cuSOLVER, as PyTorch has it, of what an update of a factor saves to
factor; data on the device. Prints CSV: name,change,n,k,median_s,least_s,error,error_eps, and of a
copy on the device, by name `copy`, the bytes read and written a second in place of the seconds. Run
by chol-update.sh, which says what the parts are; those that have nothing here are left out."""
import sys
import time

import torch

torch.set_grad_enabled(False)
device = "cuda:0"
print("# torch", torch.__version__, "cuda", torch.version.cuda, torch.cuda.get_device_name(),
    flush=True)


def seconds(call, repeats=7):
    """The median and the least of some calls, after two that are not counted."""
    times = []
    for _ in range(repeats + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        del result
    times = sorted(times[2:])
    return times[len(times) // 2], times[0]


def say(name, change, n, k, times, error=("", "")):
    print(",".join(str(x) for x in (name, change, n, k, *times, *error)), flush=True)


def copies(gib=4):
    source = torch.ones(gib * 2**27, dtype=torch.float64, device=device)
    target = torch.empty_like(source)
    times = seconds(lambda: target.copy_(source))
    say("copy", "", 0, 0, [2 * gib * 2**30 / t for t in times])


def uniform(rows, cols):
    return torch.rand((rows, cols), dtype=torch.float64, device=device)


def factor(a):
    factor, info = torch.linalg.cholesky_ex(a)
    return factor, info


def error(a):
    lower, info = factor(a)
    if int(info):
        raise RuntimeError(f"cuSOLVER: info {int(info)}")
    worst = float((lower @ lower.T - a).abs().max())
    return worst, worst / float(a.abs().max()) / 2.0**-52


def paper(n, ranks):
    """The paper's matrices: B'B + I, with V V' for an update, without for a downdate."""
    b = uniform(n, n)
    a = b.T @ b
    del b
    a.diagonal().add_(1.0)
    times = seconds(lambda: factor(a))
    without = error(a)
    for k in ranks:
        v = uniform(n, k)
        say("cusolver", "up", n, k, times, error(a + v @ v.T))
        say("cusolver", "down", n, k, times, without)


def definite(n):
    b = uniform(n, n)
    a = b + b.T
    del b
    a.diagonal().add_(float(n))
    say("cusolver", "", n, 0, seconds(lambda: factor(a)))


for argument in sys.argv[1:]:
    part, sizes = argument.split("=")
    orders, _, ranks = sizes.partition(":")
    if part == "device":
        copies()
    for n in map(int, orders.split(",")):
        if part == "paper":
            paper(n, [int(k) for k in ranks.split(",")])
        elif part == "device":
            definite(n)
        torch.cuda.empty_cache()
