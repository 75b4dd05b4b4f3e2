#!/usr/bin/env python3
"""Learns the weights with which the offline engine routes, and says how well they do.

    train.py CHITCHAT.jsonl COMPLEXITY.jsonl [--check]

CHITCHAT is CLINC150 as {"query", "complexity", "intent"}: chitchat, or anything else. COMPLEXITY is NQ-open
(simple) and HotpotQA (complex); its questions are also what small talk must not be taken for.
templates.txt adds what those lack, and so does written.jsonl. Written are, small-talk-en.bin, small-talk-zh.bin,
complexity-en.bin, complexity-zh.bin and vectors.jsonl, by which a test of the program finds out whether it computes
the same. --check writes nothing and says whether the files are those that would be written.

Four logistic regressions over n-grams and a few counts, that of English small talk also over the vector of the
sentence embedding in ../embedding. src/reasoner/offline/route/learned.rs reads the files and describes them;
features here and there must be the same. NQ-open is in lower case without punctuation, HotpotQA is not: case and punctuation would tell the two apart and nothing else, so the
features see neither. Nothing is trained on holdout.jsonl: its first round was looked at while templates.txt
was written, its second while the rules of the program were; the third was looked at by nobody before both were done.
"""
import json, math, os, random, re, struct, sys
import numpy as np
import onnxruntime
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from tokenizers import BertWordPieceTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDS = 5
# N-grams kept, by the size of their weights; and in how many sentences one must occur.
KEPT = {"small-talk-en": 6000, "small-talk-zh": 4000, "complexity-en": 2400, "complexity-zh": 2400}
# How much a line of written.jsonl counts beside a filled pattern.
WRITTEN = {"en": 1.2, "zh": 3.0}
# How much a line of CLINC150 counts that is no small talk, and one that only talks with the assistant: "no clue",
# "speak slower" and "call me Bob" are none to CLINC150, and near it.
OTHER, NEAR = 2.0, 3.5
# And one that is a question for knowledge.
QUESTION = 4.7
# What a vector of length 1 is multiplied with, beside n-grams that count 1 each.
VECTOR = 6.0
NEAR_INTENTS = {
    "cancel", "change_accent", "change_ai_name", "change_language", "change_speed", "change_user_name", "change_volume",
    "current_location", "maybe", "no", "repeat", "reset_settings", "text", "travel_suggestion", "user_name",
    "whisper_mode", "yes",
}
# Runs of letters within a word that are features where a model reads letters.
LETTERS = (3, 4)
SEEN = 2
RIDGE = {"small-talk-en": 4.0, "small-talk-zh": 2.0, "complexity-en": 4.0, "complexity-zh": 3.0}
SMALL_TALK_FROM, COMPLEX_FROM = 0.8, 0.5

# ---------------------------------------------------------------- features, as in route/features.rs


class Embedding:
    """all-MiniLM-L6-v2 as the program has it: the vector of a sentence, of length 1. ../embedding/NOTICE says how its ONNX
    file is made."""

    def __init__(self):
        folder = os.path.join(HERE, "..", "embedding")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.model = onnxruntime.InferenceSession(os.path.join(folder, "all-minilm-l6-v2-int8.onnx"), options)
        self.tokenizer = BertWordPieceTokenizer(os.path.join(folder, "vocab.txt"), lowercase=True)
        self.known = {}

    def of(self, text):
        if text not in self.known:
            ids = self.tokenizer.encode(text).ids
            ids = np.array([ids if len(ids) <= 256 else ids[:255] + ids[-1:]], dtype=np.int64)
            vector = self.model.run(None, {"ids": ids, "mask": np.ones(ids.shape, np.float32)})[0][0]
            self.known[text] = vector / np.linalg.norm(vector)
        return self.known[text]


EMBEDDING = Embedding()


def is_cjk(c):
    return 0x3400 <= c <= 0x4DBF or 0x4E00 <= c <= 0x9FFF or 0xF900 <= c <= 0xFAFF


def is_sign(c):
    """Everything that parts words; letters of all scripts do not."""
    if c < 0x80:
        return not (48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122)
    return (c < 0xC0 or c in (0xD7, 0xF7) or 0x2000 <= c <= 0x2BFF or 0x2E00 <= c <= 0x2E7F
            or 0x3000 <= c <= 0x303F or 0xFE00 <= c <= 0xFE4F or 0xFF00 <= c <= 0xFFEF
            or 0xE000 <= c <= 0xF8FF or c >= 0x1F000 and c < 0x20000)


def tokens(text):
    """Lower-case words without apostrophes; a Han character is a word. Digits become 0."""
    found, word = [], ""
    for char in text:
        if char in "'’‘":
            continue
        code = ord(char)
        if is_cjk(code) or is_sign(code):
            if word:
                found.append(word)
            word = ""
            if is_cjk(code):
                found.append(char)
        else:
            word += "0" if char in "0123456789" else char.lower()
    if word:
        found.append(word)
    return [re.sub("0+", "0", word) for word in found[:80]]


def fingerprint(gram):
    """FNV-1a over UTF-8, folded to 24 bits."""
    value = 0x811C9DC5
    for byte in gram.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return (value ^ value >> 24) & 0xFFFFFF


def grams(words, longest):
    """All runs of up to so many words, the borders counting as words."""
    bordered = ["<"] + words + [">"]
    found = set()
    for length in range(1, longest + 1):
        for at in range(len(bordered) - length + 1):
            run = bordered[at:at + length]
            if length > 1 or run[0] not in "<>":
                found.add(" ".join(run))
    return found


def letters(words):
    """Runs of letters within a word, its borders counting as letters: what typing errors leave of it."""
    found = set()
    for word in words:
        bordered = f"<{word}>"
        for length in LETTERS:
            found.update("#" + bordered[at:at + length] for at in range(len(bordered) - length + 1))
    return found


def word_lists(path):
    """The lists of words.txt by name."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if ":" in line and not line.startswith("#"):
                name, words = line.split(":", 1)
                found.setdefault(name, set()).update(words.split())
    return found


WORDS = word_lists(os.path.join(HERE, "words.txt"))
ASKING, RELATIVE, AUXILIARY = WORDS["asking"], WORDS["relative"], WORDS["auxiliary"]
PREPOSITION = WORDS["preposition"]
# Words that build a question; every other word is what it happens to be about.
FORM = WORDS["form"]


def skeleton(words):
    """The form of a question: words outside FORM become one sign a run, numbers another."""
    found = []
    for word in words:
        sign = word if word in FORM else "0" if word == "0" else "_ed" if word.endswith("ed") and len(word) > 4 else "_"
        if sign == "_" and found and found[-1] in ("_", "__"):
            found[-1] = "__"
        else:
            found.append(sign)
    return found


def counts(words):
    """The dense features of complexity, each about 0 to 2."""
    count = len(words)
    inner = words[1:]
    about = [word not in FORM for word in words]
    runs = sum(1 for at, it in enumerate(about) if it and (at == 0 or not about[at - 1]))
    asked = [at for at, word in enumerate(words) if word in ASKING]
    return [
        min(count, 8) / 8,
        min(max(count - 8, 0), 8) / 8,
        min(max(count - 16, 0), 24) / 12,
        min(sum(word in RELATIVE for word in inner), 3) / 2,
        min(sum(word in PREPOSITION for word in words), 6) / 3,
        min(sum(len(word) > 4 and word.endswith("ed") for word in words), 3) / 2,
        float("or" in inner),
        float("and" in inner),
        float(bool(words) and words[0] in AUXILIARY),
        float(bool(words) and words[0] in ASKING),
        float(bool(asked) and asked[0] * 2 > count),
        float(not asked),
        min(len(asked), 3) / 2,
        min(runs, 6) / 3,
        min(sum(about), 12) / 6,
        float("0" in words),
    ]


class SmallTalk:
    """N-grams of words, in English also of their letters, and how many words no small talk of the training data
    holds; in Chinese also how many pairs, because a character says little."""

    def __init__(self, name, longest_known):
        self.name, self.longest_known, self.embeds = name, longest_known, name == "small-talk-en"

    def grams(self, words):
        return grams(words, 2) | (letters(words) if self.name == "small-talk-en" else set())

    def runs(self, words, length):
        return [" ".join(words[at:at + length]) for at in range(len(words) - length + 1)]

    def counts(self, words, known, vector):
        foreign = [sum(run not in known for run in self.runs(words, length))
                   for length in range(1, self.longest_known + 1)]
        found = [min(count, 4) / 2 for count in foreign] + [min(len(words), 12) / 12]
        return found + list(VECTOR * vector) if self.embeds else found

    def known(self, rows, labels):
        """In how many sentences of small talk each run of words occurs."""
        seen = {}
        for words, label in zip(rows, labels):
            if label:
                for run in {run for length in range(1, self.longest_known + 1) for run in self.runs(words, length)}:
                    seen[run] = seen.get(run, 0) + 1
        return seen


class ComplexityOf:
    """N-grams of the form, and counts; nothing of what a question is about."""
    name, embeds = "complexity-en", False

    def grams(self, words):
        return grams(skeleton(words), 3)

    def counts(self, words, known, vector):
        return counts(words)

    def known(self, rows, labels):
        return {}


class ComplexityOfChinese:
    """N-grams of characters, and the length in three steps."""
    name, embeds = "complexity-zh", False

    def grams(self, words):
        return grams(words, 2)

    def counts(self, words, known, vector):
        count = len(words)
        return [min(count, 8) / 8, min(max(count - 8, 0), 12) / 12, min(max(count - 20, 0), 24) / 12]

    def known(self, rows, labels):
        return {}


# ---------------------------------------------------------------- data


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def talk_or_not(row):
    """A line of CLINC150 as its text, whether it is small talk, and how much it counts."""
    label = int(row["complexity"] == "chitchat")
    return row["query"], label, 1.0 if label else NEAR if row["intent"] in NEAR_INTENTS else OTHER


def templates(path):
    slots, lists, current = {}, {}, None
    with open(path, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("["):
                current = lists.setdefault(line.strip("[]"), [])
            elif line.startswith("@"):
                name, values = line[1:].split("=", 1)
                slots[name.strip()] = [value.strip() for value in values.split("|")]
            elif line and not line.startswith("#"):
                current.append(line)
    return slots, lists


def filled(patterns, slots, most, seed):
    """Up to so many different fillings of each pattern."""
    pick = random.Random(seed)
    found = {}
    for pattern in patterns:
        holes = len(re.findall(r"\{", pattern))
        for _ in range(most if holes else 1):
            text = re.sub(r"\{(.+?)\}", lambda hole: slots[hole[1]][int(pick.random() * len(slots[hole[1]]))], pattern)
            found[text] = True
    return list(found)


# ---------------------------------------------------------------- learning


def fit(found, dense, vocabulary, labels, weights, ridge):
    """Logistic regression; the weights of the n-grams, of the counts, and the bias."""
    columns = [[vocabulary[gram] for gram in sorted(each) if gram in vocabulary] for each in found]
    starts = np.cumsum([0] + [len(each) for each in columns])
    indices = np.array([at for each in columns for at in each])
    grams = scipy.sparse.csr_matrix((np.ones(len(indices)), indices, starts), shape=(len(found), len(vocabulary)))
    matrix = scipy.sparse.hstack([grams, scipy.sparse.csr_matrix(np.array(dense))]).tocsr()
    model = LogisticRegression(C=1 / ridge, tol=1e-4, max_iter=1000)
    model.fit(matrix, labels, sample_weight=weights)
    return np.append(model.coef_[0], model.intercept_[0])


class Model:
    """A fitted model as it is written: 8-bit weights by fingerprint."""

    def __init__(self, kind, texts, labels, weights):
        self.kind = kind
        rows = [tokens(text) for text in texts]
        labels, weights = np.array(labels, float), np.array(weights, float)
        often = kind.known(rows, labels)
        self.known = {word for word, times in often.items() if times >= SEEN}
        # A sentence of small talk does not make its own words known.
        spared = {word for word, times in often.items() if times > SEEN}
        vectors = [EMBEDDING.of(text) if kind.embeds else None for text in texts]
        dense = [kind.counts(words, spared if label else self.known, vector)
                 for words, label, vector in zip(rows, labels, vectors)]
        found = [kind.grams(words) for words in rows]
        times = {}
        for each in found:
            for gram in each:
                times[gram] = times.get(gram, 0) + 1
        names = sorted(gram for gram, seen in times.items() if seen >= SEEN)
        ridge = RIDGE[kind.name]
        theta = fit(found, dense, {gram: at for at, gram in enumerate(names)}, labels, weights, ridge)
        by_size = sorted(range(len(names)), key=lambda at: (-abs(theta[at]), names[at]))
        names = sorted(names[at] for at in by_size[:KEPT[kind.name]])
        theta = fit(found, dense, {gram: at for at, gram in enumerate(names)}, labels, weights, ridge)
        largest = np.abs(theta[:len(names)]).max()
        self.step = float(np.float32(largest / 127))
        self.table = {}
        for gram, weight in zip(names, theta):
            rounded = int(round(weight / self.step))
            if rounded:
                self.table[fingerprint(gram)] = rounded
        self.dense = [float(np.float32(weight)) for weight in theta[len(names):-1]]
        self.bias = float(np.float32(theta[-1]))
        self.known_prints = sorted({fingerprint(word) for word in self.known})

    def score(self, text, vector=None):
        """The probability."""
        if vector is None and self.kind.embeds:
            vector = EMBEDDING.of(text)
        words = tokens(text)
        total = sum(self.table.get(print_, 0) for print_ in {fingerprint(gram) for gram in self.kind.grams(words)})
        score = self.bias + self.step * total
        for weight, value in zip(self.dense, self.kind.counts(words, self.known, vector)):
            score += weight * value
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, score))))

    def bytes(self):
        def print_of(value):
            return value.to_bytes(3, "big")
        out = struct.pack("<4sffHHH", b"KBR1", self.bias, self.step, len(self.dense), len(self.known_prints),
                          len(self.table))
        out += struct.pack(f"<{len(self.dense)}f", *self.dense)
        out += b"".join(print_of(known) for known in self.known_prints)
        return out + b"".join(print_of(key) + struct.pack("b", self.table[key]) for key in sorted(self.table))


# ---------------------------------------------------------------- the three models


def greeted(texts, greetings, share, seed):
    """Some of the questions again, behind a greeting: they stay questions."""
    pick = random.Random(seed)
    return [f"{greetings[int(pick.random() * len(greetings))]} {text}" for text in texts if pick.random() < share]


def written(own, language):
    """The lines of written.jsonl with what they are; some only say that they are no small talk, as CLINC150 does."""
    return [(row["query"], row["complexity"]) for row in own[2] if row["language"] == language]


def train_small_talk(chitchat, questions, own):
    slots, lists, _ = own
    talk = filled(lists["small talk en"], slots, 4, 1)
    docs = filled(lists["knowledge en"], slots, 8, 2)
    docs += filled(lists["simple en"], slots, 5, 3) + filled(lists["complex en"], slots, 5, 4)
    other = [text for text, label, _ in chitchat if not label]
    behind = greeted(other + questions + docs, slots["greet"], 0.2, 5)
    rows = [(text, label, weight) for text, label, weight in chitchat]
    rows += [(text, 0, QUESTION) for text in questions]
    rows += [(text, 0, 1.0) for text in docs + behind] + [(text, 1, 1.0) for text in talk]
    rows += [(text, int(label == "chitchat"), WRITTEN["en"]) for text, label in written(own, "en")]
    return Model(SmallTalk("small-talk-en", 1), *map(list, zip(*rows)))


def train_complexity(judged, own):
    slots, lists, _ = own
    more = [(text, label) for text, label in written(own, "en") if label in ("simple", "complex")]
    simple = filled(lists["simple en"], slots, 12, 6)
    complex_ = filled(lists["complex en"], slots, 12, 7)
    texts = [text for text, _ in judged] + simple + complex_
    labels = [label for _, label in judged] + [0] * len(simple) + [1] * len(complex_)
    weights = [1.0] * len(judged) + [0.5] * (len(simple) + len(complex_)) + [1.0] * len(more)
    texts += [text for text, _ in more]
    labels += [int(label == "complex") for _, label in more]
    return Model(ComplexityOf(), texts, labels, weights)


def train_complexity_zh(own, left=()):
    """From written.jsonl alone, without the lines at the places left."""
    rows = [(text, label) for text, label in written(own, "zh") if label in ("simple", "complex")]
    rows = [row for at, row in enumerate(rows) if at not in left]
    labels = [int(label == "complex") for _, label in rows]
    return Model(ComplexityOfChinese(), [text for text, _ in rows], labels, [1.0] * len(rows))


def chinese(own, out_of=None, fold=None):
    """Small talk and knowledge in Chinese; with a fold, some patterns are left out and returned."""
    slots, lists, _ = own
    more = written(own, "zh")
    parts = {}
    for name, label in (("small talk zh", 1), ("knowledge zh", 0)):
        patterns = lists[name]
        kept = [p for at, p in enumerate(patterns) if out_of is None or at % out_of != fold]
        left = [p for at, p in enumerate(patterns) if out_of is not None and at % out_of == fold]
        parts[label] = filled(kept, slots, 8, 8 + label), filled(left, slots, 8, 8 + label)
    texts, labels = parts[1][0] + parts[0][0], [1] * len(parts[1][0]) + [0] * len(parts[0][0])
    weights = [1.0] * len(texts) + [WRITTEN["zh"]] * len(more)
    texts += [text for text, _ in more]
    labels += [int(label == "chitchat") for _, label in more]
    model = Model(SmallTalk("small-talk-zh", 2), texts, labels, weights)
    return model, parts[1][1], parts[0][1]


# ---------------------------------------------------------------- how well they do


def folds(count):
    order = list(range(count))
    random.Random(0).shuffle(order)
    return [set(order[fold::FOLDS]) for fold in range(FOLDS)]


def precision_recall(scores, labels, threshold):
    hits = sum(score >= threshold and label for score, label in zip(scores, labels))
    taken = sum(score >= threshold for score in scores)
    return hits / max(taken, 1), hits / max(sum(labels), 1)


def say_calibration(what, scores, labels):
    print(f"  calibration, {what}: mean of the probability and share that is so")
    edges = [0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0001]
    for low, high in zip(edges, edges[1:]):
        inside = [(score, label) for score, label in zip(scores, labels) if low <= score < high]
        if inside:
            mean = sum(score for score, _ in inside) / len(inside)
            share = sum(label for _, label in inside) / len(inside)
            print(f"    {low:.2f}-{min(high, 1):.2f}  {mean:.3f}  {share:.3f}  of {len(inside)}")


def say_written(chitchat, questions, own):
    """How the lines of written.jsonl fare that were not trained on."""
    for language in ("en", "zh"):
        scores, labels = [], []
        rows = [row for row in own[2] if row["language"] == language]
        for fold in range(FOLDS):
            kept = (*own[:2], [row for at, row in enumerate(rows) if at % FOLDS != fold])
            model = train_small_talk(chitchat, questions, kept) if language == "en" else chinese(kept)[0]
            left = rows[fold::FOLDS]
            scores += [model.score(row["query"]) for row in left]
            labels += [int(row["complexity"] == "chitchat") for row in left]
        print(f"small talk, {language}: {len(rows)} lines of written.jsonl")
        for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            precision, recall = precision_recall(scores, labels, threshold)
            taken = sum(score >= threshold and not label for score, label in zip(scores, labels))
            print(f"  from {threshold}: precision {precision:.3f}, recall {recall:.3f}, taken {taken} of {len(labels) - sum(labels)}")


def say_complexity_zh(own):
    rows = [(text, int(label == "complex")) for text, label in written(own, "zh") if label in ("simple", "complex")]
    scores = [0.0] * len(rows)
    for left in folds(len(rows)):
        model = train_complexity_zh(own, left)
        for at in left:
            scores[at] = model.score(rows[at][0])
    labels = [label for _, label in rows]
    print(f"simple or complex, Chinese: {FOLDS}-fold, {len(rows)} lines of written.jsonl")
    for threshold in (0.5, 0.6, 0.7, 0.8):
        right = sum((score >= threshold) == bool(label) for score, label in zip(scores, labels))
        precision, recall = precision_recall(scores, labels, threshold)
        print(f"  from {threshold}: accuracy {right / len(rows):.3f}, precision {precision:.3f}, recall {recall:.3f}")
    best = max((sum((len(text) >= n) == bool(label) for text, label in rows) / len(rows), n) for n in range(4, 40))
    print(f"  by length alone: {best[0]:.3f}, complex from {best[1]} characters")
    say_calibration("complex", scores, labels)


def restyled(text):
    """The styles that a set may have; the features must see through them."""
    plain = text.rstrip(" ?.!？。！")
    return [plain.lower(), plain.upper(), plain + "?", plain.title() + " ?", plain.replace("'", "’") + " .", plain + "？"]


def report(chitchat, judged, own):
    questions = [text for text, _ in judged]
    scored, asked = [0.0] * len(chitchat), [0.0] * len(judged)
    graded = [0.0] * len(judged)
    for left_talk, left_asked in zip(folds(len(chitchat)), folds(len(judged))):
        model = train_small_talk([row for at, row in enumerate(chitchat) if at not in left_talk],
                                 [text for at, text in enumerate(questions) if at not in left_asked], own)
        for at in left_talk:
            scored[at] = model.score(chitchat[at][0])
        for at in left_asked:
            asked[at] = model.score(questions[at])
        model = train_complexity([row for at, row in enumerate(judged) if at not in left_asked], own)
        for at in left_asked:
            graded[at] = model.score(judged[at][0])
            if at % 10 == 0:
                assert all(abs(model.score(other) - graded[at]) < 1e-9 for other in restyled(judged[at][0])), judged[at]
    labels = [label for _, label, _ in chitchat]
    print(f"small talk, English: {FOLDS}-fold, {len(chitchat)} of CLINC150 and {len(questions)} questions")
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9):
        precision, recall = precision_recall(scored, labels, threshold)
        mixed, _ = precision_recall(scored + asked, labels + [0] * len(asked), threshold)
        wrong = sum(score >= threshold for score in asked)
        print(f"  from {threshold}: precision {precision:.3f} (questions among them {mixed:.3f}), recall {recall:.3f},"
              f" questions taken for small talk {wrong} = {wrong / len(asked):.2%}")
    say_calibration("small talk", scored + asked, labels + [0] * len(asked))

    labels = [label for _, label in judged]
    print(f"simple or complex, English: {FOLDS}-fold, {len(judged)} questions")
    right = [(score >= COMPLEX_FROM) == bool(label) for score, label in zip(graded, labels)]
    precision, recall = precision_recall(graded, labels, COMPLEX_FROM)
    print(f"  accuracy {sum(right) / len(right):.3f}; complex: precision {precision:.3f}, recall {recall:.3f}")
    best = max((sum((len(text.split()) >= n) == bool(label) for text, label in judged) / len(judged), n)
               for n in range(4, 30))
    print(f"  by length alone: {best[0]:.3f}, complex from {best[1]} words")
    say_calibration("complex", graded, labels)

    taken = missed = talk = knowledge = 0
    for fold in range(FOLDS):
        model, left_talk, left_knowledge = chinese(own, FOLDS, fold)
        missed += sum(model.score(text) < SMALL_TALK_FROM for text in left_talk)
        taken += sum(model.score(text) >= SMALL_TALK_FROM for text in left_knowledge)
        talk, knowledge = talk + len(left_talk), knowledge + len(left_knowledge)
    print(f"small talk, Chinese: {FOLDS}-fold over patterns never seen: recall {1 - missed / talk:.3f} of {talk},"
          f" knowledge taken for small talk {taken} of {knowledge} = {taken / knowledge:.2%}")


def say_holdout(round_, english, chinese_model, complexity):
    print(f"holdout.jsonl, round {round_}, the models alone (the program adds rules):")
    rows = [row for row in lines(os.path.join(HERE, "holdout.jsonl")) if row["round"] == round_]
    for language, talk in (("en", english), ("zh", chinese_model)):
        mine = [row for row in rows if row["language"] == language]
        wrong = [row["query"] for row in mine
                 if (talk.score(row["query"]) >= SMALL_TALK_FROM) != (row["complexity"] == "chitchat")]
        print(f"  small talk {language}: {len(mine) - len(wrong)} of {len(mine)} right; wrong: {wrong}")
    mine = [row for row in rows if row["language"] == "en" and row["complexity"] != "chitchat"]
    wrong = [row["query"] for row in mine
             if (complexity.score(row["query"]) >= COMPLEX_FROM) != (row["complexity"] == "complex")]
    print(f"  simple or complex en: {len(mine) - len(wrong)} of {len(mine)} right; wrong: {wrong}")


def vectors(models, own):
    """Sentences with their probabilities, for the test that program and script agree; a few with their vectors, the
    others as if they had none."""
    slots, lists, _ = own
    edge = ["", "?!", "HELLO", "it's 12:30, isn’t it?", "naïve Café ÉCOLE", "日本語テスト mixed 中文", "a_b-c/d.e 3.14",
            "Ｆｕｌｌ ｗｉｄｔｈ", "word " * 100, "What's the name of the film that won 3 awards in 1999?"]
    english = edge + filled(lists["small talk en"], slots, 1, 13)[::20] + filled(lists["knowledge en"], slots, 1, 14)[::20]
    english += filled(lists["complex en"], slots, 1, 15)[::8]
    han = ["你好！", "VPN 在哪里下载？", "谢谢，再见", ""] + filled(lists["small talk zh"], slots, 1, 11)[::40]
    han += filled(lists["knowledge zh"], slots, 1, 12)[::20]
    rows = []
    for name, texts in (("small-talk-en", english), ("complexity-en", english), ("small-talk-zh", han), ("complexity-zh", han)):
        for text in texts:
            rows.append({"model": name, "text": text, "probability": round(models[name].score(text, np.zeros(384)), 6)})
    for text in ("Hello there, how are you today?", "thanks a lot, that helped", "What is the default chunk size?"):
        vector = np.round(EMBEDDING.of(text).astype(float), 4)
        rows.append({"model": "small-talk-en", "text": text, "vector": list(vector),
                     "probability": round(models["small-talk-en"].score(text, vector), 6)})
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main():
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if len(paths) != 2:
        sys.exit(__doc__)
    chitchat = [talk_or_not(row) for row in lines(paths[0])]
    judged = [(row["query"], int(row["complexity"] == "complex")) for row in lines(paths[1])]
    own = *templates(os.path.join(HERE, "templates.txt")), lines(os.path.join(HERE, "written.jsonl"))
    check = "--check" in sys.argv
    if not check:
        report(chitchat, judged, own)
    models = {
        "small-talk-en": train_small_talk(chitchat, [text for text, _ in judged], own),
        "small-talk-zh": chinese(own)[0],
        "complexity-en": train_complexity(judged, own),
        "complexity-zh": train_complexity_zh(own),
    }
    written = {f"{name}.bin": model.bytes() for name, model in models.items()}
    written["vectors.jsonl"] = vectors(models, own).encode()
    for name, content in written.items():
        path = os.path.join(HERE, name)
        if check:
            with open(path, "rb") as file:
                print(name, "as written" if file.read() == content else "differs")
        else:
            with open(path, "wb") as file:
                file.write(content)
            print(f"{name}: {len(content)} bytes")
    if not check:
        say_written(chitchat, [text for text, _ in judged], own)
        say_complexity_zh(own)
        for round_ in (1, 2, 3):
            say_holdout(round_, *[models[name] for name in ("small-talk-en", "small-talk-zh", "complexity-en")])


if __name__ == "__main__":
    main()
