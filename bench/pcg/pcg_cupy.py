"""cupyx's conjugate gradients on a GPU, without a preconditioner and with Jacobi's, for Poisson's
equation on a plane grid. The matrix and the right-hand side are on the device before the time
begins. Prints CSV: way,iterations,seconds,relative residual.
    pcg_cupy.py SIDE TOL FILE     FILE has the right-hand side, as doubles
Run by pcg.R."""
import sys
import time

import cupy
import cupyx.scipy.sparse as csp
import numpy as np
import scipy.sparse as sp
from cupyx.scipy.sparse.linalg import LinearOperator, cg

REPEATS = 3

side, tol, file = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
line = sp.diags([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], [-1, 0, 1])
one = sp.identity(side)
a = csp.csr_matrix((sp.kron(line, one) + sp.kron(one, line)).tocsr())
b = cupy.asarray(np.fromfile(file))
n = side * side
diagonal = a.diagonal()
jacobi = LinearOperator((n, n), lambda r: r / diagonal, dtype=b.dtype)


def solve(m, callback=None):
    try:
        return cg(a, b, tol=tol, maxiter=100000, M=m, callback=callback, atol=0.0)[0]
    except TypeError:  # the argument has another name
        return cg(a, b, rtol=tol, maxiter=100000, M=m, callback=callback, atol=0.0)[0]


for way, m in (("cupy cg, none", None), ("cupy cg, jacobi", jacobi)):
    count = 0

    def step(_):
        global count
        count += 1

    solve(m, step)
    least = float("inf")
    for _ in range(REPEATS):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        x = solve(m)
        cupy.cuda.Device().synchronize()
        least = min(least, time.perf_counter() - start)
    off = float(cupy.linalg.norm(b - a @ x) / cupy.linalg.norm(b))
    print(f'"{way}",{count},{least:.4f},{off:.3e}', flush=True)
