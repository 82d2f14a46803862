"""Conjugate gradients on a GPU with an incomplete Cholesky factor, whose triangular systems
cuSPARSE solves (cusparseSpSV). Prints CSV: iterations, seconds of the analysis of both factors,
milliseconds of both systems, seconds of the iterations, relative residual.
    pcg_orderings_cupy.py TOL A L U B     A, L and U = L' by rows: two doubles, order and entries,
                                          then starts and columns (32 bits) and values; B: doubles
Run by pcg-orderings.R."""
import ctypes
import glob
import sys
import time

import cupy
import cupyx.scipy.sparse as csp
import numpy as np


def load_cusparse():
    names = ["libcusparse.so.12", "libcusparse.so"]
    for folder in sys.path + ["/usr/local/cuda/lib64"]:
        names += sorted(glob.glob(folder + "/nvidia/*/lib/libcusparse.so.*"))
        names += sorted(glob.glob(folder + "/libcusparse.so.*"))
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    sys.exit("cuSPARSE not found")


lib = load_cusparse()
# Enumerations of cusparse.h and library_types.h.
INDEX_32, BASE_ZERO, REAL_64, PLAIN, DEFAULT = 2, 0, 1, 0, 0
FILL, DIAGONAL, LOWER, UPPER, NON_UNIT = 0, 1, 0, 1, 0


def check(status):
    if status:
        sys.exit(f"cuSPARSE: status {status}")


def pointer(array):
    return ctypes.c_void_p(array.data.ptr)


handle = ctypes.c_void_p()
check(lib.cusparseCreate(ctypes.byref(handle)))
one = ctypes.c_double(1.0)


class Triangle:
    """Solves T y = x for vectors whose places do not change."""

    def __init__(self, n, entries, starts, columns, values, mode, x, y):
        self.held = (starts, columns, values, x, y)
        self.matrix = ctypes.c_void_p()
        check(lib.cusparseCreateCsr(
            ctypes.byref(self.matrix), ctypes.c_int64(n), ctypes.c_int64(n),
            ctypes.c_int64(entries), pointer(starts), pointer(columns), pointer(values),
            INDEX_32, INDEX_32, BASE_ZERO, REAL_64,
        ))
        for attribute, value in ((FILL, mode), (DIAGONAL, NON_UNIT)):
            value = ctypes.c_int(value)
            check(lib.cusparseSpMatSetAttribute(self.matrix, attribute, ctypes.byref(value),
                ctypes.c_size_t(4)))
        self.x, self.y, self.plan = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        check(lib.cusparseCreateDnVec(ctypes.byref(self.x), ctypes.c_int64(n), pointer(x), REAL_64))
        check(lib.cusparseCreateDnVec(ctypes.byref(self.y), ctypes.c_int64(n), pointer(y), REAL_64))
        check(lib.cusparseSpSV_createDescr(ctypes.byref(self.plan)))
        size = ctypes.c_size_t()
        arguments = (handle, PLAIN, ctypes.byref(one), self.matrix, self.x, self.y, REAL_64,
            DEFAULT, self.plan)
        check(lib.cusparseSpSV_bufferSize(*arguments, ctypes.byref(size)))
        self.buffer = cupy.empty(max(size.value, 1), dtype=cupy.uint8)
        check(lib.cusparseSpSV_analysis(*arguments, pointer(self.buffer)))
        self.arguments = arguments

    def solve(self):
        check(lib.cusparseSpSV_solve(*self.arguments))


def read(file):
    with open(file, "rb") as f:
        n, entries = (int(v) for v in np.fromfile(f, np.float64, 2))
        starts, columns = np.fromfile(f, np.int32, n + 1), np.fromfile(f, np.int32, entries)
        return n, entries, cupy.asarray(starts), cupy.asarray(columns), \
            cupy.asarray(np.fromfile(f, np.float64, entries))


def now():
    cupy.cuda.Device().synchronize()
    return time.perf_counter()


tol = float(sys.argv[1])
n, entries, starts, columns, values = read(sys.argv[2])
a = csp.csr_matrix((values, columns, starts), shape=(n, n))
lower, upper = read(sys.argv[3]), read(sys.argv[4])
b = cupy.asarray(np.fromfile(sys.argv[5]))
r, y, z = cupy.empty(n), cupy.empty(n), cupy.empty(n)
start = now()
first, second = Triangle(*lower, LOWER, r, y), Triangle(*upper, UPPER, y, z)
analysis = now() - start


def precondition():
    first.solve()
    second.solve()


def iterate():
    x = cupy.zeros(n)
    r[...] = b
    most = tol * float(cupy.linalg.norm(b))
    p, rho, count = None, None, 0
    while float(cupy.linalg.norm(r)) > most:
        precondition()
        before, rho = rho, float(r @ z)
        p = z.copy() if p is None else z + (rho / before) * p
        q = a @ p
        alpha = rho / float(p @ q)
        x += alpha * p
        r[...] = r - alpha * q
        count += 1
    return x, count


r[...] = b
least = float("inf")
for _ in range(5):
    start = now()
    precondition()
    least = min(least, now() - start)
start = now()
x, count = iterate()
took = now() - start
off = float(cupy.linalg.norm(b - a @ x) / cupy.linalg.norm(b))
print(f"{count},{analysis:.4f},{1e3 * least:.4f},{took:.4f},{off:.3e}", flush=True)
