"""Large synthetic cases for segmentation by random walks, and peers on them.
    random_walker_large.py make WORK CASE...        images and seeds for all to read, by columns;
                                                    prints CSV: name,rows,columns,slices
    random_walker_large.py peers WORK SECONDS       all peers at the same time, each on a core of
                                                    its own; prints CSV: name,method,s, where that
                                                    is "> SECONDS" of a peer that was stopped,
                                                    and "failed" of one without an answer
    random_walker_large.py one WORK NAME METHOD     one of scikit-image's modes; prints its seconds,
                                                    and writes its labels
Run by random-walker-large.sh."""
import csv
import os
import subprocess
import sys
import time
import warnings

import numpy as np

from random_walker_skimage import synthetic

# Pixels that routes with a factor are given.
MOST = 5_000_000


def volume(side):
    """The plane's waves, with slices of them, a ball and noise; three cubes as seeds."""
    at = (np.arange(side) / side).astype(float)
    r, c, d = np.meshgrid(at, at, at, indexing="ij", sparse=True)
    image = 0.5 + 0.3 * np.sin(9 * r) * np.cos(7 * c) * np.cos(5 * d) + 0.1 * (
        np.sqrt((r - 0.5)**2 + (c - 0.5)**2 + (d - 0.5)**2) < 0.2)
    image = image + 0.05 * np.random.default_rng(side).uniform(-0.5, 0.5, image.shape)
    seeds = np.zeros(image.shape, int)
    width = max(side // 40, 1)
    for k, place in enumerate(((0.5, 0.5, 0.5), (0.1, 0.1, 0.1), (0.8, 0.3, 0.6))):
        seeds[tuple(slice(int(p * side), int(p * side) + width) for p in place)] = k + 1
    return np.clip(image, 0, 1), seeds


def make(work, names):
    for name in names:
        image, seeds = volume(int(name[:-2])) if name.endswith("^3") else synthetic(int(name))
        image.astype(float).ravel(order="F").tofile(os.path.join(work, name + ".image"))
        seeds.astype(np.int32).ravel(order="F").tofile(os.path.join(work, name + ".seeds"))
        print(",".join(str(x) for x in (name, *(seeds.shape + (1,))[:3])), flush=True)


def cases(work):
    with open(os.path.join(work, "cases.csv")) as file:
        return {row[0]: tuple(int(x) for x in row[1:]) for row in csv.reader(file)}


def one(work, name, method):
    from skimage.segmentation import random_walker
    warnings.simplefilter("ignore")
    shape = tuple(n for n in cases(work)[name] if n > 1)
    image = np.ascontiguousarray(
        np.fromfile(os.path.join(work, name + ".image")).reshape(shape, order="F"))
    seeds = np.ascontiguousarray(
        np.fromfile(os.path.join(work, name + ".seeds"), np.int32).reshape(shape, order="F"))
    begin = time.perf_counter()
    labels = random_walker(image, seeds, beta=130, mode=method, tol=1e-6)
    took = time.perf_counter() - begin
    np.asarray(labels, np.int32).ravel(order="F").tofile(os.path.join(work, f"{name}.{method}"))
    print(took, flush=True)


def commands(work):
    here = os.path.dirname(os.path.abspath(__file__))
    for name, (rows, columns, slices) in cases(work).items():
        small = slices == 1 and rows * columns <= MOST
        for method in ("bf", "cg_j", "cg") if small else ("cg_j", "cg"):
            yield name, method, [sys.executable, os.path.abspath(__file__), "one", work, name,
                method]
        if small:
            yield name, "matrix", ["Rscript", os.path.join(here, "random-walker-large.R"), "matrix",
                work, name]


def peers(work, seconds):
    import skimage
    print("# scikit-image", skimage.__version__, flush=True)
    cores = sorted(os.sched_getaffinity(0))
    alone = {v: "1" for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    waiting, running = list(commands(work)), []
    while waiting or running:
        # Two on a core would time each other.
        for name, method, command in waiting[:len(cores)]:
            core = cores.pop()
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                env={**os.environ, **alone},
                                       preexec_fn=lambda core=core: os.sched_setaffinity(0, {core}))
            running.append((name, method, process, core, time.perf_counter() + seconds))
            waiting.pop(0)
        time.sleep(0.1)
        for peer in list(running):
            name, method, process, core, end = peer
            if process.poll() is None and time.perf_counter() < end:
                continue
            if process.poll() is None:
                process.kill()
                answer = f"> {seconds:g}"
            else:
                lines = process.stdout.read().split()
                answer = lines[-1] if process.returncode == 0 and lines else "failed"
            process.wait()
            print(f"{name},{method},{answer}", flush=True)
            running.remove(peer)
            cores.append(core)


def main():
    part, work, *rest = sys.argv[1:]
    if part == "make":
        make(work, rest)
    elif part == "one":
        one(work, *rest)
    else:
        peers(work, float(rest[0]))


main()
