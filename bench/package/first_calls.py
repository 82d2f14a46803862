"""The first and the second call of a library in this process, from NumPy array to NumPy array.

    python3 first_calls.py torch|cupy CASE

CASE is gpu_matmult, gpu_chol, gpu_lu, gpu_qr or gpu_solve.

Prints both in seconds. Run by first-calls.R. Importing the library comes before.
"""

import sys
import time

import numpy as np

library, case = sys.argv[1:]
rng = np.random.default_rng(1)
n = 1000
x = rng.standard_normal((n, n))
b = rng.standard_normal((n, 1))
definite = x.T @ x + np.eye(n)


def with_torch():
    import torch

    torch.set_grad_enabled(False)
    linalg = torch.linalg
    calls = {
        "gpu_matmult": lambda a: a @ a,
        "gpu_chol": linalg.cholesky,
        "gpu_lu": linalg.lu_factor,
        "gpu_qr": linalg.qr,
        "gpu_solve": lambda a: linalg.solve(a, torch.from_numpy(b).cuda()),
    }

    def run(a):
        value = calls[case](torch.from_numpy(a).cuda())
        parts = value if isinstance(value, tuple) else (value,)
        return [part.cpu().numpy() for part in parts]

    return run


def with_cupy():
    import cupy
    import cupyx.scipy.linalg

    calls = {
        "gpu_matmult": lambda a: a @ a,
        "gpu_chol": cupy.linalg.cholesky,
        "gpu_lu": cupyx.scipy.linalg.lu_factor,
        "gpu_qr": cupy.linalg.qr,
        "gpu_solve": lambda a: cupy.linalg.solve(a, cupy.asarray(b)),
    }

    def run(a):
        value = calls[case](cupy.asarray(a))
        parts = value if isinstance(value, tuple) else (value,)
        return [cupy.asnumpy(part) for part in parts]

    return run


call = {"torch": with_torch, "cupy": with_cupy}[library]()
operand = definite if case == "gpu_chol" else x
times = []
for _ in range(2):
    start = time.perf_counter()
    call(operand)
    times.append(time.perf_counter() - start)
print(f"\n{times[0]:.4f} {times[1]:.4f}")
