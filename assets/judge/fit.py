#!/usr/bin/env python3
"""Fits weights.toml, the weights of the offline engine's judge, and says how well they do.

    fit.py BINARY WORK READING NAME=JUDGED.jsonl... [--without SIGNAL,SIGNAL...]

READING is a folder as `eval reading` takes it, each NAME a file as `eval grading` takes it (such as
assets/grading/collect.py makes). Of them the folder WORK gets one file of questions, and BINARY writes
what the judge looks at beside it; both are taken from there the next time. Numpy and scipy are needed.

Four things are fitted for each language, from the same signals:
  unit     which unit of a passage answers: a softmax over the units of a passage
  grade    whether a passage answers: logistic, every collection weighing the same, by SHARES. Every
           question counts twice: with the passages that answer it and without them, since the best of
           passages that do not answer must not look like one that does. A signal may only speak for
           what its name says (see FREE): what else is found is found in one collection,
           and misleads in others. The bias is lowered until of every collection all but FAR of the
           far passages stay below 0.3
  said     what the sum of a unit and the grade of its passage make of a unit among those of all passages
           that a search brings (see `answers`): a softmax
  answers  whether anything found answers at all: logistic, by the best of all passages in each of
           ANSWERS, on what a search by words brings from a base of half of a collection's articles. A
           question has no answer there whose article is in the other half, or whose passage is taken
           out. These two signals tell as much of a collection left out as all signals together do
and the chance of `answers` from which on the engine quotes: where of no collection more than MISSED of
the questions that have an answer are turned away.

With --without nothing is written, and the figures are those of weights without these signals.

Figures are out of fold: five folds by document, so that nothing is judged by weights that saw its
document. `left out` is by weights that saw nothing of the collection.
"""
import json, math, os, random, re, subprocess, sys
from collections import Counter, defaultdict
import numpy as np
from scipy.optimize import minimize

FOLDS = 5
LIFT = 2.0  # as in src/reasoner/offline/judge/linking.rs
FAR = 0.015
ANSWERS = ("held", "core_cosine")
MISSED = 0.05
ASKED, FOUND = 160, 10  # questions of each kind that are asked of a base, and passages found for each
RIDGE = {"unit": 0.003, "grade": 0.005, "answers": 0.003, "said": 0.003}
SHARES = {"answers": 1, "relevant": 1, "near": 0.75, "irrelevant": 0.75, "far": 0.5, "far_off": 0.5, "vain": 0.3}
FREE = ("words",)  # signals of passages that may speak for and against
ONLY_ANSWERS = ("core_cosine",)  # no part of grades
ONE_SUBJECT = ("cranfield", "med")  # passages of other questions are not far off
CHINESE = ("cmrc", "drcd", "xquad_zh")
HERE = os.path.dirname(os.path.abspath(__file__))


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def questions(reading, judged):
    """All questions in the form of `eval signals`; those with a marked sentence once more, with the
    passage that holds it alone, as `eval reading` asks them."""
    passages = {p["id"]: p for p in lines(os.path.join(reading, "passages.jsonl"))}
    for q in lines(os.path.join(reading, "questions.jsonl")):
        def passage(id, label, answers=()):
            return {"title": passages[id]["title"], "sentences": passages[id]["sentences"], "label": label, "answers": list(answers)}
        answers = q["answers"] + q.get("also", [])
        own = passage(q["passage"], "answers" if q["answers"] else "vain", answers if q["answers"] else ())
        others = [passage(id, label) for label in ("near", "far") for id in q.get(label, [])]
        group = q["passage"] if q["set"] == "xquad_zh" else passages[q["passage"]]["title"]
        yield {"query": q["query"], "set": q["set"], "group": group, "passages": [own, *others]}
        if q["answers"]:
            yield {"query": q["query"], "set": q["set"] + "_alone", "group": group, "passages": [own]}
    for name, path in judged:
        asked = lines(path)
        for at, q in enumerate(asked):
            label = lambda p: "far_off" if p.get("far_off") else "relevant" if p["relevant"] else "irrelevant"
            yield {"query": q["query"], "set": name, "group": q["query"], "passages": [{"text": p["text"], "label": label(p)} for p in q["passages"]]}
            far = [asked[(at + 7 * k + 1) % len(asked)]["passages"] for k in range(1, 7)]
            far = [{"text": ps[k % len(ps)]["text"], "label": "far_off"} for k, ps in enumerate(far)]
            yield {"query": q["query"], "set": name, "group": q["query"], "passages": far}


def words(text):
    """Words in lower case; of Chinese, pairs of characters."""
    runs = re.findall(r"[\u3400-\u9fff]+", text)
    pairs = [pair for run in runs for pair in ([run[at:at + 2] for at in range(len(run) - 1)] or [run])]
    return re.findall(r"[a-z0-9]+", text.lower()) + pairs


def search(passages):
    """BM25 over some passages: a function of a query and of what is left out."""
    held = {id: Counter(words(p["title"] + " " + " ".join(p["sentences"]))) for id, p in passages.items()}
    length = {id: sum(counts.values()) for id, counts in held.items()}
    mean, postings = sum(length.values()) / len(length), defaultdict(list)
    for id, counts in held.items():
        for word in counts:
            postings[word].append(id)

    def find(query, without):
        scores = Counter()
        for word in sorted(set(words(query))):
            ids = postings.get(word, ())
            idf = math.log(1 + (len(held) - len(ids) + 0.5) / (len(ids) + 0.5))
            for id in ids:
                count = held[id][word]
                scores[id] += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length[id] / mean))
        return [id for id, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0])) if id != without][:FOUND]

    return find


def bases(reading):
    """Questions asked of half of a collection's articles, with what a search brings: `answered`, `outside`
    (their article is not there) and `removed` (their passage is not)."""
    passages = {p["id"]: p for p in lines(os.path.join(reading, "passages.jsonl"))}
    asked = lines(os.path.join(reading, "questions.jsonl"))
    order = random.Random(1)
    for name in ("squad", "xquad_en", "selqa", "xquad_zh", "cmrc", "drcd"):
        group = lambda id: id if name == "xquad_zh" else passages[id]["title"]
        own = [q for q in asked if q["set"] == name]
        ids = [id for id, p in passages.items() if p["set"] == name]
        groups = sorted({group(id) for id in ids})
        order.shuffle(groups)
        inside = set(groups[: len(groups) // 2])
        base = {id: passages[id] for id in ids if group(id) in inside}
        find = search(base)
        order.shuffle(own)
        counts = Counter()
        for q in own:
            kind = ("answered" if q["answers"] else "vain") if q["passage"] in base else "outside"
            if kind == "answered" and counts[kind] >= ASKED:
                kind = "removed"
            found = find(q["query"], q["passage"] if kind == "removed" else None)
            missed = kind in ("answered", "vain") and q["passage"] not in found
            if counts[kind] >= ASKED or not found or missed:
                continue
            counts[kind] += 1
            answers = q["answers"] + q.get("also", [])
            label = lambda id: "near" if id != q["passage"] else "answers" if q["answers"] else "vain"
            passage = lambda id: {"title": passages[id]["title"], "sentences": passages[id]["sentences"], "label": label(id), "answers": answers if id == q["passage"] else []}
            yield {"query": q["query"], "set": name + "_base", "group": kind, "passages": [passage(id) for id in found]}


class Base:
    """What a base has for its questions: of each the best of its passages in each signal, and its kind."""

    def __init__(self, name, asked, names):
        self.name = name.removesuffix("_base")
        best = [np.max([p["row"] for p in q["passages"]], 0) for q in asked]
        self.x = np.array(best)[:, [names.index(signal) for signal in ANSWERS]]
        self.kind = np.array([q["group"] for q in asked])
        self.y = (self.kind == "answered").astype(float)

        self.asked = [q for q in asked if any(u["answers"] for p in q["passages"] for u in p["units"])]

    def units(self, unit, grade):
        """The sum of each unit and the log-odds of its passage's grade, whether it answers, and the question."""
        x, y, question = [], [], []
        for at, q in enumerate(self.asked):
            alone = chance(total(grade, np.array([p["row"] for p in q["passages"]])))
            best = np.array([max((alone[by] for by in p["named_by"]), default=0.0) for p in q["passages"]])
            odds = log_odds(alone) + LIFT * best
            for p, of in zip(q["passages"], odds):
                x += [(total(unit, np.array(u["row"])), of) for u in p["units"]]
                y += [float(u["answers"]) for u in p["units"]]
                question += [at] * len(p["units"])
        return np.array(x), np.array(y), np.array(question)

    def weights(self):
        """Answered questions weigh as much as the others, and each kind of those the same; nothing those
        that only seem to have an answer."""
        others = [kind for kind in ("outside", "removed") if (self.kind == kind).any()]
        w = np.where(self.y == 1, 1 / self.y.sum(), 0.0)
        for kind in others:
            w[self.kind == kind] = 1 / len(others) / (self.kind == kind).sum()
        return w


def fit_answers(bases):
    x, y, w = (np.concatenate(of) for of in zip(*((b.x, b.y, b.weights()) for b in bases)))
    return logistic(x, y, w, RIDGE["answers"])


def fit_said(bases, unit, grade):
    x, y, question, before = [], [], [], 0
    for base in bases:
        of = base.units(unit, grade)
        x.append(of[0])
        y.append(of[1])
        question.append(of[2] + before)
        before += len(base.asked)
    return softmax(np.concatenate(x), np.concatenate(y), np.concatenate(question), RIDGE["said"])[1:]


class Rows:
    """Passages of a collection."""

    def __init__(self, x, y, label, fold, question):
        self.x, self.y, self.label, self.fold, self.question = x, y, label, fold, question

    def part(self, passages):
        other = Rows(self.x[passages], self.y[passages], self.label[passages], self.fold[passages], self.question[passages])
        other.without = self.without[passages]
        return other


class Set:
    """The rows of one collection."""

    def __init__(self, name, asked):
        self.name, self.asked = name, asked
        groups = sorted({q["group"] for q in asked})
        order = np.random.RandomState(0).permutation(len(groups))
        fold = {groups[at]: place % FOLDS for place, at in enumerate(order)}
        passages = [(fold[q["group"]], at, p) for at, q in enumerate(asked) for p in q["passages"]]
        self.fold = np.array([f for f, _, _ in passages])
        self.question = np.array([at for _, at, _ in passages])
        self.x = np.array([p["row"] for _, _, p in passages])
        self.label = np.array([p["label"] for _, _, p in passages])
        self.y = np.isin(self.label, ["answers", "relevant"]).astype(float)
        first = np.searchsorted(self.question, np.arange(len(asked)))
        self.named_by = [[first[at] + n for n in p["named_by"]] for _, at, p in passages]
        units = [(place, u["row"], u["answers"]) for place, (_, _, p) in enumerate(passages) for u in p["units"]]
        self.passage = np.array([place for place, _, _ in units])
        self.units = np.array([row for _, row, _ in units])
        self.said = np.array([answers for _, _, answers in units], float)

    def both_ways(self, names):
        """Its passages, then those of each question without the ones that answer it."""
        relative = [(names.index(name), names.index(name + "_to_best"), names.index(name + "_to_mean")) for name in names if name + "_to_best" in names]
        rows, of = [], []
        for at in range(len(self.asked)):
            left = np.flatnonzero((self.question == at) & (self.y == 0))
            if len(left) and len(left) < (self.question == at).sum():
                row = self.x[left].copy()
                for own, to_best, to_mean in relative:
                    row[:, to_best], row[:, to_mean] = row[:, own] - row[:, own].max(), row[:, own] - row[:, own].mean()
                rows.append(row)
                of.append(left)
        of = np.concatenate([np.arange(len(self.y)), *of])
        self.all = Rows(np.concatenate([self.x, *rows]), self.y[of], self.label[of], self.fold[of], self.question[of])
        self.all.without = np.arange(len(of)) >= len(self.y)

    def marked(self, passages=True):
        """The units of passages that hold a marked one."""
        held = np.bincount(self.passage, self.said, len(self.label)) > 0
        return (held & passages)[self.passage]


def scaled(x):
    spread = x.std(0)
    return x.mean(0), np.where(spread > 1e-6, spread, np.inf)


def plain(b, mean, spread):
    """Weights of what has not been scaled."""
    weights = b[1:] / spread
    return np.concatenate([[b[0] - weights @ mean], weights])


def newton(objective, size):
    """The least of a convex function, which gives its value, slope and curve."""
    b = np.zeros(size)
    value, slope, curve = objective(b)
    for _ in range(100):
        step = np.linalg.solve(curve, slope)
        length = 1.0
        while length > 1e-6:
            found = objective(b - length * step)
            if found[0] <= value - 1e-4 * length * (slope @ step):
                break
            length /= 2
        if length <= 1e-6 or length * abs(step).max() < 1e-7:
            break
        b, (value, slope, curve) = b - length * step, found
    return b


def logistic(x, y, w, ridge):
    mean, spread = scaled(x)
    z = np.hstack([np.ones((len(x), 1)), (x - mean) / spread])
    w, penalty = w / w.sum(), np.diag([0.0] + [ridge] * x.shape[1])

    def objective(b):
        sums = z @ b
        p = chance(sums)
        value = (w * (np.logaddexp(0, sums) - y * sums)).sum() + b @ penalty @ b / 2
        return value, z.T @ (w * (p - y)) + penalty @ b, (z * (w * p * (1 - p))[:, None]).T @ z + penalty

    return plain(newton(objective, z.shape[1]), mean, spread)


def softmax(x, y, group, ridge):
    """Each group has one answer or more, and each of these the same share of it."""
    mean, spread = scaled(x)
    z = (x - mean) / spread
    _, group = np.unique(group, return_inverse=True)
    count = group.max() + 1
    wanted = y / np.bincount(group, y)[group]
    penalty = ridge * np.eye(x.shape[1])
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])

    def objective(b):
        s = z @ b
        s -= np.maximum.reduceat(s, starts)[group]
        p = np.exp(s)
        whole = np.bincount(group, p)[group]
        p /= whole
        means = np.add.reduceat(z * p[:, None], starts)
        value = (wanted * (np.log(whole) - s)).sum() / count + b @ penalty @ b / 2
        return value, z.T @ (p - wanted) / count + penalty @ b, ((z * p[:, None]).T @ z - means.T @ means) / count + penalty

    return plain(np.concatenate([[0.0], newton(objective, x.shape[1])]), mean, spread)


def chance(s):
    return 1 / (1 + np.exp(-np.clip(s, -500, 500)))


def log_odds(p):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


def total(b, x):
    return b[0] + x @ b[1:]


def fit_grade(rows, names):
    x, y = np.concatenate([r.x for r in rows]), np.concatenate([r.y for r in rows])
    weights = []
    for r in rows:
        w = np.zeros(len(r.y))
        for label, share in SHARES.items():
            for without in (False, True):
                of = (r.label == label) & (r.without == without)
                w[of] = share / max(1, of.sum())
        weights.append(w)
    w = np.concatenate(weights)
    mean, spread = scaled(x)
    z, w = (x - mean) / spread, w / w.sum()

    def objective(b):
        sums = b[0] + z @ b[1:]
        slope = w * (chance(sums) - y)
        value = (w * (np.logaddexp(0, sums) - y * sums)).sum() + RIDGE["grade"] * (b[1:] @ b[1:]) / 2
        return value, np.concatenate([[slope.sum()], z.T @ slope + RIDGE["grade"] * b[1:]])

    bounds = [(None, None)] + [(0, 0) if name in ONLY_ANSWERS else (None, None) if name in FREE else (0, None) for name in names]
    found = minimize(objective, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500})
    return plain(found.x, mean, spread)


def fit_units(sets, where):
    """Over the marked units of some passages of each set."""
    masks = [s.marked(where(s)) for s in sets]
    group, before = [], 0
    for s, mask in zip(sets, masks):
        group.append(s.passage[mask] + before)
        before += len(s.label)
    x = np.concatenate([s.units[mask] for s, mask in zip(sets, masks)])
    y = np.concatenate([s.said[mask] for s, mask in zip(sets, masks)])
    return softmax(x, y, np.concatenate(group), RIDGE["unit"])


def linked(alone, s):
    best = np.array([max((alone[at] for at in by), default=0.0) for by in s.named_by])
    return chance(log_odds(alone) + LIFT * best)


def auc(p, y):
    order = np.argsort(p, kind="stable")
    _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ones = y.sum()
    return (rank[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(order) - ones))


def first_right(s, scores, passages=True):
    """How often the best unit of a passage is a marked one."""
    right = []
    mask = s.marked(passages)
    for at in np.unique(s.passage[mask]):
        inside = s.passage == at
        right.append(s.said[inside][scores[inside].argmax()])
    return np.mean(right)


def fit_language(language, sets, bases, names):
    read = [s for s in sets if s.said.any()]
    graded = [s for s in sets if not s.name.endswith("_alone")]
    for s in graded:
        s.both_ways(names[1])
    rest = lambda fold: lambda s: s.fold != fold
    sums = {s.name: np.zeros(len(s.said)) for s in sets}
    grades = {s.name: np.zeros(len(s.all.y)) for s in graded}
    for fold in range(FOLDS):
        unit = fit_units(read, rest(fold))
        grade = fit_grade([s.all.part(s.all.fold != fold) for s in graded], names[1])
        for s in sets:
            at = s.fold[s.passage] == fold
            sums[s.name][at] = total(unit, s.units[at])
        for s in graded:
            at = s.all.fold == fold
            grades[s.name][at] = total(grade, s.all.x[at])
    far = [(s, np.isin(s.label, ["far", "far_off"])) for s in graded if s.name not in ONE_SUBJECT]
    lower = 0.0
    own = lambda s: chance(grades[s.name][: len(s.y)] - lower)
    while any((linked(own(s), s)[of] < 0.3).mean() < 1 - FAR for s, of in far if of.any()):
        lower += 0.05
    for name in grades:
        grades[name] -= lower
    final = {"grade": fit_grade([s.all for s in graded], names[1])}
    final["grade"][0] -= lower
    final["unit"] = fit_units(read, lambda s: s.fold >= 0)
    final["said"] = fit_said(bases, final["unit"], final["grade"])
    answers = fit_answers(bases)
    final["answers"] = np.zeros(len(names[1]) + 1)
    final["answers"][[0] + [1 + names[1].index(signal) for signal in ANSWERS]] = answers
    final["quote_from"] = quote_from(bases, answers)
    report(language, sets, graded, sums, grades, lower, names)
    return final


def quote_from(bases, weights):
    at = lambda base: np.quantile(chance(total(weights, base.x[base.y == 1])), MISSED)
    t = min(at(base) for base in bases)
    print(f"quote from {t:.2f}")
    for base in bases:
        left = total(fit_answers([other for other in bases if other is not base]), base.x)
        line = f"  {base.name:15}"
        for kind in ("answered", "outside", "removed", "vain"):
            of = base.kind == kind
            if of.any():
                line += f"  {kind} {(chance(total(weights, base.x[of])) >= t).mean():.3f}"
                if kind != "answered":
                    told = of | (base.y == 1)
                    line += f" (left out AUC {auc(left[told], base.y[told]):.3f})"
        print(line)
    return t


def report(language, sets, graded, sums, grades, lower, names):
    print(f"{language}: far passages lowered the bias of grades by {lower:.2f}")
    column = {name: at for at, name in enumerate(names[0])}
    for s in sets:
        if s.said.any():
            alone = [first_right(s, s.units[:, column[name]]) for name in ("coverage", "cosine")]
            both = first_right(s, s.units[:, column["coverage"]] + s.units[:, column["cosine"]])
            others = [o for o in sets if o.said.any() and o.name.split("_alone")[0] != s.name.split("_alone")[0]]
            left = first_right(s, total(fit_units(others, lambda s: s.fold >= 0), s.units))
            print(f"  {s.name:15} sentence@1 {first_right(s, sums[s.name]):.3f}  left out {left:.3f}  coverage {alone[0]:.3f}  cosine {alone[1]:.3f}  sum {both:.3f}")
    for s in graded:
        p = linked(chance(grades[s.name][: len(s.y)]), s)
        bands = " ".join(
            f"{label} {(p[s.label == label] < 0.3).mean():.3f}/{(p[s.label == label] >= 0.7).mean():.3f}"
            for label in ("answers", "relevant", "vain", "near", "irrelevant", "far", "far_off") if (s.label == label).any()
        )
        judged = ~np.isin(s.label, ["vain", "far_off"])
        line = f"  {s.name:15} AUC {auc(p[judged], s.y[judged]):.3f}"
        others = [o for o in graded if o.name != s.name]
        if others:
            left = linked(chance(total(fit_grade([o.all for o in others], names[1]), s.x)), s)
            line += f"  left out {auc(left[judged], s.y[judged]):.3f}"
        print(line + f"  below 0.3/from 0.7: {bands}")


def write(fitted, names, sets):
    """The weights, and some rows with what they come to, for the test that both sides reckon alike."""
    digits = lambda value: float(f"{value:.4g}")
    with open(os.path.join(HERE, "weights.toml"), "w", encoding="utf-8") as file:
        file.write("# Made by fit.py; see NOTICE. Weights of signals by name, each signal as it is measured.\n")
        for language, final in fitted.items():
            file.write(f"\n[{language}]\nquote_from = {final['quote_from']:.2f}\n")
            unit, grade = map(digits, final["said"])
            file.write(f"said = {{ unit = {unit}, grade = {grade} }}\n")
            for what, of in (("unit", 0), ("grade", 1), ("answers", 1)):
                final[what] = np.array([digits(value) for value in final[what]])
                file.write(f"\n[{language}.{what}]\nbias = {final[what][0]}\n")
                file.writelines(f"{name} = {w}\n" for name, w in zip(names[of], final[what][1:]) if w)
    with open(os.path.join(HERE, "reckoned.jsonl"), "w", encoding="utf-8") as file:
        for language, final in fitted.items():
            s = next(s for s in sets if s.said.any() and (s.name in CHINESE) == (language == "zh"))
            final["said"] = np.array([0.0, *map(digits, final["said"])])
            for what, rows in (("unit", s.units), ("grade", s.x), ("answers", s.x), ("said", np.array([[2.0, -1.0], [-0.5, 3.0]]))):
                for row in rows[:: max(1, len(rows) // 2)][:2]:
                    row = np.round(row, 4)
                    file.write(json.dumps({"language": language, "what": what, "row": row.tolist(), "sum": total(final[what], row)}) + "\n")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    arguments, dropped = sys.argv[1:], []
    if "--without" in arguments[:-1]:
        at = arguments.index("--without")
        dropped = arguments[at + 1].split(",")
        del arguments[at:at + 2]
    binary, work, reading, *files = arguments
    os.makedirs(work, exist_ok=True)
    asked, rows = os.path.join(work, "asked.jsonl"), os.path.join(work, "signals.jsonl")
    if not os.path.exists(rows):
        with open(asked, "w", encoding="utf-8") as file:
            judged = [pair.split("=", 1) for pair in files]
            for question in [*questions(reading, judged), *bases(reading)]:
                file.write(json.dumps(question, ensure_ascii=False) + "\n")
        command = [binary, "--data-dir", work, "eval", "signals", asked, "--out", rows + ".part"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        os.replace(rows + ".part", rows)
    names, *found = lines(rows)
    names = [names["units"], names["passages"]]
    known = {name for of in names for name in of}
    if unknown := [name for name in dropped if name not in known]:
        sys.exit("unknown signal: " + ", ".join(unknown))
    for of, each in enumerate((lambda q: (u for p in q["passages"] for u in p["units"]), lambda q: q["passages"])):
        gone = [at for at, name in enumerate(names[of]) if re.sub("_to_(best|mean)$", "", name) in dropped]
        for row in (row["row"] for q in found for row in each(q)):
            for at in gone:
                row[at] = 0.0
    by_set = {}
    for question in found:
        by_set.setdefault(question["set"], []).append(question)
    sets = [Set(name, asked) for name, asked in by_set.items() if not name.endswith("_base")]
    based = [Base(name, asked, names[1]) for name, asked in by_set.items() if name.endswith("_base")]
    chinese = lambda s: s.name.split("_alone")[0] in CHINESE
    fitted = {}
    for language, zh in (("en", False), ("zh", True)):
        of = lambda all: [s for s in all if chinese(s) == zh]
        if of(sets):
            fitted[language] = fit_language(language, of(sets), of(based), names)
    if not dropped:
        write(fitted, names, sets)


if __name__ == "__main__":
    main()
