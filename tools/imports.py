#!/usr/bin/env python3
"""Checks the direction of imports in src/rust/src; needs Python alone.

    python3 tools/imports.py            fails when an import breaks a rule
    python3 tools/imports.py --graph    prints every import between two files

Rules:
  1. A module imports only modules that stand before it in its folder's list in ORDER.
  2. `algo` and `backend` do not import each other.
  3. No two files import each other, directly or through others, save the loops in LOOPS.

  4. Where a folder's mod.rs says "It imports", it names every module next to it that the folder
     imports.

Tests do not count. An import of a folder's name counts for the file from which the folder's mod.rs
takes it. Rule 3 leaves mod.rs itself out: a folder and its modules name each other by nature.
"""

import collections
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src" / "rust" / "src"

# The modules of a folder, lowest first. Those on one line do not import each other.
ORDER = {
    "": ["base", "cost", "tiles", "device", "foreign", "saved", "algo backend", "r"],
    "algo": ["krylov", "sparse multigrid", "dense", "systems lanczos", "lp tiled segmentation",
        "update"],
    "algo/lp": ["problem", "vectors", "normal", "standard_form", "presolve", "ipm", "solution",
        "simplex", "interior_point", "solve", "choice"],
    "backend/cpu": [
        "vector", "matrix", "gemm", "triangular separate",
        "elementwise cholesky lu update multigrid", "qr", "device",
    ],
    "backend/cuda": [
        "driver", "transfer", "matrix", "gemm", "precision panel", "triangular", "elementwise",
        "cholesky lu update multigrid", "qr", "spectral", "streamed", "device",
    ],
}
# Loops that may be. Each is the set of its files.
LOOPS = [
    # A context owns its parts, and each part makes the context current before it calls the driver.
    {f"backend/cuda/driver/{name}.rs" for name in
     "buffer context modules pool probe properties split_k staging streams".split()},
]

REEXPORT = re.compile(r"^\s*pub(?:\([^)]*\))? use ([\w:{},*\s]+);", re.M)
IMPORT = re.compile(r"^\s*use ([\w:{},*\s]+);", re.M)


def without_tests(text: str) -> str:
    """The text without comments and without what is compiled for tests alone."""
    text = re.sub(r"//.*", "", text)
    out, at = [], 0
    for found in re.finditer(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*", text):
        if found.start() < at:
            continue
        out.append(text[at:found.start()])
        at = found.end()
        depth = 0
        while at < len(text):
            depth += (text[at] in "{(") - (text[at] in "})")
            at += 1
            if text[at - 1] == ";" and depth == 0 or text[at - 1] == "}" and depth == 0:
                break
    return "".join(out) + text[at:]


def flatten(tree: str) -> list:
    """The paths of the tree of one `use`, with the names that they get."""
    tree = tree.strip()
    if "{" not in tree:
        path, _, name = tree.partition(" as ")
        path = path.strip()
        return [(path.split("::"), (name.strip() or path.split("::")[-1]))] if path else []
    head, rest = tree.split("{", 1)
    rest = rest[:rest.rindex("}")]
    parts, depth, start = [], 0, 0
    for i, c in enumerate(rest + ","):
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(rest[start:i])
            start = i + 1
    prefix = [p for p in head.strip().split("::") if p]
    out = []
    for part in parts:
        for path, name in flatten(part):
            path = [] if path == ["self"] else path
            out.append((prefix + path, prefix[-1] if not path else name))
    return out


class Crate:
    def __init__(self):
        self.text, self.file = {}, {}
        tests = set()
        raw = {f.relative_to(SRC): f.read_text() for f in sorted(SRC.rglob("*.rs"))}
        for name, text in raw.items():
            for path, module in re.findall(r'#\[path = "([^"]+)"\]\s*(?:pub\S* )?mod (\w+);', text):
                if path.endswith("_tests.rs") or "simulation" in path:
                    tests.add(name.parent / path)
            for module in re.findall(r"#\[cfg\(test\)\]\s*mod (\w+);", text):
                folder = name.parent if name.name == "mod.rs" else name.with_suffix("")
                tests.add(folder / f"{module}.rs")
        for name, text in raw.items():
            if name in tests or name.name == "lib.rs":
                continue
            parts = list(name.with_suffix("").parts)
            if parts[-1] == "mod":
                parts.pop()
            self.file[tuple(parts)] = name
            self.text[tuple(parts)] = without_tests(text)
        self.exports = {}
        for module, text in self.text.items():
            for tree in REEXPORT.findall(text):
                for path, name in flatten(tree):
                    self.exports[module + (name,)] = (module, path)

    def absolute(self, module: tuple, path: list):
        """A path from the crate's root; None for one of another crate."""
        if path[0] == "crate":
            return tuple(path[1:])
        here, rest = module, list(path)
        if rest[0] == "self":
            rest = rest[1:]
        elif rest[0] == "super":
            while rest and rest[0] == "super":
                here, rest = here[:-1], rest[1:]
        elif here + (rest[0],) not in self.text:
            return None
        return here + tuple(rest)

    def target(self, path: tuple, seen=()):
        """The module that defines what a path names."""
        for length in range(len(path), 0, -1):
            head = path[:length]
            if head in self.exports and head not in seen:
                module, inner = self.exports[head]
                to = self.absolute(module, inner)
                return self.target(to + path[length:], seen + (head,)) if to else None
            if head in self.text:
                return head
        return None

    def imports(self) -> dict:
        """For each module, the modules it names."""
        out = collections.defaultdict(set)
        for module, text in self.text.items():
            body = REEXPORT.sub("", text)
            paths, body = [], IMPORT.sub("", body)
            for tree in IMPORT.findall(text):
                for path, name in flatten(tree):
                    paths.append(path)
                    # An imported folder counts for the modules that the text names in it.
                    paths += [path + [child]
                        for child in re.findall(rf"\b{re.escape(name)}::(\w+)", body)]
            for path in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", body):
                paths.append(path.split("::"))
            for path in paths:
                to = self.absolute(module, path)
                to = to and self.target(to)
                if to and to != module:
                    out[module].add(to)
        return out


def loops(graph: dict) -> list:
    """The strongly connected components with more than one node (Tarjan, without recursion)."""
    index, low, stack, found, count = {}, {}, [], [], 0
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph.get(root, ()))))]
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        while work:
            node, edges = work[-1]
            for to in edges:
                if to not in index:
                    index[to] = low[to] = count
                    count += 1
                    stack.append(to)
                    work.append((to, iter(sorted(graph.get(to, ())))))
                    break
                if to in stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while node not in part:
                        part.add(stack.pop())
                    if len(part) > 1:
                        found.append(part)
    return found


def unnamed(graph: dict) -> list:
    """Imports that the head of a folder does not name."""
    wrong = []
    for head in sorted(SRC.rglob("mod.rs")):
        folder = head.parent.relative_to(SRC).parts
        text = head.read_text().replace("\n//! ", " ")
        says = re.findall(r"It imports [^.]*\.", text)
        if not says or "every other folder" in says[0]:
            continue
        named = set(re.findall(r"`(\w+)`", says[0]))
        for module, targets in graph.items():
            inside = module[:len(folder)] == folder
            siblings = {t[len(folder) - 1] for t in targets if t[:len(folder) - 1] == folder[:-1]
                        and t[:len(folder)] != folder and len(t) >= len(folder)}
            if inside and len(folder) > 1 and siblings - named:
                wrong.append(
                    f"{head.relative_to(SRC)}: does not name {', '.join(sorted(siblings - named))}")
    return sorted(set(wrong))


def main() -> None:
    crate = Crate()
    graph = crate.imports()
    wrong = unnamed(graph)
    for module, targets in sorted(graph.items()):
        for to in sorted(targets):
            if "--graph" in sys.argv[1:]:
                print(f"{crate.file[module]} -> {crate.file[to]}")
            if module[0] == "algo" and to[0] == "backend":
                wrong.append(
                    f"{crate.file[module]}: algo names no backend, but imports {crate.file[to]}")
            common = 0
            while common < min(len(module), len(to)) and module[common] == to[common]:
                common += 1
            order = ORDER.get("/".join(module[:common]))
            if order is None or common >= min(len(module), len(to)):
                continue
            level = {name: i for i, names in enumerate(order) for name in names.split()}
            above, below = module[common], to[common]
            if above in level and below in level and level[below] >= level[above]:
                wrong.append(
                    f"{crate.file[module]}: {above} must not import {below}, "
                    f"but imports {crate.file[to]}")
    files = {m: {t for t in to if crate.file[t].name != "mod.rs"}
             for m, to in graph.items() if crate.file[m].name != "mod.rs"}
    for part in loops(files):
        names = {str(crate.file[m]) for m in part}
        if names not in LOOPS:
            edges = [f"    {crate.file[m]} -> {crate.file[t]}" for m in sorted(part)
                for t in sorted(files[m] & part)]
            wrong.append("files import each other in a loop:\n" + "\n".join(edges))
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
