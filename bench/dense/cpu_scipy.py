"""Times scipy's OpenBLAS on the routines that cpu-openblas.R times.

    python3 bench/dense/cpu_scipy.py [SIZE...]

Writes bench/results/cpu-scipy.csv. Each number of threads runs in a separate process.
With one thread the time is the thread's processor time; with two it is elapsed time, and a
repetition counts as quiet when other processes used less than a tenth of one core meanwhile:
medians are over the quiet ones where there are at least three.
"""

import csv
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SIZES = [64, 256, 512, 1024, 2048, 4096]
FIELDS = ["operation", "n", "threads", "peer", "ms", "quiet", "library"]


def busy():
    """Seconds that all processes, and this one, have used."""
    with open("/proc/stat") as f:
        ticks = [float(x) for x in f.readline().split()[1:]]
    return sum(ticks[i] for i in (0, 1, 2, 5, 6, 7)) / 100, time.process_time()


def median_ms(prepare, call, threads, budget):
    """`prepare` restores the operand and is not timed."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    prepare()
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    calls = max(1, int(0.2 / max(once, 1e-7)))
    seen = []
    begin = time.perf_counter()
    while True:
        before, spent, whole = busy(), 0.0, time.perf_counter()
        for _ in range(calls):
            prepare()
            start = clock()
            call()
            spent += clock() - start
        elapsed = time.perf_counter() - whole
        after = busy()
        others = ((after[0] - before[0]) - (after[1] - before[1])) / elapsed
        seen.append((1000 * spent / calls, others < 0.1))
        quiet = [ms for ms, q in seen if q]
        late = time.perf_counter() - begin > budget
        enough = len(seen) >= 9 if threads == 1 else len(quiet) >= 7
        if enough or (late and len(seen) >= 3):
            break
        time.sleep(0.08)
    chosen = quiet if threads > 1 and len(quiet) >= 3 else [ms for ms, _ in seen]
    return statistics.median(chosen), f"{len(quiet)}/{len(seen)}"


def measure(threads, sizes):
    import numpy as np
    import scipy
    from scipy.linalg import blas, lapack

    config = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    library = f"scipy {scipy.__version__} {config['name']} {config['version']}"
    rng = np.random.default_rng(1)
    rows = []
    for n in sizes:
        x = np.asfortranarray(rng.standard_normal((n, n)))
        y = np.asfortranarray(rng.standard_normal((n, n)))
        spd = np.asfortranarray(x.T @ x / n + np.eye(n))
        b = rng.standard_normal(n)
        c = np.empty((n, n), order="F")

        def copy(source):
            return lambda: np.copyto(c, source)

        for operation, peer, prepare, call in [
            ("matmult", "%*%", copy(x), lambda: blas.dgemm(1.0, x, y, c=c, overwrite_c=1)),
            ("crossprod", "crossprod()", copy(x),
                lambda: blas.dsyrk(1.0, x, c=c, trans=1, overwrite_c=1)),
            ("chol", "chol()", copy(spd),
                lambda: lapack.dpotrf(c, lower=0, clean=0, overwrite_a=1)),
            ("qr", "dgeqrf", copy(x), lambda: lapack.dgeqrf(c, lwork=64 * n, overwrite_a=1)),
            ("qr_pivoted", "qr(LAPACK=TRUE)", copy(x),
                lambda: lapack.dgeqp3(c, lwork=64 * n, overwrite_a=1)),
            ("solve", "solve()", copy(x), lambda: lapack.dgesv(c, b, overwrite_a=1)),
        ]:
            ms, quiet = median_ms(prepare, call, threads, budget=8)
            rows.append([operation, n, threads, peer, round(ms, 4), quiet, library])
            print(*rows[-1], file=sys.stderr)
    csv.writer(sys.stdout).writerows(rows)


def main(sizes):
    folder = Path(__file__).resolve().parent.parent / "results"
    folder.mkdir(exist_ok=True)
    lines = []
    for threads in (1, 2):
        env = {k: v for k, v in os.environ.items()
            if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        env["OPENBLAS_NUM_THREADS"] = str(threads)
        command = [sys.executable, __file__, "--measure", str(threads), *map(str, sizes)]
        run = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        lines.append(run.stdout)
    (folder / "cpu-scipy.csv").write_text(",".join(FIELDS) + "\n" + "".join(lines))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--measure":
        measure(int(sys.argv[2]), [int(n) for n in sys.argv[3:]])
    else:
        main([int(n) for n in sys.argv[1:]] or SIZES)
