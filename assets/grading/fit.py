#!/usr/bin/env python3
"""Fits the weights of src/reasoner/offline/relevance.rs and says how well they transfer.

    fit.py BINARY WORK NAME=JUDGED.jsonl...

Each file is in the format of `eval grading`; collect.py makes such files. BINARY writes what its
grader looks at into the folder WORK, where it is taken from the next time. Names that end in -zh are
Chinese and give the weights for Chinese questions; the others give those for the rest.

The map is a logistic regression without weights below 0. Every collection weighs the same: its
relevant passages 1 together, its other judged ones 1.5 and those far off 0.5; where words alone
decide, as for Chinese, 2 and 1, because they are more easily alike by chance. `linked` depends on the
weights themselves, so the fit is repeated with the links it has led to.

For each collection are printed: out-of-fold figures (five folds by question, so that no passage is
graded by weights that saw its question) and those with the whole collection left out.
"""
import os, subprocess, sys
import numpy as np

SHARES = {"ENGLISH": (1.0, 1.5, 0.5), "CHINESE": (1.0, 2.0, 1.0)}
RIDGE, FOLDS, ROUNDS = 0.0005, 5, 4


class Rows:
    """Passages of one collection, or some of them."""

    def __init__(self, question, batch, label, named_by, values):
        self.question, self.batch, self.named_by, self.values = question, batch, named_by, values
        self.label = label
        self.y, self.far = (label == "relevant").astype(float), label == "far_off"

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8") as file:
            names = file.readline().rstrip("\n").split("\t")[4:]
            rows = [line.rstrip("\n").split("\t") for line in file]
        assert names[-1] == "linked"
        cls.names = names
        batch = np.array([int(row[1]) for row in rows])
        start = {}
        for at, number in enumerate(batch):
            start.setdefault(number, at)
        named_by = [[] if r[3] == "-" else [start[b] + int(p) for p in r[3].split(",")] for r, b in zip(rows, batch)]
        values = np.array([[float(value) for value in row[4:]] for row in rows])
        return cls(np.array([int(row[0]) for row in rows]), batch, np.array([row[2] for row in rows]), named_by, values)

    def where(self, mask):
        """Whole questions only, so that no link leads out."""
        place = {old: new for new, old in enumerate(np.flatnonzero(mask))}
        named_by = [[place[at] for at in self.named_by[old]] for old in place]
        return Rows(self.question[mask], self.batch[mask], self.label[mask], named_by, self.values[mask])

    def linked(self, fitted):
        values = self.values.copy()
        values[:, -1] = 0
        alone = grades(fitted, values)
        values[:, -1] = [max((alone[at] for at in by), default=0.0) for by in self.named_by]
        return values

    def weights(self, shares):
        weights = np.zeros(len(self.y))
        for label, share in zip(("relevant", "irrelevant", "far_off"), shares):
            mask = self.label == label
            weights[mask] = share / max(1, mask.sum())
        return weights


def grades(fitted, values):
    return 1 / (1 + np.exp(-(fitted[0] + values @ fitted[1:])))


def regression(x, y, w):
    """Newton's method; what comes out below 0 is left out, the lowest first."""
    x, w = np.hstack([np.ones((len(x), 1)), x]), w / w.sum()
    used = [0] + [at for at in range(1, x.shape[1]) if x[:, at].any()]
    while True:
        some, ridge = x[:, used], np.diag([0.0] + [RIDGE] * (len(used) - 1))
        b = np.zeros(len(used))
        for _ in range(50):
            p = 1 / (1 + np.exp(-some @ b))
            curve = (some * (w * p * (1 - p))[:, None]).T @ some + ridge
            step = np.linalg.solve(curve, some.T @ (w * (p - y)) + ridge @ b)
            b -= step
            if abs(step).max() < 1e-9:
                break
        lowest = 1 + int(b[1:].argmin())
        if b[lowest] >= 0:
            fitted = np.zeros(x.shape[1])
            fitted[used] = b
            return fitted
        del used[lowest]


def fit(collections, shares):
    y = np.concatenate([rows.y for rows in collections])
    w = np.concatenate([rows.weights(shares) for rows in collections])
    fitted = np.zeros(1 + len(Rows.names))
    for _ in range(ROUNDS):
        fitted = regression(np.concatenate([rows.linked(fitted) for rows in collections]), y, w)
    return fitted


def auc(p, y):
    order = np.argsort(p, kind="stable")
    _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    rank = (last - (counts - 1) / 2)[inverse]
    relevant = y.sum()
    return (rank[y == 1].sum() - relevant * (relevant + 1) / 2) / (relevant * (len(order) - relevant))


def figures(label, p, rows):
    judged, off = ~rows.far, rows.far
    y, error, cells = rows.y, 0.0, []
    for low in range(10):
        inside = judged & (p >= low / 10) & ((p < (low + 1) / 10) | (low == 9))
        if inside.any():
            error += abs(p[inside].mean() - y[inside].mean()) * inside.sum() / judged.sum()
            cells.append(f"{p[inside].mean():.2f}→{y[inside].mean():.2f} ({inside.sum()})")
    print(
        f"  {label:24} AUC {auc(p[judged], y[judged]):.3f}  calibration error {error:.3f}  "
        f"Brier {((p - y)[judged] ** 2).mean():.3f}"
        + (f"  far-off below 0.3: {(p[off] < 0.3).mean():.3f}, highest {p[off].max():.2f}" if off.any() else "")
    )
    return cells


def report(side, collections):
    if not collections:
        return
    shares = SHARES[side]
    fitted = fit(list(collections.values()), shares)
    weights = ", ".join(f"{weight:.2f}" for weight in fitted[1:])
    print(f"{side}: ({fitted[0]:.2f}, [{weights}])   {' '.join(Rows.names)}")
    nothing = [n for n, column in zip(Rows.names, np.concatenate([r.values for r in collections.values()]).T) if not column.any()]
    if nothing:
        print("  0 throughout, so not fitted:", " ".join(nothing))
    folds = {}
    for name, rows in collections.items():
        questions = np.random.RandomState(0).permutation(sorted(set(rows.question)))
        fold = {question: at % FOLDS for at, question in enumerate(questions)}
        folds[name] = np.array([fold[question] for question in rows.question])
    out = {name: np.zeros(len(rows.y)) for name, rows in collections.items()}
    for at in range(FOLDS):
        trained = fit([rows.where(folds[name] != at) for name, rows in collections.items()], shares)
        for name, rows in collections.items():
            inside = folds[name] == at
            rest = rows.where(inside)
            out[name][inside] = grades(trained, rest.linked(trained))
    for name, rows in collections.items():
        cells = figures(name + ", out of fold", out[name], rows)
        others = [other for key, other in collections.items() if key != name]
        if others:
            trained = fit(others, shares)
            figures(name + ", left out", grades(trained, rows.linked(trained)), rows)
        print("    grade→relevant (passages):", "  ".join(cells))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    binary, work, *files = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    english, chinese = {}, {}
    for name, path in (pair.split("=", 1) for pair in files):
        table = os.path.join(work, name + ".tsv")
        if not os.path.exists(table):
            draft = table + ".part"
            command = [binary, "--data-dir", work, "eval", "grading", path, "--features", draft]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            os.replace(draft, table)
        (chinese if name.endswith("-zh") else english)[name] = Rows.read(table)
    report("ENGLISH", english)
    report("CHINESE", chinese)


main()
