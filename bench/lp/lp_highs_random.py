"""Small random linear programs with two answers each: HiGHS's, and that of a simplex method in
rational arithmetic.
    lp_highs_random.py make SEED COUNT FILE
        writes problems and answers
    lp_highs_random.py agreed SEED COUNT FILE
        writes those whose answers agree: tests/testthat/lp-highs.txt has 500 of seed 33
    lp_highs_random.py decide FILE BY
        relaxes all bounds by this share of their size; prints for each problem the exact status and
        optimum, and 1 if the dual problem is feasible for costs that change by this share
A line of FILE: family;status;optimum;status;optimum;rows;columns;obj;mat by
rows;dir;rhs;range;lower;upper. The first status and optimum are HiGHS's, the second ones exact.
Statuses are those of lp_ipm(): 0 optimal, 1 infeasible, 2 unbounded. lp-highs-random.R runs this
script."""

import random
import sys
from fractions import Fraction

INF = float("inf")
NAN = float("nan")


class Draw(random.Random):
    """Numbers for problems."""

    def whole(self, most=5):
        return float(self.randint(-most, most))

    def real(self):
        return round(self.gauss(0, 2), 3)

    def entries(self, m, n, filled=0.7, number=None):
        number = number or (lambda: self.whole(3))
        return [[number() if self.random() < filled else 0.0 for _ in range(n)] for _ in range(m)]

    def directions(self, m):
        return [self.choice(["<=", ">=", "=="]) for _ in range(m)]

    def bounds(self, n, size=5):
        lower, upper = [], []
        for _ in range(n):
            a, b = sorted([self.whole(size), self.whole(size)])
            kind = self.randint(0, 5)
            lower.append([0.0, -INF, a, a, -INF, a][kind])
            upper.append([INF, INF, b, INF, b, a][kind])
        return lower, upper


def problem(obj, mat, dir, rhs, lower, upper, range=None):
    return dict(
        obj=obj,
        mat=mat,
        dir=dir,
        rhs=rhs,
        range=range or [NAN] * len(rhs),
        lower=lower,
        upper=upper,
    )


def dimensions(g, most=5):
    return g.randint(1, most), g.randint(1, most)


def general(g, number=None, most=5):
    m, n = dimensions(g, most)
    number = number or g.whole
    lower, upper = g.bounds(n)
    return problem(
        [number() for _ in range(n)],
        g.entries(m, n, number=number),
        g.directions(m),
        [number() for _ in range(m)],
        lower,
        upper,
    )


def within(g, number=None, most=5):
    """A problem with a point."""
    p = general(g, number, most)
    m, n = len(p["rhs"]), len(p["obj"])
    x = [g.whole(3) for _ in range(n)]
    p["lower"] = [min(l, v) for l, v in zip(p["lower"], x)]
    p["upper"] = [max(u, v) for u, v in zip(p["upper"], x)]
    for i in range(m):
        at = sum(a * v for a, v in zip(p["mat"][i], x))
        room = g.choice([0.0, 0.0, 1.0, 3.0])
        p["rhs"][i] = at + (room if p["dir"][i] == "<=" else -room if p["dir"][i] == ">=" else 0.0)
    if g.random() < 0.6:
        # Costs that multipliers with the right signs bound.
        y = [
            float(g.randint(0, 3)) * {"<=": -1, ">=": 1, "==": g.choice([-1, 1])}[d]
            for d in p["dir"]
        ]
        for j in range(n):
            z = float(g.randint(0, 2)) * ((p["lower"][j] > -INF) - (p["upper"][j] < INF))
            p["obj"][j] = z + sum(y[i] * p["mat"][i][j] for i in range(m))
    return p


def free_sum(g):
    a, u, k = g.whole(), float(g.randint(0, 4)), g.choice([0.0, 1.0, -1.0, 2.0, 1e-3, g.real()])
    mat, dir, rhs = [[1.0, 0.0], [1.0, 1.0]], ["==", ">="], [a, a + u + k]
    if g.random() < 0.3:
        mat, rhs, dir = mat[::-1], rhs[::-1], dir[::-1]
    lower, upper, obj = [-INF, 0.0], [INF, u], [g.whole(2), g.whole(2)]
    if g.random() < 0.3:
        lower, upper, obj = lower + [0.0], upper + [g.choice([INF, 1.0])], obj + [g.whole(2)]
        for row in mat:
            row.append(g.choice([0.0, 1.0, -1.0]))
    return problem(obj, mat, dir, rhs, lower, upper)


def negative_equations(g):
    p = general(g)
    p["dir"] = [g.choice(["==", "==", ">="]) for _ in p["dir"]]
    for j in range(len(p["obj"])):
        if g.random() < 0.7:
            p["lower"][j], p["upper"][j] = sorted(
                [-float(g.randint(0, 6)), g.choice([-1.0, 0.0, 3.0, INF])]
            )
    return p


def tiny_coefficients(g):
    p = (general if g.random() < 0.5 else within)(g)
    for row in p["mat"]:
        for j in range(len(row)):
            if g.random() < 0.5:
                row[j] *= g.choice([1e-5, 1e-4, 0.3, 1e-3])
    p["obj"] = [c * g.choice([1.0, 1e-5, 0.002, 3000.0]) for c in p["obj"]]
    p["rhs"] = [b * g.choice([1.0, 1e-2, 1e-4]) for b in p["rhs"]]
    return p


def zero_rows(g):
    p = (general if g.random() < 0.4 else within)(g)
    m, n = len(p["rhs"]), len(p["obj"])
    for _ in range(g.randint(1, 2)):
        i = g.randrange(m)
        p["mat"][i] = [0.0] * n
        if g.random() < 0.7:
            p["dir"][i], p["rhs"][i] = g.choice(
                [("<=", 0.0), (">=", 0.0), ("==", 0.0), ("<=", 2.0), (">=", -2.0), ("<=", -1.0)]
            )
    return p


def zero_columns(g):
    p = (general if g.random() < 0.4 else within)(g)
    j = g.randrange(len(p["obj"]))
    for row in p["mat"]:
        row[j] = 0.0
    return p


def ranges(g):
    p = (general if g.random() < 0.5 else within)(g)
    p["range"] = [g.choice([NAN, g.whole(), float(g.randint(0, 3)), 0.0, 2000.0]) for _ in p["rhs"]]
    return p


def both_ways(g):
    """Two rows, or a row and a bound, that contradict each other by little, or leave little."""
    by = g.choice([1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-10, -1e-6, -1e-3, 0.0])
    n = g.randint(1, 3)
    row = (
        [float(g.randint(1, 3)) for _ in range(n)] if g.random() < 0.6 else [1.0] + [0.0] * (n - 1)
    )
    b = float(g.randint(0, 4))
    p = problem(
        [g.whole(3) for _ in range(n)],
        [row, list(row)],
        ["<=", ">="],
        [b, b + by],
        [g.choice([0.0, -INF, -2.0]) for _ in range(n)],
        [g.choice([INF, 9.0]) for _ in range(n)],
    )
    if n == 1 and g.random() < 0.5:
        p["mat"], p["dir"], p["rhs"] = [[row[0]]], [">="], [row[0] * (b + by)]
        p["lower"], p["upper"] = [min(p["lower"][0], 0.0)], [b]
    if g.random() < 0.3:
        p["mat"].append([g.whole(2) for _ in range(n)])
        p["dir"].append(g.choice(["<=", ">="]))
        p["rhs"].append(g.whole())
    return p


def small_numbers(g):
    p = (general if g.random() < 0.4 else within)(g)
    by = 10.0 ** -g.randint(5, 12)
    p["rhs"] = [b * by for b in p["rhs"]]
    p["lower"] = [b * by for b in p["lower"]]
    p["upper"] = [b * by for b in p["upper"]]
    return p


def scales(g, decades=4):
    p = (general if g.random() < 0.4 else within)(g)
    m, n = len(p["rhs"]), len(p["obj"])
    rows = [10.0 ** g.randint(-decades, decades) for _ in range(m)]
    columns = [10.0 ** g.randint(-decades, decades) for _ in range(n)]
    p["mat"] = [[a * r * c for a, c in zip(row, columns)] for row, r in zip(p["mat"], rows)]
    p["rhs"] = [b * r for b, r in zip(p["rhs"], rows)]
    p["lower"] = [b / c for b, c in zip(p["lower"], columns)]
    p["upper"] = [b / c for b, c in zip(p["upper"], columns)]
    p["obj"] = [b * c for b, c in zip(p["obj"], columns)]
    return p


def wide_scales(g):
    """All numbers of a kind by one power, to 1e-12 and 1e12."""
    p = (general if g.random() < 0.4 else within)(g)
    a, b, c = (10.0 ** g.randint(-6, 6) for _ in range(3))
    p["mat"] = [[v * a for v in row] for row in p["mat"]]
    p["rhs"] = [v * a * b for v in p["rhs"]]
    p["lower"] = [v * b for v in p["lower"]]
    p["upper"] = [v * b for v in p["upper"]]
    p["obj"] = [v * c for v in p["obj"]]
    return p


def duplicates(g):
    p = (general if g.random() < 0.5 else within)(g)
    if g.random() < 0.6:
        i, by = g.randrange(len(p["rhs"])), g.choice([1.0, 2.0, -1.0, 0.1])
        p["mat"].append([a * by for a in p["mat"][i]])
        p["rhs"].append(p["rhs"][i] * by + g.choice([0.0, 0.0, 1.0, -1.0]))
        p["dir"].append(g.choice([p["dir"][i], g.choice(["<=", ">=", "=="])]))
        p["range"].append(NAN)
    else:
        j, by = g.randrange(len(p["obj"])), g.choice([1.0, 2.0, -1.0, 0.1])
        for row in p["mat"]:
            row.append(row[j] * by)
        p["obj"].append(p["obj"][j] * by + g.choice([0.0, 0.0, 1.0]))
        p["lower"].append(p["lower"][j])
        p["upper"].append(p["upper"][j])
    return p


def degenerate(g):
    if g.random() < 0.5:
        p = general(g)
        p["rhs"] = [b if g.random() < 0.2 else 0.0 for b in p["rhs"]]
        p["lower"] = [0.0 if l > 0 else l for l in p["lower"]]
        p["upper"] = [0.0 if u < 0 else u for u in p["upper"]]
        return p
    # Transport between k places and l.
    k, l = g.randint(1, 3), g.randint(1, 3)
    x = [[float(g.choice([0, 0, 1, 2])) for _ in range(l)] for _ in range(k)]
    mat, rhs = [], []
    for i in range(k):
        mat.append([1.0 if a == i else 0.0 for a in range(k) for _ in range(l)])
        rhs.append(sum(x[i]))
    for j in range(l):
        mat.append([1.0 if b == j else 0.0 for _ in range(k) for b in range(l)])
        rhs.append(sum(row[j] for row in x) + (g.choice([0.0, 0.0, 0.0, 1.0]) if j == 0 else 0.0))
    return problem(
        [g.whole(4) for _ in range(k * l)],
        mat,
        ["=="] * (k + l),
        rhs,
        [0.0] * (k * l),
        [INF] * (k * l),
    )


def unbounded(g):
    p = within(g)
    n = len(p["obj"])
    ray = [g.choice([0.0, 1.0, 2.0, -1.0]) for _ in range(n)]
    p["lower"] = [-INF if r < 0 else l for r, l in zip(ray, p["lower"])]
    p["upper"] = [INF if r > 0 else u for r, u in zip(ray, p["upper"])]
    for i, row in enumerate(p["mat"]):
        along = sum(a * r for a, r in zip(row, ray))
        if along and p["dir"][i] == "==":
            p["dir"][i] = ">=" if along > 0 else "<="
        elif along > 0 and p["dir"][i] == "<=" or along < 0 and p["dir"][i] == ">=":
            p["mat"][i] = [-a for a in row]
    return p


def infeasible(g):
    """Rows whose combination asks for more than there is, and others."""
    p = within(g)
    m, n = len(p["rhs"]), len(p["obj"])
    y = [float(g.choice([0, 1, 1, 2, -1])) for _ in range(m)]
    y = [abs(v) if d == ">=" else -abs(v) if d == "<=" else v for v, d in zip(y, p["dir"])]
    combined = [sum(y[i] * p["mat"][i][j] for i in range(m)) for j in range(n)]
    p["mat"].append([-c for c in combined])
    p["dir"].append(">=")
    p["rhs"].append(g.choice([1.0, 0.1, 1e-3, 3.0]) - sum(v * b for v, b in zip(y, p["rhs"])))
    p["range"].append(NAN)
    return p


def both(g):
    """Without a point, with a ray."""
    p = infeasible(g)
    for row in p["mat"]:
        row.append(0.0 if g.random() < 0.7 else float(g.randint(0, 2)))
    p["obj"].append(-float(g.randint(1, 3)))
    p["lower"].append(0.0)
    p["upper"].append(INF)
    return p


def one_point(g):
    """Equations or bounds that leave one point, or an edge."""
    p = within(g)
    m, n = len(p["rhs"]), len(p["obj"])
    x = [g.whole(3) for _ in range(n)]
    for j in range(n):
        p["lower"][j], p["upper"][j] = g.choice(
            [(x[j], INF), (-INF, x[j]), (x[j], x[j] + 2), (x[j] - 2, x[j])]
        )
    for i in range(m):
        # A row whose extreme over the bounds is at x.
        p["mat"][i] = [
            abs(a) if p["lower"][j] == x[j] else -abs(a) for j, a in enumerate(p["mat"][i])
        ]
        p["rhs"][i] = sum(a * v for a, v in zip(p["mat"][i], x)) + g.choice(
            [0.0, 0.0, 0.0, 0.0, 1.0, -1.0]
        )
        p["dir"][i] = g.choice(["<=", "=="])
    return p


def decimals(g):
    return general(g, lambda: g.choice([0.1, 0.2, 0.3, 0.7, -0.1, -0.6, 1.1, 0.9, 0.0]), 4)


def decimals_within(g):
    return within(g, lambda: g.choice([0.1, 0.2, 0.3, 0.7, -0.1, -0.6, 1.1, 0.9, 0.0]))


def reals(g):
    return general(g, g.real, 6)


def larger(g):
    return (general if g.random() < 0.4 else within)(g, most=14)


families = dict(
    free_sum=free_sum,
    general=general,
    with_point=within,
    negative_equations=negative_equations,
    tiny_coefficients=tiny_coefficients,
    zero_rows=zero_rows,
    zero_columns=zero_columns,
    ranges=ranges,
    both_ways=both_ways,
    small_numbers=small_numbers,
    scales=scales,
    wide_scales=wide_scales,
    duplicates=duplicates,
    degenerate=degenerate,
    unbounded=unbounded,
    infeasible=infeasible,
    both=both,
    one_point=one_point,
    decimals=decimals,
    decimals_within=decimals_within,
    reals=reals,
    larger=larger,
)


def rows_of(p):
    """Bounds of rows, with the same rounding as lp_ipm()."""
    lower, upper = [], []
    for d, b, r in zip(p["dir"], p["rhs"], p["range"]):
        l, u = (-INF if d == "<=" else b), (INF if d == ">=" else b)
        if r == r:
            if d == "<=" or d == "==" and r < 0:
                l = b - abs(r)
            if d == ">=" or d == "==" and r >= 0:
                u = b + abs(r)
        lower.append(l)
        upper.append(u)
    return lower, upper


def by_highs(p):
    import highspy

    m, n = len(p["rhs"]), len(p["obj"])
    h = highspy.Highs()
    for name, value in (
        ("output_flag", False),
        ("presolve", "off"),
        ("solver", "simplex"),
        ("threads", 1),
        ("small_matrix_value", 1e-12),
        ("primal_feasibility_tolerance", 1e-9),
        ("dual_feasibility_tolerance", 1e-9),
    ):
        h.setOptionValue(name, value)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = p["obj"], p["lower"], p["upper"]
    lp.row_lower_, lp.row_upper_ = rows_of(p)
    start, index, value = [0], [], []
    for j in range(n):
        for i in range(m):
            if p["mat"][i][j] != 0:
                index.append(i)
                value.append(p["mat"][i][j])
        start.append(len(index))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = start, index, value
    h.passModel(lp)
    h.run()
    s = h.getModelStatus()
    known = {
        highspy.HighsModelStatus.kOptimal: 0,
        highspy.HighsModelStatus.kInfeasible: 1,
        highspy.HighsModelStatus.kUnbounded: 2,
        highspy.HighsModelStatus.kModelEmpty: 0,
    }
    status = known.get(s, 9)
    return status, h.getInfo().objective_function_value if status == 0 else NAN


class Exact:
    """A simplex method in rational arithmetic. Variables are columns, then rows. Basic variables
    are combinations of nonbasic ones."""

    def __init__(self, p, outwards=0.0):
        self.m, self.n = len(p["rhs"]), len(p["obj"])
        rl, ru = rows_of(p)
        by = Fraction(outwards)
        sizes = [abs(b) for b in p["lower"] + p["upper"] + rl + ru if abs(b) < INF]
        unit = Fraction(min(1.0, max(sizes, default=1.0)))

        def moved(b, sign):
            return None if abs(b) == INF else Fraction(b) + sign * by * max(abs(Fraction(b)), unit)

        self.lower = [moved(b, -1) for b in p["lower"] + rl]
        self.upper = [moved(b, 1) for b in p["upper"] + ru]
        self.c = [Fraction(c) for c in p["obj"]]
        self.outside, self.basis = list(range(self.n)), list(range(self.n, self.n + self.m))
        self.t = [[Fraction(a) for a in row] for row in p["mat"]]
        self.at = [
            l if l is not None else u if u is not None else Fraction(0)
            for l, u in zip(self.lower, self.upper)
        ][: self.n]

    def values(self):
        return [
            sum((a * x for a, x in zip(row, self.at) if a and x), Fraction(0)) for row in self.t
        ]

    def off(self, k, v):
        """1 below the lower bound, -1 above the upper one."""
        l, u = self.lower[k], self.upper[k]
        return 1 if l is not None and v < l else -1 if u is not None and v > u else 0

    def improve(self, gradient, values, phase_one):
        """Bland's rule. False at an optimum, None along a ray."""
        candidates = []
        for k, g in enumerate(gradient):
            j = self.outside[k]
            l, u, x = self.lower[j], self.upper[j], self.at[k]
            if g < 0 and (u is None or x < u) or g > 0 and (l is None or x > l):
                candidates.append((j, k, 1 if g < 0 else -1))
        if not candidates:
            return False
        j, k, way = min(candidates)
        l, u = self.lower[j], self.upper[j]
        best = (abs(u - l), -1, None) if l is not None and u is not None else None
        for i, row in enumerate(self.t):
            slope = row[k] * way
            if slope == 0:
                continue
            b, v = self.basis[i], values[i]
            off = self.off(b, v) if phase_one else 0
            l, u = self.lower[b], self.upper[b]
            # One outside its bounds ends the step where it comes to them.
            if slope > 0:
                end = l if off == 1 else u if off == 0 else None
            else:
                end = u if off == -1 else l if off == 0 else None
            if end is not None:
                step = (end - v) / slope
                if best is None or step < best[0] or step == best[0] and b < best[1]:
                    best = (step, b, (i, end))
        if best is None:
            return None
        step, _, leaving = best
        self.at[k] += way * step
        if leaving is None:
            return True
        i, end = leaving
        row, pivot = self.t[i], self.t[i][k]
        new = [-a / pivot for a in row]
        new[k] = 1 / pivot
        for other in range(self.m):
            f = self.t[other][k]
            if other != i and f:
                self.t[other] = [
                    (a if q != k else 0) + f * b for q, (a, b) in enumerate(zip(self.t[other], new))
                ]
        self.t[i] = new
        self.basis[i], self.outside[k] = j, self.basis[i]
        self.at[k] = end
        return True

    def solve(self):
        for k in range(self.n):
            if (
                self.lower[k] is not None
                and self.upper[k] is not None
                and self.lower[k] > self.upper[k]
            ):
                return 1, NAN
        while True:
            values = self.values()
            off = [self.off(b, v) for b, v in zip(self.basis, values)]
            if not any(off):
                break
            gradient = [-sum(o * row[k] for o, row in zip(off, self.t) if o) for k in range(self.n)]
            if self.improve(gradient, values, True) is False:
                return 1, NAN
        while True:
            cost = [self.c[j] if j < self.n else 0 for j in self.outside]
            for b, row in zip(self.basis, self.t):
                if b < self.n and self.c[b]:
                    cost = [c + self.c[b] * a for c, a in zip(cost, row)]
            moved = self.improve(cost, self.values(), False)
            if moved is None:
                return 2, NAN
            if moved is False:
                x = dict(zip(self.outside + self.basis, self.at + self.values()))
                return 0, float(sum(c * x[j] for j, c in enumerate(self.c)))


def bounded(p, by):
    """Whether the dual problem has a point for costs within a share of their size."""
    m, n = len(p["rhs"]), len(p["obj"])
    unit = min(1.0, max((abs(c) for c in p["obj"])))
    mat, dir, rhs = [], [], []
    for j, c in enumerate(p["obj"]):
        off = by * max(abs(c), unit)
        for sign, bound in (("<=", p["upper"][j]), (">=", p["lower"][j])):
            # A bound takes what the row leaves.
            if abs(bound) == INF:
                mat.append([p["mat"][i][j] for i in range(m)])
                dir.append(sign if sign == "<=" else ">=")
                rhs.append(c + off if sign == "<=" else c - off)
    rl, ru = rows_of(p)
    lower = [-INF if u < INF else 0.0 for u in ru]
    upper = [INF if l > -INF else 0.0 for l in rl]
    return Exact(problem([0.0] * m, mat, dir, rhs, lower, upper)).solve()[0] == 0


def text(all):
    def one(v):
        if isinstance(v, str):
            return v
        return (
            "NA"
            if v != v
            else (
                "Inf"
                if v == INF
                else (
                    "-Inf"
                    if v == -INF
                    else repr(int(v)) if v == int(v) and abs(v) < 1e6 else repr(v)
                )
            )
        )

    return " ".join(one(v) for v in all)


def write(family, p, highs, exact, out):
    m, n = len(p["rhs"]), len(p["obj"])
    mat = [a for row in p["mat"] for a in row]
    parts = [
        text(p[k] if k != "mat" else mat)
        for k in ("obj", "mat", "dir", "rhs", "range", "lower", "upper")
    ]
    print(
        ";".join(
            [
                family,
                *(
                    text([v])
                    for v in (
                        float(highs[0]),
                        highs[1],
                        float(exact[0]),
                        exact[1],
                        float(m),
                        float(n),
                    )
                ),
                *parts,
            ]
        ),
        file=out,
    )


def read(line):
    f = line.rstrip("\n").split(";")
    m, n = int(f[5]), int(f[6])

    def numbers(s):
        return [NAN if v == "NA" else float(v) for v in s.split()]

    mat = numbers(f[8])
    return f[0], problem(
        numbers(f[7]),
        [mat[i * n : (i + 1) * n] for i in range(m)],
        f[9].split(),
        numbers(f[10]),
        numbers(f[12]),
        numbers(f[13]),
        numbers(f[11]),
    )


def draw(seed, i):
    names = list(families)
    family = names[i % len(names)]
    while True:
        g = Draw(f"{seed}-{i}")
        p = families[family](g)
        p["range"] += [NAN] * (len(p["rhs"]) - len(p["range"]))
        # What lp_ipm() refuses: bounds of one variable that leave no value.
        if all(l <= u for l, u in zip(p["lower"], p["upper"])) and all(
            l <= u for l, u in zip(*rows_of(p))
        ):
            return family, p
        i += 10**9


if __name__ == "__main__":
    if sys.argv[1] in ("make", "agreed"):
        seed, count, file = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
        i = written = 0
        with open(file, "w") as out:
            while written < count:
                family, p = draw(seed, i)
                i += 1
                highs, exact = by_highs(p), Exact(p).solve()
                same = highs[0] == exact[0] and (
                    highs[0] != 0 or abs(highs[1] - exact[1]) <= 1e-9 * abs(exact[1])
                )
                if same or sys.argv[1] == "make":
                    write(family, p, highs, exact, out)
                    written += 1
    else:
        by = float(sys.argv[3])
        with open(sys.argv[2]) as lines:
            for line in lines:
                _, p = read(line)
                status, objective = Exact(p, by).solve()
                print(status, text([objective]), int(bounded(p, by)))
