#!/usr/bin/env python3
"""make_questions.py READING GRADING OUT [--each N]: the questions that fit.py is fitted on, as `cargo bench --bench judge_signals` reads them.

READING is a folder of passages.jsonl ("id", "set", "title", "sentences") and questions.jsonl ("query", "set",
"passage", "answers": the sentences that answer, from 0, "near" and "far": other passages), GRADING a file as `eval grading` takes it. At most N questions of each
set are taken, evenly spread (300 without --each)."""
import json, os, random, sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def passage(article, label, answers=()):
    """An article as Markdown, two sentences a paragraph, so that there are blocks to choose from."""
    pairs = [article["sentences"][at:at + 2] for at in range(0, len(article["sentences"]), 2)]
    paragraphs = [" ".join(" ".join(sentence.split()) for sentence in pair) for pair in pairs]
    head = [f"# {article['title']}", ""] if article["title"].strip() else []
    gold = [len(head) + 2 * (at // 2) + 1 for at in answers]
    return {"text": "\n".join([*head, "\n\n".join(paragraphs)]), "label": label, "gold": gold}


def main():
    each = int(sys.argv[sys.argv.index("--each") + 1]) if "--each" in sys.argv else 300
    reading, grading, out = [a for a in sys.argv[1:] if not a.startswith("--")][:3]
    texts = {p["id"]: p for p in lines(os.path.join(reading, "passages.jsonl"))}
    by_set, rows = {}, []
    random.seed(5)
    for q in lines(os.path.join(reading, "questions.jsonl")):
        by_set.setdefault(q["set"], []).append(q)
    with open(out, "w", encoding="utf-8") as file:
        for name, asked in by_set.items():
            for q in asked[:: max(1, len(asked) // each)]:
                own = passage(texts[q["passage"]], "answers" if q["answers"] else "vain", q["answers"] + q.get("also", []))
                others = [passage(texts[id], label) for label in ("near", "far") for id in q.get(label, [])]
                row = {"query": q["query"], "set": name, "passages": [own, *others]}
                rows.append(row)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        for q in lines(grading):
            label = lambda p: "relevant" if p["relevant"] else "irrelevant"
            passages = [{"text": p["text"], "label": label(p)} for p in q["passages"]]
            row = {"query": q["query"], "set": "hotpotqa", "passages": passages}
            rows.append(row)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        for row in rows:  # as a base would answer that holds nothing on the question
            strangers = [r for r in rows if r["set"] == row["set"] and r is not row]
            passages = [random.choice(r["passages"]) for r in random.sample(strangers, min(8, len(strangers)))]
            row = {**row, "passages": [{**p, "label": "elsewhere", "gold": []} for p in passages]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
