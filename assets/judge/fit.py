#!/usr/bin/env python3
"""Fits weights.toml, the weights of the offline engine's judge, and says how well they do.

    fit.py SIGNALS.jsonl... [--write] [--only MODEL,MODEL...] [--without NAME,NAME...]

Each file is what `cargo bench --bench judge_signals -- QUESTIONS.jsonl --out SIGNALS.jsonl` writes with
KB_AGENT_EMBEDDING=english or =multilingual: the names of the signals and the embedding, then a line for each question with its
`set` and its passages, each with its blocks and their signals. A passage has a `label` (answers, relevant, vain, near,
far, irrelevant; elsewhere where all passages are those of other questions) or a `source`; in the second case the blocks that overlap a span of `gold` answer. Numpy and scipy
are needed. make_questions.py makes the questions of the collections that NOTICE names.

There are three models: en for English by the English embedding, zh for Chinese (fitted on Japanese too) and multilingual
for everything else by the multilingual one. With --only the others stay as they are in weights.toml. Three things are fitted for each:
  weights     how likely a block answers: logistic over all blocks, each set weighing the same and its blocks that
              answer as much as the others; to this is added the softmax over the blocks of each question, which is
              what chooses the block to quote
  grade       how likely a passage answers, see fit_grade
  answer      how likely an answer is right by the chance of its best block and what is measured of all passages
              together (POOL): logistic, on the sets that are real documentation, each predicted by weights that saw the
              other sets only; a question in IN_VAIN is one that they do not answer. An answer is given from the chance
              on below which REFUSED of these lie
Figures are out of fold: a set is predicted by a fit on the other sets ("left out").
"""
import json, os, re, sys
import numpy as np
from scipy.optimize import minimize

HERE = os.path.dirname(os.path.abspath(__file__))
RIDGE, SOFTMAX = 0.3, 1.0
MOST_QUOTED_BLOCKS, WITHIN = 3, 2.0  # as in src/reasoner/offline/answer/choose.rs
KEEP_FROM = 0.3  # as in src/domain/grade.rs
KEPT = 0.065  # of the passages that do not answer, those from KEEP_FROM on
ELSEWHERE = 0.2  # how often a base holds nothing on a question, for each time that it does
POOL = ("nearness", "matching", "held", "cosine")
IN_VAIN = 0.2  # of the questions that people ask of a base
REFUSED = 0.75  # of those, the share that is refused
GRADED_BY = ("passage_terms_to_best", "nearness_to_best")
MODELS = ("en", "zh", "multilingual")
CHINESE = ("cmrc", "drcd", "xquad_zh", "vite_zh", "rustbook_zh", "fastapi_ja")  # and Japanese; of its questions the judge gives zh those with more Chinese characters than kana
SHARES = {"near": 1.0, "irrelevant": 1.0, "far": 0.7, "vain": 0.2}
ANSWERS = ("answers", "relevant")


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class Set:
    """The blocks of one collection, question by question."""

    def __init__(self, name, questions, names):
        self.name, self.names = name, names
        self.is_docs = any("source" in p for q in questions for p in q["passages"]) and any("gold" in q for q in questions)
        rows, y, weight, question, passage, count = [], [], [], [], [], 0
        self.questions = questions
        for at, q in enumerate(questions):
            for p in q["passages"]:
                for b in p["blocks"]:
                    rows.append(b["row"])
                    if "label" in p:
                        here = "gold" not in p or any(b["lines"][0] <= line <= b["lines"][1] for line in p["gold"])
                        y.append(p["label"] in ANSWERS and here)
                        weight.append(SHARES.get(p["label"], 1.0))
                    else:
                        gold = [g for g in q["gold"] if ("/" + p["source"]).endswith("/" + g["source"])]
                        y.append(any(b["lines"][0] <= g["end_line"] and g["start_line"] <= b["lines"][1] for g in gold))
                        weight.append(1.0)
                    question.append(at)
                    passage.append(count)
                count += 1
        self.x, self.y = np.array(rows), np.array(y, float)
        self.question, self.passage = np.array(question), np.array(passage)
        w = np.array(weight)
        for value in (0, 1):
            of = self.y == value
            w[of] /= max(1e-9, w[of].sum())
        self.w = w / 2
        starts = np.flatnonzero(np.r_[True, self.question[1:] != self.question[:-1]])
        self.starts = starts
        asked = np.add.reduceat(self.y, starts) > 0
        self.has_answer = asked  # of the questions that have blocks
        self.group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(self.question)]))


    def pools(self):
        """What is measured of all passages of each question that has blocks."""
        asked = [q for q in self.questions if any(p["blocks"] for p in q["passages"])]
        return np.array([[q["pool"][name] for name in POOL] for q in asked])


    def best_of_passages(self, name):
        """The greatest value of a signal in each passage."""
        starts = np.flatnonzero(np.r_[True, self.passage[1:] != self.passage[:-1]])
        return np.maximum.reduceat(self.x[:, self.names.index(name)], starts)


def kept_part(model):
    """What weights.toml says of a model."""
    with open(os.path.join(HERE, "weights.toml"), encoding="utf-8") as file:
        _, part = file.read().split(f"\n[{model}]\n", 1)
    return f"\n[{model}]\n" + re.split(r"(?m)^\[(?!" + model + r"\.)", part)[0].rstrip() + "\n"


def logistic(s):
    return 1 / (1 + np.exp(-np.clip(s, -500, 500)))


def log_odds(p):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


def fit(sets, names):
    x = np.concatenate([s.x for s in sets])
    y, w = np.concatenate([s.y for s in sets]), np.concatenate([s.w for s in sets]) / len(sets)
    mean, spread = x.mean(0), x.std(0)
    spread[spread < 1e-9] = 1.0
    z = (x - mean) / spread
    starts, wanted, shares, before = [], [], [], 0
    for s in sets:
        ones = np.add.reduceat(s.y, s.starts)
        asks = ones > 0
        starts.append(s.starts + before)
        wanted.append(s.y / np.maximum(ones, 1)[s.group])
        shares.append(np.where(asks, 1 / max(1, asks.sum()), 0) / len(sets))
        before += len(s.y)
    starts, wanted, shares = map(np.concatenate, (starts, wanted, shares))
    lengths = np.diff(np.r_[starts, len(y)])
    share = np.repeat(shares, lengths)

    def objective(b):
        sums = b[0] + z @ b[1:]
        value = (w * (np.logaddexp(0, sums) - y * sums)).sum()
        slope = w * (logistic(sums) - y)
        top = np.repeat(np.maximum.reduceat(sums, starts), lengths)
        e = np.exp(sums - top)
        whole = np.repeat(np.add.reduceat(e, starts), lengths)
        value += SOFTMAX * (share * wanted * (np.log(whole) - (sums - top))).sum()
        slope = slope + SOFTMAX * share * (e / whole - wanted) * (np.repeat(np.add.reduceat(wanted, starts), lengths) > 0)
        return value + RIDGE * (b[1:] @ b[1:]) / 2, np.r_[slope.sum(), z.T @ slope + RIDGE * b[1:]]

    bounds = [(None, None)] + [(0, None)] * len(names)  # a signal may only speak for what its name says
    found = minimize(objective, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400})
    b = found.x[1:] / spread
    return np.r_[found.x[0] - b @ mean, b]


def sums(b, s):
    return b[0] + s.x @ b[1:]


def ranked_blocks(b, s):
    """Of each question that has blocks the chances of the best three, and whether each answers; blocks of equal lines
    count once."""
    chance = logistic(sums(b, s))
    found = []
    for a, e in zip(s.starts, np.r_[s.starts[1:], len(chance)]):
        order = a + np.argsort(-chance[a:e], kind="stable")[:MOST_QUOTED_BLOCKS]
        found.append([(chance[at], s.y[at]) for at in order])
    return found


def answers_of(s, found):
    """Of each question what the answer is judged by, whether a quoted block answers (the best one or one that is about as
    likely), and how much it counts."""
    x, right = [], []
    for blocks, pool in zip(found, s.pools()):
        best = log_odds(blocks[0][0])
        x.append((best, *pool))
        right.append(max(y for chance, y in blocks if best - log_odds(chance) <= WITHIN))
    asked = np.array([bool(q["gold"]) for q in s.questions if any(p["blocks"] for p in q["passages"])])
    weight = np.where(asked, (1 - IN_VAIN) / max(1, asked.sum()), IN_VAIN / max(1, (~asked).sum()))
    return np.array(x), np.array(right), weight


def auc(p, y):
    _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ones = y.sum()
    return (rank[y == 1].sum() - ones * (ones + 1) / 2) / max(1, ones * (len(y) - ones))


def passages(b, s):
    """The grade of each passage, and whether it answers."""
    score = logistic(sums(b, s))
    starts = np.flatnonzero(np.r_[True, s.passage[1:] != s.passage[:-1]])
    return np.maximum.reduceat(score, starts), np.maximum.reduceat(s.y, starts)


def fit_answers(x, right, weight):
    """Bias and weights of a logistic model of being right."""
    mean, spread = x.mean(0), x.std(0)
    spread[spread < 1e-9] = 1.0
    z = (x - mean) / spread

    def objective(b):
        s = b[0] + z @ b[1:]
        return np.average(np.logaddexp(0, s) - right * s, weights=weight) + 0.003 * (b[1:] @ b[1:])

    bounds = [(None, None)] + [(0, None)] * x.shape[1]
    found = minimize(objective, np.zeros(len(bounds)), method="L-BFGS-B", bounds=bounds).x
    b = found[1:] / spread
    return np.r_[found[0] - b @ mean, b]


def fit_grade(sets, lefts, elsewhere):
    """Bias and weights of the grade of a passage: how likely it answers by the chance of its best block and by how far it
    is behind the best passage in words and in meaning. Some of the passages are those of a base that holds nothing on the
    question (`elsewhere`), or the best of them would look right. Moved so that of passages that do not
    answer a share of KEPT stays from KEEP_FROM on. Real documentation is left out: there
    more passages answer than are marked; and so is SQuAD, half of whose passages only seem to answer."""
    x, y, w, far = [], [], [], []
    for s, left in ((s, left) for s, left in zip(sets, lefts) if not s.is_docs and s.name != "squad"):
        grade, answers = passages(left, s)
        x.append(np.c_[log_odds(grade), *(s.best_of_passages(name) for name in GRADED_BY)])
        y.append(answers), w.append(np.full(len(answers), 1 / len(answers)))
        for other in (other for other in elsewhere if other.name == s.name):
            grade, _ = passages(left, other)
            far.append(np.c_[log_odds(grade), *(other.best_of_passages(name) for name in GRADED_BY)])
    near, y, w = map(np.concatenate, (x, y, w))
    far = np.concatenate(far)
    x = np.concatenate([near, far])
    all_y = np.r_[y, np.zeros(len(far))]
    all_w = np.r_[w, np.full(len(far), ELSEWHERE * w.sum() / len(far))]
    mean, spread = x.mean(0), x.std(0)
    z = (x - mean) / spread

    def objective(b):
        sums = b[0] + z @ b[1:]
        return np.average(np.logaddexp(0, sums) - all_y * sums, weights=all_w) + 0.003 * (b[1:] @ b[1:]) / 2

    bounds = [(None, None)] + [(0, None)] * x.shape[1]
    found = minimize(objective, np.zeros(len(bounds)), method="L-BFGS-B", bounds=bounds).x
    weights = found[1:] / spread
    score = near @ weights
    low = np.quantile(score[y == 0], 1 - KEPT)
    grade = lambda x: logistic(log_odds(KEEP_FROM) + x @ weights - low)
    good = grade(near) >= 0.7
    print(f"  grades from 0.7 on: {np.average(y[good], weights=w[good]):.3f} answer; of what lies elsewhere {(grade(far) < KEEP_FROM).mean():.3f} below {KEEP_FROM}")
    return np.r_[log_odds(KEEP_FROM) - low, weights]


def report(name, s, b):
    found = ranked_blocks(b, s)
    right = np.array([blocks[0][1] for blocks in found])
    three = np.array([max(y for _, y in blocks) for blocks in found])
    grade, answers = passages(b, s)
    answered = s.has_answer
    line = f"  {name:12} blocks AUC {auc(sums(b, s), s.y):.3f}  passages AUC {auc(grade, answers):.3f}"
    line += f"  best block answers {right[answered].mean():.3f}, of three {three[answered].mean():.3f}, of {answered.sum()}"
    line += f"  answering >= .7 {(grade[answers == 1] >= .7).mean():.2f}  others < .3 {(grade[answers == 0] < KEEP_FROM).mean():.2f}"
    line += f"  precision >= .7 {answers[grade >= .7].mean() if (grade >= .7).any() else 0:.2f}"
    print(line)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    listed = {}
    for option in ("--without", "--only"):
        value = sys.argv[sys.argv.index(option) + 1] if option in sys.argv else ""
        listed[option] = value.split(",") if value else []
        if value:
            arguments.remove(value)
    dropped, only = listed["--without"], listed["--only"] or MODELS
    by_set, by_base, names = {}, {}, None
    for path in arguments:
        head, *found = lines(path)
        names = head["signals"]
        for q in found:
            if any(p["blocks"] for p in q["passages"]):
                is_elsewhere = all(p.get("label") == "elsewhere" for p in q["passages"])
                key = (head["embedding"], q["set"])
                (by_base if is_elsewhere else by_set).setdefault(key, []).append(q)
    gone = [at for at, name in enumerate(names) if name.removesuffix("_to_best") in dropped]
    text = "# Made by fit.py; see NOTICE. Weights of signals by name.\n"
    for language in MODELS:
        if language not in only:
            text += kept_part(language)
            continue
        embedding = "english" if language == "en" else "multilingual"
        is_own = lambda by, name: by == embedding and (name in CHINESE) == (language == "zh")
        sets = [Set(name, asked, names) for (by, name), asked in by_set.items() if is_own(by, name)]
        elsewhere = [Set(name, asked, names) for (by, name), asked in by_base.items() if is_own(by, name)]
        for s in sets + elsewhere:
            s.x[:, gone] = 0.0
        final = fit(sets, names)
        print(language)
        blocks_of, lefts = [], []
        for s in sets:
            left = fit([o for o in sets if o.name.split("_")[0] != s.name.split("_")[0]], names)
            lefts.append(left)
            report(s.name, s, left)
            if s.is_docs:
                blocks_of.append((s, answers_of(s, ranked_blocks(left, s))))
        grade = fit_grade(sets, lefts, elsewhere)
        stack = lambda pairs: tuple(map(np.concatenate, zip(*pairs)))
        answer = fit_answers(*stack([pair for _, pair in blocks_of]))
        for s, (x, right, weight) in blocks_of:
            others = [pair for o, pair in blocks_of if o.name.split("_")[0] != s.name.split("_")[0]]
            own = fit_answers(*stack(others)) if others else answer
            s.confidence, s.right = logistic(own[0] + x @ own[1:]), right
            s.asked = np.array([bool(q["gold"]) for q in s.questions if any(p["blocks"] for p in q["passages"])])
        docs = [s for s, _ in blocks_of]
        confidence, right, asked = (np.concatenate([getattr(s, of) for s in docs]) for of in ("confidence", "right", "asked"))
        answer_from = np.ceil(100 * np.quantile(confidence[~asked], REFUSED)) / 100
        given = confidence >= answer_from
        print(f"    answers are given from {answer_from:.2f} on")
        print(f"    answered rightly {(given & (right > 0) & asked).sum() / asked.sum():.3f} of {asked.sum()}, refused {(~given[~asked]).mean():.3f} of {(~asked).sum()}")
        for low, high in ((0, .1), (.1, .2), (.2, .3), (.3, .4), (.4, .5), (.5, .7), (.7, .9), (.9, 1.01)):
            of = (confidence >= low) & (confidence < high)
            share = right[of].mean() if of.any() else 0
            print(f"    confidence {low:.1f}-{high:.1f}: {of.sum():4} answers, {share:.2f} right, {(~asked[of]).sum()} of them cannot be answered")
        digits = lambda value: float(f"{value:.4g}")
        text += f"\n[{language}]\nbias = {digits(final[0])}\n"
        text += f"grade = {{ bias = {digits(grade[0])}, odds = {digits(grade[1])}, terms_to_best = {digits(grade[2])}, nearness_to_best = {digits(grade[3])} }}\n"
        text += f"answer = {{ from = {digits(answer_from)}, bias = {digits(answer[0])}, odds = {digits(answer[1])}, {', '.join(f'{name} = {digits(value)}' for name, value in zip(POOL, answer[2:]))} }}\n\n[{language}.weights]\n"
        text += "".join(f"{name} = {digits(value)}\n" for name, value in zip(names, final[1:]) if abs(value) > 1e-9)
    print(text)
    if "--write" in sys.argv:
        with open(os.path.join(HERE, "weights.toml"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
