#!/usr/bin/env python3
"""Fits to_english.f16, the map from multilingual-e5-small to all-MiniLM-L6-v2, and says how well it finds paragraphs.

    fit.py pairs XQUAD TLDR OUT
    KB_AGENT_EMBEDDING=english cargo bench --bench judge_signals -- OUT/english.jsonl --vectors OUT/english.bin
    KB_AGENT_EMBEDDING=multilingual cargo bench --bench judge_signals -- OUT/multilingual.jsonl --vectors OUT/multilingual.bin
    fit.py fit OUT [--write]

XQUAD and TLDR are checkouts of the repositories that ../NOTICE names. The first step writes sentences with their
translations and the texts that need a vector; the last one fits a linear map with an offset by least squares. Numpy is needed.
"""
import collections, glob, json, os, random, re, sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DIMENSIONS = 384
RIDGE = 0.01
OFTEN = ("de", "es", "fr", "zh")  # languages with more sentences than the others
HELD = "xquad_held"  # every third article of XQuAD: not fitted on
SHOWN = ("de", "es", "zh", "ru", "tr", "ar")


def questions_of(xquad, language):
    """The questions of a language by their ids, each with the number of its article and paragraph."""
    with open(f"{xquad}/xquad.{language}.json", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    found, paragraphs = {}, {}
    for a, article in enumerate(articles):
        for p, paragraph in enumerate(article["paragraphs"]):
            paragraphs[f"{a}_{p}"] = paragraph["context"]
            found.update({qa["id"]: (a, f"{a}_{p}", qa["question"]) for qa in paragraph["qas"]})
    return found, paragraphs


def page(path):
    """The description of a page, what its examples do, and their commands without names."""
    with open(path, encoding="utf-8") as file:
        rows = file.read().split("\n")
    plain = lambda row: re.sub(r"[`\[\]]", "", row[2:]).rstrip(":：")
    heads = [plain(row) for row in rows if row.startswith("> ")]
    examples = [plain(row) for row in rows if row.startswith("- ")]
    commands = [re.sub(r"\{\{.*?\}\}", "X", row) for row in rows if row.startswith("`")]
    return heads[:1], examples, commands


def make_pairs(xquad, tldr, out):
    random.seed(7)
    pairs = []
    english, paragraphs = questions_of(xquad, "en")
    for path in sorted(glob.glob(f"{xquad}/xquad.*.json")):
        language = path.split(".")[-2]
        if language == "en":
            continue
        for key, (article, paragraph, text) in questions_of(xquad, language)[0].items():
            held = article % 3 == 0
            if held or random.random() < (0.8 if language in ("de", "es", "zh", "ru") else 0.15):
                of = HELD if held else "xquad"
                pairs.append({"english": english[key][2], "other": text, "language": language, "set": of, "paragraph": paragraph})
    for folder in sorted(glob.glob(f"{tldr}/pages.*")):
        language, count = folder.split(".")[-1], 0
        files = sorted(glob.glob(folder + "/*/*.md"))
        random.shuffle(files)
        for file in files:
            source = file.replace(folder, f"{tldr}/pages")
            if not os.path.exists(source):
                continue
            (head, others, theirs), (english_head, examples, commands) = page(file), page(source)
            if len(others) != len(examples) or theirs != commands:
                continue
            both = random.sample(list(zip(examples, others)), min(2, len(others)))
            both += list(zip(english_head, head)) if random.random() < 0.5 else []
            pairs += [{"english": a, "other": b, "language": language, "set": "tldr"} for a, b in both if a != b]
            count += len(both)
            if count > (1500 if language in OFTEN else 500):
                break
    os.makedirs(out, exist_ok=True)
    texts = {"english": dict.fromkeys([p["english"] for p in pairs] + list(paragraphs.values()))}
    texts["multilingual"] = dict.fromkeys([p["english"] for p in pairs] + [p["other"] for p in pairs])
    for name, of in texts.items():
        with open(f"{out}/{name}.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in of)
    with open(f"{out}/pairs.json", "w", encoding="utf-8") as file:
        json.dump({"pairs": pairs, "paragraphs": paragraphs}, file, ensure_ascii=False)


def vectors(out, name):
    with open(f"{out}/{name}.jsonl", encoding="utf-8") as file:
        texts = [json.loads(line) for line in file]
    return dict(zip(texts, np.fromfile(f"{out}/{name}.bin", "<f4").reshape(-1, DIMENSIONS)))


def fit(out):
    with open(f"{out}/pairs.json", encoding="utf-8") as file:
        made = json.load(file)
    english, multilingual = vectors(out, "english"), vectors(out, "multilingual")
    seen = [pair for pair in made["pairs"] if pair["set"] != HELD]
    x = np.array([multilingual[pair["other"]] for pair in seen] + [multilingual[pair["english"]] for pair in seen], float)
    y = np.array([english[pair["english"]] for pair in seen] * 2, float)
    mean = x.mean(0)
    x = np.c_[x - mean, np.ones(len(x))]
    gram = x.T @ x
    gram[np.arange(DIMENSIONS), np.arange(DIMENSIONS)] += RIDGE
    rows = np.linalg.solve(gram, x.T @ y)
    rows[DIMENSIONS] -= mean @ rows[:DIMENSIONS]
    rows = rows.astype("<f2")
    report(made, english, multilingual, rows.astype(float))
    return rows


def report(made, english, multilingual, rows):
    """How often the right paragraph is the first, and among the first ten."""
    names = list(made["paragraphs"])
    passages = np.array([english[made["paragraphs"][name]] for name in names])
    by_language = collections.defaultdict(list)
    for pair in made["pairs"]:
        if pair["set"] == HELD:
            by_language[pair["language"]].append(pair)
    for language in SHOWN:
        asked = by_language[language]
        found = np.array([np.append(multilingual[pair["other"]], 1) @ rows for pair in asked])
        right = np.array([names.index(pair["paragraph"]) for pair in asked])
        scores = found @ passages.T
        rank = (scores > scores[np.arange(len(asked)), right][:, None]).sum(1)
        print(f"{language}: {len(asked)} questions, first {(rank < 1).mean():.2f}, of ten {(rank < 10).mean():.2f}")


if __name__ == "__main__":
    if sys.argv[1] == "pairs":
        make_pairs(*sys.argv[2:5])
    else:
        made = fit(sys.argv[2])
        if "--write" in sys.argv:
            made.tofile(os.path.join(HERE, "to_english.f16"))
