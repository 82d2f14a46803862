"""What a user of PyTorch waits for from NumPy array to NumPy arrays: eigenvalues, singular values,
principal components. Prints CSV: name,n,ms. Run by eigen-host.sh with eigen-host.R."""
import sys
import time

import numpy as np
import torch

torch.set_grad_enabled(False)
device = torch.device("cuda")
print("# torch", torch.__version__, torch.cuda.get_device_name(), flush=True)
# A single run may take so long.
LONG = 4.0


def median(call):
    times = []
    for run in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
        if times[0] > 1e3 * LONG / 3 and run > 0:
            break
    return float(np.median(times[1:] if len(times) > 1 else times))


def down(result):
    return [part.cpu().numpy() for part in result]


def up(x):
    return torch.from_numpy(x).to(device)


last = {}


def say(name, n, call):
    # The cube of the order tells what is too long.
    if name in last and last[name][1] * (n / last[name][0]) ** 3 > 1e3 * LONG:
        return
    ms = median(call)
    last[name] = (n, ms)
    print(f"{name},{n},{ms:.4f}", flush=True)


def components(x, k):
    centred = x - x.mean(0, keepdim=True)
    u, d, v = torch.svd_lowrank(centred, q=k, niter=2)
    return d, v, centred @ v


for n in map(int, sys.argv[1:]):
    a = np.random.rand(n, n)
    s = a + a.T
    say("eigen, vectors", n, lambda: down(torch.linalg.eigh(up(s))))
    say("eigen, values", n, lambda: torch.linalg.eigvalsh(up(s)).cpu().numpy())
    say("svd, vectors", n, lambda: down(torch.linalg.svd(up(a), full_matrices=False)))
    say("svd, values", n, lambda: torch.linalg.svdvals(up(a)).cpu().numpy())
for m, n in ((1_000_000, 100), (20_000, 2000)):
    x = np.random.rand(m, n)
    say(f"prcomp, {m} rows", n, lambda: down(components(up(x), n)))
