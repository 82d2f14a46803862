"""Segmentation by scikit-image's random_walker(), modes bf (exact) and cg_j with a tolerance of
1e-6.
    random_walker_skimage.py make FOLDER WORK SIDE...      images and seeds for all to read, by
                                                           columns; prints CSV:
                                                           name,rows,columns,channels,beta
    random_walker_skimage.py time WORK SECONDS             prints CSV: name,method,s,cpu_s: the
                                                           least of three runs, each method of an
                                                           image stopped after SECONDS
    random_walker_skimage.py one WORK NAME METHOD          one of these
Run by random-walker.sh."""
import csv
import os
import subprocess
import sys
import time
import warnings

import numpy as np

CASES = (
    ("phantom192", "phantom192_seeds", 130), ("phantom192", "phantom192_seeds", 1000),
    ("phantom192", "phantom192_masked_seeds", 130),
    ("ct192", "ct192_seeds", 130), ("ct192", "ct192_seeds", 1000),
    ("cat341x256", "cat341x256_seeds", 130), ("coins", "coins_seeds2", 130),
    ("coins", "coins_seeds2", 1000), ("coins", "coins_seeds25", 130))


def put(work, name, image, seeds, beta):
    channels = image.shape[2] if image.ndim == 3 else 1
    image.astype(float).ravel(order="F").tofile(os.path.join(work, name + ".image"))
    seeds.astype(np.int32).ravel(order="F").tofile(os.path.join(work, name + ".seeds"))
    print(",".join(str(x) for x in (name, *seeds.shape, channels, beta)), flush=True)


def synthetic(side):
    """Waves, a disc and noise; three square seeds."""
    at = np.arange(side) / side
    r, c = np.meshgrid(at, at, indexing="ij")
    image = 0.5 + 0.3 * np.sin(9 * r) * np.cos(7 * c) + 0.1 * (np.hypot(r - 0.5, c - 0.5) < 0.2)
    image += 0.05 * np.random.default_rng(side).uniform(-0.5, 0.5, image.shape)
    seeds = np.zeros(image.shape, int)
    width = max(side // 40, 1)
    for k, (r, c) in enumerate(((0.5, 0.5), (0.1, 0.1), (0.8, 0.3))):
        seeds[int(r * side):int(r * side) + width, int(c * side):int(c * side) + width] = k + 1
    return np.clip(image, 0, 1), seeds


def make(folder, work, sides):
    from skimage.io import imread
    for image, name, beta in CASES:
        seeds = imread(os.path.join(folder, name + ".png")).astype(int)
        seeds[seeds == 255] = -1
        put(work, f"{name}_b{beta}", imread(os.path.join(folder, image + ".png")) / 255, seeds,
            beta)
    for side in sides:
        put(work, f"synthetic{side}", *synthetic(int(side)), 130)


def cases(work):
    with open(os.path.join(work, "cases.csv")) as file:
        return {row[0]: [int(x) for x in row[1:]] for row in csv.reader(file)}


def one(work, name, method):
    from skimage.segmentation import random_walker
    warnings.simplefilter("ignore")
    rows, columns, channels, beta = cases(work)[name]
    shape = (rows, columns, channels) if channels > 1 else (rows, columns)
    image = np.ascontiguousarray(
        np.fromfile(os.path.join(work, name + ".image")).reshape(shape, order="F"))
    seeds = np.ascontiguousarray(
        np.fromfile(os.path.join(work, name + ".seeds"), np.int32).reshape(
            (rows, columns), order="F"))
    axis = -1 if channels > 1 else None
    runs = []
    for _ in range(3 if rows < 1000 else 1):
        wall, cpu = time.perf_counter(), time.process_time()
        p = random_walker(image, seeds.copy(), beta=beta, mode=method, tol=1e-6,
            return_full_prob=True, channel_axis=axis)
        runs.append((time.perf_counter() - wall, time.process_time() - cpu))
    if method == "bf":
        np.moveaxis(np.asarray(p, float), 0, -1).ravel(order="F").tofile(
            os.path.join(work, name + ".prob"))
    print(",".join(str(x) for x in (name, method, *(min(r) for r in zip(*runs)))), flush=True)


def main():
    part, rest = sys.argv[1], sys.argv[2:]
    if part == "make":
        make(rest[0], rest[1], rest[2:])
    elif part == "one":
        one(*rest)
    else:
        import skimage
        print("# scikit-image", skimage.__version__, flush=True)
        for name in cases(rest[0]):
            for method in ("bf", "cg_j"):
                try:
                    subprocess.run([sys.executable, __file__, "one", rest[0], name, method],
                        timeout=float(rest[1]), check=False)
                except subprocess.TimeoutExpired:
                    pass


if __name__ == "__main__":
    main()
