"""Linear programs by HiGHS: simplex, IPX and HiPO, each without presolve and crossover. Prints CSV:
name,method,ms,iterations,status,objective.
    lp_highs.py netlib FOLDER REPEATS NAME...      the least time of some runs of each file
    lp_highs.py dense FOLDER SECONDS ORDER...      makes random dense problems m x 2m in FOLDER, for
                                                   others to read, and solves each once, stopped
                                                   after SECONDS
The methods are those of CUDAFACTOR_LP_METHODS ("simplex ipx hipo"). Run by lp-netlib.sh."""
import glob
import os
import sys
import time

import highspy
import numpy as np

methods = os.environ.get("CUDAFACTOR_LP_METHODS", "simplex ipx hipo").split()
part, folder, number, names = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:]
print("# HiGHS", highspy.Highs().version(), flush=True)


def solver(method, seconds=float("inf")):
    """None where this build of HiGHS has no such method."""
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    known = h.setOptionValue("solver", method) == highspy.HighsStatus.kOk
    for name, value in (("presolve", "off"), ("run_crossover", "off"), ("time_limit", seconds)):
        h.setOptionValue(name, value)
    return h if known else None


def run(h):
    start = time.perf_counter()
    h.run()
    ms = 1e3 * (time.perf_counter() - start)
    info = h.getInfo()
    iterations = info.ipm_iteration_count or info.simplex_iteration_count
    return ms, iterations, h.modelStatusToString(h.getModelStatus()), info.objective_function_value


def say(name, method, all):
    print(",".join(str(x) for x in (name, method, *min(all))), flush=True)


def draw(m):
    """A, b and c of a problem that is strictly feasible on both sides by construction."""
    g = np.random.default_rng(m)
    n = 2 * m
    a = g.standard_normal((m, n))
    x, z, y = g.uniform(0.1, 1.1, n), g.uniform(0.1, 1.1, n), g.standard_normal(m)
    return a, a @ x, a.T @ y + z


def dense(m, a, b, c):
    n = 2 * m
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = c, np.zeros(n), np.full(n, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = b, b
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(0, m * n + 1, m)
    lp.a_matrix_.index_ = np.tile(np.arange(m), n)
    lp.a_matrix_.value_ = a.ravel(order="F")
    return lp


if part == "dense":
    for name in names:
        m = int(name)
        a, b, c = draw(m)
        file = os.path.join(folder, f"dense-{m}.bin")
        if not os.path.exists(file):
            with open(file, "wb") as out:
                for values in (a.T, b, c):
                    np.ascontiguousarray(values).tofile(out)
        for method in methods:
            h = solver(method, number)
            if h is not None:
                h.passModel(dense(m, a, b, c))
                say(name, method, [run(h)])
    sys.exit()
for method in methods:
    for name in names:
        all = []
        for _ in range(int(number)):
            h = solver(method)
            if h is None:
                break
            h.readModel(glob.glob(os.path.join(folder, name + ".mps*"))[0])
            all.append(run(h))
        if all:
            say(name, method, all)
