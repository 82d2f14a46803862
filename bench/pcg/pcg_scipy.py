"""scipy's conjugate gradients, without a preconditioner and with Jacobi's, for Poisson's equation
on a plane grid. Prints CSV: way,iterations,seconds,relative residual.
    pcg_scipy.py SIDE TOL FILE     FILE has the right-hand side, as doubles
Run by pcg.R."""
import sys
import time

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

side, tol, file = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
b = np.fromfile(file)
line = sp.diags([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], [-1, 0, 1])
one = sp.identity(side)
a = (sp.kron(line, one) + sp.kron(one, line)).tocsr()
n = side * side
# The argument has had two names.
limit = {"rtol": tol} if tuple(int(v) for v in scipy.__version__.split(".")[:2]) >= (
    1, 12) else {"tol": tol}
diagonal = a.diagonal()
jacobi = LinearOperator((n, n), lambda r: r / diagonal)
for way, m in (("scipy cg, none", None), ("scipy cg, jacobi", jacobi)):
    count = 0

    def step(_):
        global count
        count += 1

    start = time.perf_counter()
    x, _ = cg(a, b, M=m, maxiter=100000, atol=0.0, callback=step, **limit)
    took = time.perf_counter() - start
    print(f'"{way}",{count},{took:.3f},{np.linalg.norm(b - a @ x) / np.linalg.norm(b):.3e}',
        flush=True)
