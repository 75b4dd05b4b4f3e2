#!/usr/bin/env python3
"""Makes judged files for fit.py, in the format of `eval grading`, of collections that are at hand.

    collect.py OUT [--judged NAME=FILE.jsonl]... [--beir NAME=FOLDER,QUERIES,DEPTH,RUN.tsv...]...
                   [--commands FOLDER] [--demo FOLDER]

--judged    is taken as it is.
--beir      a folder in the BEIR format and rankings by `eval beir --run` over it: of QUERIES queries
            the DEPTH best documents, so that the wrong ones are those that a search would bring. A
            relevant document that no search found takes the place of the last.
--commands  the pages of the npm package `linux-command` (MIT, jaywcjlove and others), in Chinese: the
            first sentence of a page asks for the rest of it, among the nearest other pages.
--demo      the demo knowledge base: a heading asks for its section, among others of the same file;
            its folder `zh` is a collection of its own.

After the questions of each collection come the same ones with passages of the other collections,
marked as far off; where Chinese is asked, with passages of other questions too, because another
script would be too easy to tell. Only the standard library is used.
"""
import glob, json, math, os, random, re, sys
from collections import Counter, defaultdict

FAR, NEAREST, COMMANDS, SECTIONS = 6, 9, 120, 70
HAN = r"[\u4e00-\u9fff]"
rng = random.Random(7)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def asked(query, right, wrong):
    passages = [{"text": t, "relevant": True} for t in right] + [{"text": t, "relevant": False} for t in wrong]
    rng.shuffle(passages)
    return {"query": query, "passages": passages}


def beir(folder, count, depth, runs):
    documents = {
        str(d["_id"]): ((d.get("title") or "") + "\n" + d["text"]).strip()[:1500]
        for d in lines(os.path.join(folder, "corpus.jsonl"))
    }
    queries = {str(q["_id"]): q["text"] for q in lines(os.path.join(folder, "queries.jsonl"))}
    relevant = defaultdict(set)
    with open(os.path.join(folder, "qrels/test.tsv"), encoding="utf-8") as file:
        for row in (line.rstrip("\n").split("\t") for line in file):
            if row[-1].lstrip("-").isdigit() and int(row[-1]) > 0:
                relevant[row[0]].add(row[-2])
    rank = defaultdict(dict)
    for run in runs:
        with open(run, encoding="utf-8") as file:
            for query, document, place, *_ in (line.split("\t") for line in file):
                rank[query][document] = min(int(place), rank[query].get(document, 10**9))
    ids = sorted(query for query in rank if relevant[query])
    rng.shuffle(ids)
    for query in ids[:count]:
        top = sorted(rank[query], key=lambda document: (rank[query][document], document))[:depth]
        if not relevant[query] & set(top):
            top[-1] = min(relevant[query])
        right = [documents[d] for d in top if d in relevant[query]]
        yield asked(queries[query], right, [documents[d] for d in top if d not in relevant[query]])


def grams(text):
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9_]{2,}", text)]
    return words + [run[at : at + 2] for run in re.findall(HAN + "+", text) for at in range(len(run) - 1)]


def commands(folder):
    pages = {}
    for path in sorted(glob.glob(os.path.join(folder, "command", "*.md"))):
        with open(path, encoding="utf-8") as file:
            page = file.read()
        found = re.match(r"\S.*\n=+\n+(.+)\n", page)
        if not found:
            continue
        first = found.group(1).strip().rstrip("。")
        body = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page[found.end() :]).replace(first, "").strip()[:900]
        if len(re.findall(HAN, first)) >= 6 and len(re.findall(HAN, body)) >= 60:
            pages[path] = (first, body)
    counts = {path: Counter(grams(body)) for path, (_, body) in pages.items()}
    holding = Counter(gram for count in counts.values() for gram in count)
    mean = sum(sum(count.values()) for count in counts.values()) / len(counts)

    def bm25(query, path):
        count, score = counts[path], 0.0
        norm = 1.2 * (0.25 + 0.75 * sum(count.values()) / mean)
        for gram in sorted(set(grams(query)) & set(count)):
            idf = math.log(1 + (len(pages) - holding[gram] + 0.5) / (holding[gram] + 0.5))
            score += idf * count[gram] * 2.2 / (count[gram] + norm)
        return score

    for path in rng.sample(sorted(pages), COMMANDS):
        first, body = pages[path]
        near = sorted((other for other in pages if other != path), key=lambda other: (-bm25(first, other), other))
        yield asked(first, [body], [pages[other][1] for other in near[:NEAREST]])


def demo(paths, joint):
    sections = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            parts = re.split(r"^(#+ .*)$", file.read(), flags=re.M)
        title = parts[1].lstrip("# ") if len(parts) > 1 else ""
        for heading, body in zip(parts[1::2], parts[2::2]):
            if len(body.strip()) > 80:
                sections.append((path, title, heading.lstrip("# ").strip(), body.strip()))
    for path, title, heading, body in rng.sample(sections, min(SECTIONS, len(sections))):
        same = [s for s in sections if s[0] == path and s[2] != heading]
        other = [s for s in sections if s[0] != path]
        wrong = rng.sample(same, min(5, len(same)))
        wrong += rng.sample(other, min(NEAREST - len(wrong), len(other)))
        query = heading if heading == title else title + joint + heading
        yield asked(query, [body], [s[3] for s in wrong])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    out, found, rest = sys.argv[1], {}, iter(sys.argv[2:])
    for option in rest:
        value = next(rest)
        if option == "--judged":
            name, path = value.split("=", 1)
            found[name] = [{k: row[k] for k in ("query", "passages")} for row in lines(path)]
        elif option == "--beir":
            name, spec = value.split("=", 1)
            folder, count, depth, *runs = spec.split(",")
            found[name] = list(beir(folder, int(count), int(depth), runs))
        elif option == "--commands":
            found["commands-zh"] = list(commands(value))
        elif option == "--demo":
            english = [p for p in glob.glob(os.path.join(value, "**/*.md"), recursive=True) if "/zh/" not in p]
            found["demo"] = list(demo(sorted(english), ": "))
            found["demo-zh"] = list(demo(sorted(glob.glob(os.path.join(value, "zh/*.md"))), "："))
        else:
            sys.exit(f"{option} is not known\n\n{__doc__}")
    os.makedirs(out, exist_ok=True)
    for name, rows in found.items():
        chinese = name.endswith("-zh")
        pool = [
            passage["text"]
            for other, others in found.items()
            if other.split("-")[0] != name.split("-")[0] and other.endswith("-zh") == chinese
            for row in others
            for passage in row["passages"]
        ]
        with open(os.path.join(out, name + ".jsonl"), "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            for row in rows:
                own = {passage["text"] for passage in row["passages"]}
                texts = rng.sample(pool, min(FAR, len(pool)))
                if chinese:
                    others = [p["text"] for r in rows for p in r["passages"] if p["text"] not in own]
                    texts += rng.sample(others, FAR // 2)
                if texts:
                    far = [{"text": text, "relevant": False, "far_off": True} for text in texts]
                    file.write(json.dumps({"query": row["query"], "passages": far}, ensure_ascii=False) + "\n")
        print(name, len(rows), "questions", sum(len(row["passages"]) for row in rows), "passages")


main()
