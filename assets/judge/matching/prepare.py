#!/usr/bin/env python3
"""Makes the questions that train.py trains the network on.

    prepare.py documents REPOSITORIES DOCUMENTS.jsonl
    cargo bench --bench judge_signals -- DOCUMENTS.jsonl --out BLOCKS.jsonl
    prepare.py questions BLOCKS.jsonl READING WITHOUT QUESTIONS.npz TEXTS.jsonl
    cargo bench --bench judge_signals -- TEXTS.jsonl --tokens VECTORS

REPOSITORIES is a folder with what `git archive` gives of the repositories that ../NOTICE lists, each in a folder of its name
there. READING is a folder as ../make_questions.py takes it; the questions of WITHOUT, which it writes and the judge is fitted
on, are left out. The first step writes the documents of each repository, the second all questions with five blocks each: at
most two that answer, and of the same repository three that share most words with the question (BM25), one that is beside
the best and one that is like it. VECTORS holds the vectors of the tokens of all of them. Numpy and scipy are needed.
"""
import collections, json, os, random, re, sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

HERE = os.path.dirname(os.path.abspath(__file__))
ENDINGS = (".md", ".mdx", ".rst", ".markdown", ".txt", ".adoc")
MOST_BYTES = 400_000  # of a document; what is longer is written by a program
NOT_ENGLISH = ("djangogirls_es", "djangogirls_de", "djangogirls_fr", "trpl_zh", "vite_cn", "beta_gouv", "contao_de", "beta_doc")
HELD = ("18f_handbook", "dxw", "anki", "borg", "jellyfin")  # the judge's weights for English are fitted on these
READING_SETS = ("squad", "selqa", "xquad_en")
READING_QUESTIONS = 2000
WORDS = 42  # of a block of reading
BLOCKS, RIGHT, BY_WORDS, BESIDE = 5, 2, 3, 1
STOP_WORDS = set("""a an and are as at be by can do does for from how i if in is it its me my of on or that the this to was we
what when where which who why will with you your""".split())


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def write_lines(path, values):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(value) + "\n" for value in values)


class Bm25:
    """Texts by the words that they share with another."""

    def __init__(self, texts):
        self.vocabulary, rows, columns, counts = {}, [], [], []
        lengths = np.zeros(len(texts))
        for at, text in enumerate(texts):
            for word, count in collections.Counter(terms(text)).items():
                rows.append(at), columns.append(self.vocabulary.setdefault(word, len(self.vocabulary))), counts.append(count)
                lengths[at] += count
        rows, columns, counts = (np.array(x, int) for x in (rows, columns, counts))
        held = np.bincount(columns, minlength=len(self.vocabulary))
        idf = np.log(1 + (len(texts) - held + 0.5) / (held + 0.5))
        weights = idf[columns] * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * lengths[rows] / lengths.mean()))
        self.index = sp.csc_matrix((weights, (rows, columns)), shape=(len(texts), len(self.vocabulary)))

    def nearest(self, text, most):
        known = [self.vocabulary[word] for word in terms(text) if word in self.vocabulary]
        scores = np.asarray(self.index[:, known].sum(1)).ravel()
        return np.argsort(-scores, kind="stable")[:most].tolist()


def terms(text):
    return [word[:6] for word in re.findall("[a-z0-9]+", text.lower()) if word not in STOP_WORDS]


def documents(repositories, out):
    rows = []
    for repository in sorted(Path(repositories).iterdir()):
        paths = sorted(p for p in repository.rglob("*") if p.suffix in ENDINGS and p.is_file() and p.stat().st_size <= MOST_BYTES)
        source = lambda path: path.relative_to(repository).as_posix()
        passages = [{"source": source(p), "text": p.read_bytes().decode("utf-8", "replace")} for p in paths]
        if passages and repository.name not in NOT_ENGLISH:
            rows.append({"query": "What is it?", "set": repository.name, "passages": passages})
    write_lines(out, rows)


def questions_of_repository(passages, asked):
    """(question, blocks that answer, others) of each question whose lines are those of a block."""
    flat = [(p["source"], *block["lines"], block["text"]) for p in passages for block in p["blocks"]]
    texts = [text for *_, text in flat]
    words = Bm25(texts)
    for q in asked:
        shared = {}
        for gold in q["gold"]:
            for at, (source, first, last, _) in enumerate(flat):
                count = min(last, gold["end_line"]) - max(first, gold["start_line"]) + 1
                if count > 0 and ("/" + source).endswith("/" + gold["source"]):
                    shared[at] = count
        if q["gold"] and not shared:
            continue
        answers = {texts[at] for at in shared}
        right = sorted(shared, key=lambda at: (shared[at], at), reverse=True)[:RIGHT]
        by_words, beside, alike = words.nearest(q["query"], 14), [], []
        for best in right[:1]:
            beside = [at for at in (best - 1, best + 1, best + 2) if 0 <= at < len(flat) and flat[at][0] == flat[best][0]]
            alike = words.nearest(texts[best][:300], 6)
        others = []
        for places, most in ((by_words, BY_WORDS), (beside, BESIDE), (alike, BESIDE), (by_words, BLOCKS)):
            others += [at for at in places if at not in others and texts[at] not in answers][:most]
        yield q["query"], [texts[at] for at in right], [texts[at] for at in others]


def blocks_of(passage):
    """(places of its sentences, text) of each block of a passage."""
    sentences, places = passage["sentences"], [[]]
    for at, sentence in enumerate(sentences):
        if places[-1] and len(" ".join(sentences[i] for i in [*places[-1], at]).split()) > WORDS:
            places.append([])
        places[-1].append(at)
    for block in places:
        yield set(block), passage["title"] + ": " + " ".join(sentences[at] for at in block)


def questions_of_reading(folder, without):
    held = {q["query"] for q in lines(without)}
    flat, own = [], {}
    for passage in lines(os.path.join(folder, "passages.jsonl")):
        if passage["set"] in READING_SETS:
            before = len(flat)
            flat += blocks_of(passage)
            own[passage["id"]] = range(before, len(flat))
    texts = [text for _, text in flat]
    words = Bm25(texts)
    asked = lines(os.path.join(folder, "questions.jsonl"))
    asked = [q for q in asked if q["set"] in READING_SETS and q["query"] not in held]
    for q in random.sample(asked, min(READING_QUESTIONS, len(asked))):
        answers = set(q["answers"] + q.get("also", []))
        right = [at for at in own[q["passage"]] if flat[at][0] & answers]
        others = [at for at in own[q["passage"]] if at not in right][:2]
        others += [at for at in words.nearest(q["query"], 8) if at not in right and at not in others]
        yield q["query"], [texts[at] for at in right[:RIGHT]], [texts[at] for at in others]


def questions(blocks_path, reading, without, questions_path, texts_path):
    random.seed(7)
    numbers = {}
    number = lambda text: numbers.setdefault(text, len(numbers))
    by_set, rows = {}, []
    for q in lines(os.path.join(HERE, "..", "colleagues.jsonl")):
        by_set.setdefault(q["set"], []).append(q)

    def add(name, asked):
        before = len(rows)
        for question, right, others in asked:
            found = [number(text) for text in [*right, *others][:BLOCKS]]
            rows.append((number(question), found + [-1] * (BLOCKS - len(found)), len(right), name in HELD))
        print(name, len(rows) - before, flush=True)

    for row in lines(blocks_path)[1:]:  # the names of the signals come first
        add(row["set"], questions_of_repository(row["passages"], by_set.get(row["set"], [])))
    add("reading", questions_of_reading(reading, without))
    question, blocks, right, held = map(np.array, zip(*rows))
    np.savez_compressed(questions_path, question=question, blocks=blocks, right=right, held=held)
    write_lines(texts_path, numbers)


if __name__ == "__main__":
    {"documents": documents, "questions": questions}[sys.argv[1]](*sys.argv[2:])
