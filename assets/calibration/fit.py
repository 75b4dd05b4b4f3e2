#!/usr/bin/env python3
"""Fits the curves of src/kb/calibration.rs and says how well they transfer.

    fit.py BINARY WORK NAME=BEIR_FOLDER... [--foreign QUERIES.jsonl]...

Each collection is indexed by BINARY in the folder WORK. Its own queries give relevant and other
passages among their ten best; a sample of the other collections' queries, and of the files given
with --foreign (lines with "query"), stand for questions of which the base knows nothing. Every
collection weighs the same, its foreign queries half of that. Only the standard library is used.

The coefficients in the program come from cranfield, med, the first 100 questions of HotpotQA's
development set over their paragraphs, and crates.py's folder, with NQ-open and CLINC150 as foreign.
"""
import json, math, os, random, subprocess, sys

TOP, SAMPLE, FOREIGN_WEIGHT = 10, 40, 0.5
TOOLS = {"vector": "Meaning", "grep": "Words", "hybrid": "Both"}
BINS = [0, 0.1, 0.3, 0.5, 0.7, 0.8, 1.01]


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def arguments():
    plain, foreign, rest = [], {}, iter(sys.argv[1:])
    for argument in rest:
        if argument == "--foreign":
            path = next(rest)
            foreign[path] = [{"_id": str(n), "text": row["query"]} for n, row in enumerate(lines(path))]
        else:
            plain.append(argument)
    if len(plain) < 4:
        sys.exit(__doc__)
    return plain[0], plain[1], dict(pair.split("=", 1) for pair in plain[2:]), foreign


def mixed(name, folder, queries, work):
    """The collection with foreign queries added, which no judgement names."""
    target = os.path.join(work, "mixed", name)
    os.makedirs(os.path.join(target, "qrels"), exist_ok=True)
    for file in ("corpus.jsonl", "qrels/test.tsv"):
        link = os.path.join(target, file)
        if not os.path.lexists(link):
            os.symlink(os.path.abspath(os.path.join(folder, file)), link)
    with open(os.path.join(target, "queries.jsonl"), "w", encoding="utf-8") as out:
        for source, rows in queries.items():
            pick = random.Random(source).sample(rows, min(SAMPLE, len(rows))) if source != name else rows
            for row in pick:
                mark = "" if source == name else f"foreign:{source}:"
                out.write(json.dumps({"_id": mark + str(row["_id"]), "text": row["text"]}) + "\n")
    return target


def measured(binary, work, name, target):
    """For each tool the rows (measure, relevant, weight)."""
    with open(os.path.join(target, "qrels/test.tsv"), encoding="utf-8") as file:
        judged = [line.rstrip("\n").split("\t") for line in file]
    relevant = {(q, d) for q, d, grade in judged if grade.lstrip("-").isdigit() and int(grade) > 0}
    asked = {q for q, _ in relevant}
    found = {}
    for tool in TOOLS:
        run = os.path.join(work, f"{name}.{tool}.tsv")
        command = [binary, "--data-dir", work, "eval", "beir", target, "--tool", tool, "--json", "--run", run]
        print(name, subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip(), file=sys.stderr)
        own, foreign = [], []
        with open(run, encoding="utf-8") as file:
            for line in file:
                query, document, rank, _, _, share, cosine, *_ = line.rstrip("\n").split("\t")
                if int(rank) > TOP:
                    continue
                share, cosine = (0.0 if value == "-" else float(value) for value in (share, cosine))
                measure = {"vector": cosine, "grep": share, "hybrid": (share + cosine) / 2}[tool]
                if query.startswith("foreign:"):
                    foreign.append((measure, 0))
                elif query in asked:
                    own.append((measure, int((query, document) in relevant)))
        found[tool] = [(m, y, 1 / len(own)) for m, y in own]
        found[tool] += [(m, y, FOREIGN_WEIGHT / len(foreign)) for m, y in foreign]
    return found


def fit(rows):
    """Weighted logistic regression on one measure, by Newton's method."""
    bias = slope = 0.0
    for _ in range(100):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for x, y, w in rows:
            p = probability(bias, slope, x)
            g0, g1 = g0 + w * (y - p), g1 + w * (y - p) * x
            v = w * p * (1 - p)
            h00, h01, h11 = h00 + v, h01 + v * x, h11 + v * x * x
        determinant = h00 * h11 - h01 * h01
        step0 = (h11 * g0 - h01 * g1) / determinant
        step1 = (h00 * g1 - h01 * g0) / determinant
        bias, slope = bias + step0, slope + step1
        if abs(step0) + abs(step1) < 1e-9:
            break
    return bias, slope


def probability(bias, slope, x):
    return 1 / (1 + math.exp(-bias - slope * x))


def table(label, rows, curve):
    cells = []
    for low, high in zip(BINS, BINS[1:]):
        inside = [(probability(*curve, x), y, w) for x, y, w in rows if low <= probability(*curve, x) < high]
        weight = sum(w for *_, w in inside)
        if inside:
            said, was = sum(p * w for p, _, w in inside) / weight, sum(y * w for _, y, w in inside) / weight
            cells.append(f"{said:.2f}→{was:.2f} ({len(inside)})")
        else:
            cells.append("-")
    print(f"  {label:24}", "  ".join(cells))


def main():
    binary, work, collections, foreign = arguments()
    own = {name: lines(os.path.join(folder, "queries.jsonl")) for name, folder in collections.items()}
    rows = {}
    for name, folder in collections.items():
        rows[name] = measured(binary, work, name, mixed(name, folder, {**own, **foreign}, work))
    for tool, side in TOOLS.items():
        everything = [row for found in rows.values() for row in found[tool]]
        curve = fit(everything)
        print(f"By::{side}: ({curve[0]:.3f}, {curve[1]:.3f})   predicted→observed (passages)")
        for name in rows:
            table(f"{name}, in sample", rows[name][tool], curve)
            others = [row for other, found in rows.items() if other != name for row in found[tool]]
            table(f"{name}, left out", rows[name][tool], fit(others))


main()
