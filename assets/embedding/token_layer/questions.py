#!/usr/bin/env python3
"""Makes the questions that train.py trains the token layer on.

    questions.py REPOSITORIES READING WITHOUT OUT.npz

REPOSITORIES is a folder with one clone a folder, those that ../NOTICE lists: their documentation gives questions by rule
(a heading, or a sentence of purpose such as "To X, do Y") with the block that answers. READING is a folder as
../../judge/make_questions.py takes it; the questions of WITHOUT, which judge/make_questions.py writes and the judge is fitted
on, are left out. Each question comes with one block that answers, where one does, and seven that do not: those that share
most words with it (BM25), some of the same page, and others. Numpy, scipy and tokenizers are needed.
"""
import collections, json, os, random, re, subprocess, sys

import numpy as np
import scipy.sparse as sp
from tokenizers import BertWordPieceTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCK_TOKENS, QUESTION_TOKENS, OTHERS = 96, 32, 7
MOST_OF_A_REPOSITORY = 7000
OTHER_LANGUAGES = re.compile(r"/(ja|ko|fr|es|de|it|pt|pt-br|pt_br|ru|ar|pl|tr|id|uk|ro|vi|hi|zh-tw|zh-Hant|ka|be|fa|si|uz|nl|he)/", re.I)
NO_PROSE = re.compile(r"CHANGELOG|release-notes|releases?/|blog/|announcements?/|node_modules|tests?/|fixtures|vendor/|versions?/|versioned_docs/|/v\d+\.\d+/|locales?/", re.I)
CHINESE = re.compile("[\u4e00-\u9fff]")
VERBS = set("""add adjust allow apply assign attach authenticate avoid backup bind block browse build bundle cache call
cancel change check choose clean clear clone close collect combine compare compile configure confirm connect consume
contribute control convert copy create customize debug declare define delete deny deploy detect determine develop disable
display distribute download drop edit embed enable encrypt ensure escape evaluate examine exclude execute export expose
extend extract fetch filter find fix force format generate get give grant group handle hide identify import include
increase index initialize inject insert inspect install integrate invoke isolate join keep launch limit link list load
lock log make manage map mark match measure merge migrate mock modify monitor mount move navigate open optimize order
organize override pass pause persist pin plan prepare prevent preview print process profile protect provide publish pull
push query read rebuild receive record recover redirect reduce refresh register release reload remove rename render replace
report request require reset resolve restart restore restrict resume retrieve retry return reuse revert revoke roll rotate
route run save scale schedule search secure select send serve set setup share show sign skip sort specify split start stop
store stream submit subscribe switch sync target test throw track transform translate trigger troubleshoot tune turn type
uninstall unlock update upgrade upload use validate verify view visualize wait watch work wrap write""".split())
NO_QUESTION = set("""introduction|overview|example|examples|notes|note|summary|see also|more information|next steps|description|syntax|inputs|outputs|related links|reference|references|conclusion|further reading|contents|table of contents|common parameters|commonparameters|related|resources|api|properties|methods|returns|feedback|recap|solution""".split("|"))
STOP_WORDS = set("how do i can you what is are the a an to of in for with and or it does when would use used which there must by default why me lets allows where my".split())
PURPOSES = [  # a sentence, its question, what the question asks, and what is left of the sentence without its purpose
    (r"To ([a-z]+ [^,]{6,80}), (.{12,})", "How do I {0}?", 0, "{1}"),
    (r"If you (?:want|need|wish|would like) to ([a-z]+ [^,]{6,80}), (.{12,})", "How can I {0}?", 0, "{1}"),
    (r"(?:You can u|U)se (.{3,60}?) to ([a-z]+ .{6,90}?)\.?", "How can I {1}?", 1, "Use {0}."),
    (r"(The .{3,50}?|[A-Z`]\S{2,30}) (?:lets|allows|enables|helps) (?:you|users)(?: to)? ([a-z]+ .{6,90}?)\.?", "What lets me {1}?", 1, "{0} does."),
    (r"(.{3,50}?) (is|are) (?:an?|the) (.{15,})", "What {1} {0}?", None, None),
    (r"(.{12,90}?),? because (.{12,})", "Why {0}?", None, "{1}"),
]
PRONOUN = re.compile(r"(?i)(this|that|it|there|these|those|here|you|we|which|what|if|when|note|one|another|in |for )")


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True).stdout.decode("utf8", "replace")


def plain(text):
    for pattern, to in [
        (r"(?s)<!--.*?-->|!\[[^\]]*\]\([^)]*\)|\{\{[<%].*?[>%]\}\}|\{[#:][^}]*\}|</?[a-zA-Z][^>]*>", ""),
        (r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1"), (r":[a-z]+:`([^`<]*)(?:<[^`]*>)?`|``([^`]*)``", r"\1\2"),
        (r"(\*\*|__|\*|`)(?=\S)|(?<=\S)(\*\*|__|\*|`)", ""),
    ]:
        text = re.sub(pattern, to, text)
    return text.strip()


def as_markdown(text):
    """reStructuredText with its headings as those of Markdown."""
    rows, out, marks, at = text.split("\n"), [], [], 0
    rule = re.compile(r"^([=\-~^\"*+#.])\1{2,}\s*$")
    while at < len(rows):
        below = rule.match(rows[at + 1]) if at + 1 < len(rows) else None
        if rows[at].strip() and below and not rule.match(rows[at]):
            if below[1] not in marks:
                marks.append(below[1])
            out.append("#" * (marks.index(below[1]) + 1) + " " + rows[at].strip())
            at += 2
            continue
        if not rule.match(rows[at]) and not re.match(r"\s*\.\. |\s+:[a-z-]+:", rows[at]):
            out.append(rows[at])
        at += 1
    return "\n".join(out)


def blocks(text):
    """(headings, text) of each block: paragraphs, lists with their lead-in, code with the paragraph above."""
    front = re.match(r"---\n(.*?)\n---\n", text, re.S)
    if front:
        title = re.search(r"^title:\s*(.*)$", front[1], re.M)
        named = title[1].strip(" \"'") if title else ""
        text = (f"# {named}\n\n" if named else "") + text[front.end():]
    headings, found, rows, is_code = [], [], [], False

    def finish():
        body = "\n".join(rows).strip("\n")
        rows.clear()
        if not body.strip():
            return
        kind = "code" if body.lstrip().startswith(("```", "~~~")) else "list" if re.match(r"\s*([-*+]|\d+[.)])\s", body) else "prose"
        if found and found[-1][0] == tuple(headings):
            before, above = found[-1][1], found[-1][2]
            leads = above != "code" and kind != "prose" and (before.rstrip().endswith(":") or above == kind == "list") and len(before) < 1200
            if leads or (kind == "code" and above == "prose" and len(before) < 300):
                found[-1] = (tuple(headings), before + "\n" + body, kind)
                return
        found.append((tuple(headings), body, kind))

    for row in text.split("\n"):
        if re.match(r"\s*(```|~~~)", row):
            if not is_code:
                finish()
            rows.append(row)
            is_code = not is_code
            if not is_code:
                finish()
        elif is_code:
            rows.append(row)
        elif heading := re.match(r"(#{1,6})\s+(.*?)\s*#*\s*$", row):
            finish()
            depth = len(heading[1])
            headings[depth - 1:] = [""] * (depth - 1 - len(headings)) + [plain(heading[2])]
        elif not row.strip():
            finish()
        elif not re.match(r"\s*(:::|import |export |\.\. |\|?[-:| ]+\|?$)", row):
            rows.append(row)
    finish()
    for above, body, _ in found:
        body = plain(re.sub(r"```\w*[^\n]*|~~~[^\n]*", "", body))
        if 25 <= len(body) <= 4000 and sum(c.isalpha() for c in body) > 0.4 * len(body):
            yield tuple(h for h in (heading_text(h) for h in above) if h), body


def heading_text(heading):
    heading = re.sub(r"\s*\{[.#][^}]*\}|\s*\[[^\]]*\]$", "", heading)
    return re.sub(r"^(async )?(class|method|option|param|property|event): ", "", heading).strip()


def verb_of(word):
    """The verb of a form in -ing, or of itself."""
    if not word.endswith("ing"):
        return word if word in VERBS else None
    stem = word[:-3]
    return next((form for form in (stem + "e", stem, stem[:-1]) if form in VERBS), None)


def question_of_heading(heading):
    heading = re.sub(r"^\d+(\.\d+)*\.?\s+|^(Step|Rule|Option|Example)\s*\d*\s*[:.)-]\s*", "", heading).strip(" :.")
    words = heading.split()
    if len(heading) < 4 or len(words) > 14 or heading.lower() in NO_QUESTION or heading.startswith("-"):
        return None
    if heading.endswith(("?", "？")):
        return heading
    if CHINESE.search(heading):
        return random.choice([heading, heading + "是什么？", "如何" + heading + "？", "怎么" + heading + "？", "什么是" + heading + "？"])
    first, rest = words[0].lower(), " ".join(words[1:])
    if first == "how" and words[1:2] == ["to"]:
        return random.choice(["How do I ", "How can I ", "How to "]) + " ".join(words[2:]) + "?"
    if first in ("how", "what", "why", "when", "where", "which", "who", "can", "is", "are", "do", "does", "should"):
        return heading + "?"
    verb = verb_of(first)
    if verb and rest:
        return random.choice(["How do I ", "How can I ", "What do I do to ", "How to ", "I want to ", "Is it possible to "]) + f"{verb} {rest}?"
    many = heading.endswith("s") and not heading.endswith("ss")
    be, do = ("are", "do") if many else ("is", "does")
    return random.choice([f"What {be} {heading}?", f"What {be} {heading} for?", f"How {do} {heading} work?", f"Explain {heading}", f"When would I use {heading}?", heading, f"What {do} {heading} do?"])


def question_of_sentence(text):
    """(question, sentence, what is left of it without its purpose) of one sentence of a block."""
    found = []
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"(])|\n", text):
        for pattern, question, purpose, rest in PURPOSES:
            match = re.fullmatch(pattern, sentence.strip())
            if not match:
                continue
            parts = match.groups()
            known = parts[purpose].split()[0] in VERBS if purpose is not None else not PRONOUN.match(parts[0])
            if known:
                asked = question.format(*parts)
                for word, mine in (("your", "my"), ("yourself", "myself"), ("you", "I")):
                    asked = re.sub(rf"\b{word}\b", mine, asked)
                found.append((asked, sentence, rest and rest.format(*parts)))
            break
    return random.choice(found) if found else None


def terms(text):
    words = re.findall(r"[a-z0-9_]+|[\u4e00-\u9fff]", text.lower())
    return [w[:-1] if len(w) > 3 and w.endswith("s") else w for w in words if w not in STOP_WORDS]


def with_headings(headings, text):
    return (" ".join(headings[-2:]) + ": " + text)[:1200]


def bm25(texts, queries):
    """For each query the texts by BM25, the best 30 first."""
    vocabulary, rows, columns, counts = {}, [], [], []
    lengths = np.zeros(len(texts))
    for at, text in enumerate(texts):
        for word, count in collections.Counter(terms(text)).items():
            rows.append(at), columns.append(vocabulary.setdefault(word, len(vocabulary))), counts.append(count)
            lengths[at] += count
    rows, columns, counts = map(np.array, (rows, columns, counts))
    held = np.bincount(columns, minlength=len(vocabulary))
    idf = np.log(1 + (len(texts) - held + 0.5) / (held + 0.5))
    weights = idf[columns] * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * lengths[rows] / lengths.mean()))
    index = sp.csr_matrix((weights, (columns, rows)), shape=(len(vocabulary), len(texts)))
    asked = sp.lil_matrix((len(queries), len(vocabulary)))
    for at, query in enumerate(queries):
        for word in set(terms(query)) & vocabulary.keys():
            asked[at, vocabulary[word]] = 1
    scores = (asked.tocsr() @ index).tocsr()
    for at in range(len(queries)):
        row = scores[at]
        yield row.indices[np.argsort(-row.data)][:30]


def questions_of_repository(repository):
    names = git(repository, "ls-tree", "-r", "--name-only", "HEAD").split("\n")
    names = [n for n in names if re.search(r"\.(md|mdx|rst|erb)$", n) and not OTHER_LANGUAGES.search("/" + n) and not NO_PROSE.search(n)]
    if "zh" not in os.path.basename(repository):
        names = [n for n in names if not re.search(r"/zh[-_a-z]*/", "/" + n, re.I)]
    random.shuffle(names)
    pages = []
    for name in names[:1200]:
        text = git(repository, "show", f"HEAD:{name}")
        pages.append(list(blocks(as_markdown(text) if name.endswith(".rst") else text)))
    flat = [(page, *block) for page, found in enumerate(pages) for block in found]
    asked, known, sections = [], set(), set()
    for at, (page, headings, text) in enumerate(flat):
        of_heading = question_of_heading(headings[-1]) if headings and (page, headings) not in sections else None
        sections.add((page, headings))
        for kind, question in (("heading", of_heading and (of_heading, None, None)), ("sentence", question_of_sentence(text))):
            if question and len(question[0]) <= 160 and question[0].lower() not in known:
                known.add(question[0].lower())
                asked.append((at, kind, *question))
    random.shuffle(asked)
    asked = asked[:MOST_OF_A_REPOSITORY]
    ranked = bm25([" ".join(h[-2:]) + " " + t[:800] for _, h, t in flat], [q[2] for q in asked])
    for (at, kind, question, sentence, rest), near in zip(asked, ranked):
        page, headings, text = flat[at]
        is_other = lambda j: flat[j][:2] != (page, headings) and flat[j][2] != text
        near = [j for j in near if is_other(j) and flat[j][1][-1:] != headings[-1:]][:16]
        same_page = [j for j, block in enumerate(flat) if block[0] == page and is_other(j) and j not in near]
        others = random.sample(near, min(4, len(near))) + random.sample(same_page, min(2, len(same_page)))
        others += [random.randrange(len(flat)) for _ in range(OTHERS - len(others))]
        # Half of the headings and many purposes are taken away, or the layer would learn to look for equal words.
        if kind == "heading" and random.random() < 0.5:
            headings = headings[:-1]
        elif rest and random.random() < 0.4:
            text = text.replace(sentence, rest[0].upper() + rest[1:])
        yield question, with_headings(headings, text), [with_headings(*flat[j][1:]) for j in others], False


def questions_of_reading(folder, without):
    lines = lambda path: (json.loads(line) for line in open(path, encoding="utf-8"))
    passages = {p["id"]: p for p in lines(os.path.join(folder, "passages.jsonl"))}
    held = {q["query"] for q in lines(without)}

    def windows(passage, size):
        sentences = passage["sentences"]
        gap = "" if CHINESE.search("".join(sentences)) else " "
        for at in range(0, len(sentences), size):
            yield range(at, min(at + size, len(sentences))), passage["title"] + ": " + gap.join(sentences[at:at + size])

    ids = list(passages)
    for q in lines(os.path.join(folder, "questions.jsonl")):
        if q["query"] in held:
            continue
        for _ in range(3):
            size = random.choice([2, 3, 4, 6])
            answers = set(q["answers"]) | set(q.get("also") or [])
            own = list(windows(passages[q["passage"]], size))
            right = [text for place, text in own if answers & set(place)]
            wrong = [text for place, text in own if not answers & set(place)]
            far = [text for other in q["near"] + q["far"] if other in passages for _, text in windows(passages[other], size)]
            others = random.sample(wrong, min(4, len(wrong)))
            others += random.sample(far, min(OTHERS - len(others), len(far)))
            while len(others) < OTHERS:
                others.append(random.choice(list(windows(passages[random.choice(ids)], size)))[1])
            yield q["query"], random.choice(right) if right else None, others, True


def main(repositories, reading, without, out):
    random.seed(3)
    texts, numbers, asked = [], {}, []

    def number(text):
        if text not in numbers:
            numbers[text] = len(texts)
            texts.append(text)
        return numbers[text]

    for name in sorted(os.listdir(repositories)):
        before = len(asked)
        for question, right, others, is_written in questions_of_repository(os.path.join(repositories, name)):
            asked.append((question, number(right), [number(t) for t in others], is_written))
        print(name, len(asked) - before, flush=True)
    written = list(questions_of_reading(reading, without))
    for question, right, others, is_written in written + written:  # questions of people count twice
        asked.append((question, number(right) if right else -1, [number(t) for t in others], is_written))
    print("reading", len(written), "blocks", len(texts))
    tokenizer = BertWordPieceTokenizer(os.path.join(HERE, "..", "vocab.txt"), lowercase=True)

    def tokens(of, most):
        rows = np.zeros((len(of), most), np.uint16)
        for at, encoding in enumerate(tokenizer.encode_batch(of)):
            ids = encoding.ids if len(encoding.ids) <= most else encoding.ids[: most - 1] + encoding.ids[-1:]
            rows[at, : len(ids)] = ids
        return rows

    np.savez_compressed(
        out, text=tokens(texts, BLOCK_TOKENS), question=tokens([q[0] for q in asked], QUESTION_TOKENS),
        right=np.array([q[1] for q in asked], np.int32), others=np.array([q[2] for q in asked], np.int32),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
