#!/usr/bin/env python3
"""Makes questions in other languages than the documents from questions over translated documentation.

    make_crossed.py ORIGINALS TRANSLATIONS NAME QUESTIONS.jsonl

ORIGINALS is a folder of English documents, TRANSLATIONS one of their translations with the same names (or with `.de.md` for
`.en.md`), NAME a set of colleagues.jsonl or questions.jsonl. The lines that answer are looked up in the original: the
translation must have as many headings, and below a heading the blocks are taken in their order. A question whose document
differs is left out, one without an answer stays. The sets that "crossed" is fitted on, with their English originals:
djangogirls_de, _fr and _es (DjangoGirls/tutorial 71c4c3dad216, `en`), vite_cn and vite_zh (vitejs/vite de1111ab0b, `docs`)
and contao_de (contao/docs ddf5a72e3148: its own English documents, and `.en.md` for `.de.md`). Index ORIGINALS, then
`KB_AGENT_SOURCE=ORIGINALS cargo bench --bench judge_signals -- QUESTIONS.jsonl --out SIGNALS.jsonl`.
"""
import json, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def sections(path):
    """The first and last line of each block below each heading; the heading is the first block of its section."""
    found, block, in_code = [[]], None, False
    with open(path, encoding="utf-8") as file:
        rows = file.read().split("\n") + [""]
    for number, row in enumerate(rows, 1):
        if row.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        is_heading = not in_code and re.match(r"#{1,6} ", row)
        if block and (is_heading or not (in_code or row.strip())):
            found[-1].append(tuple(block))
            block = None
        if is_heading:
            found.append([(number, number)])
        elif block:
            block[1] = number
        elif in_code or row.strip():
            block = [number, number]
    return found


def original_lines(translation, original, start, end):
    """The lines of an original that stand where these lines of its translation do; `None` where the two differ."""
    if not (os.path.exists(translation) and os.path.exists(original)):
        return None
    theirs, ours = sections(translation), sections(original)
    if len(theirs) != len(ours):
        return None
    spans = []
    for their, our in zip(theirs, ours):
        meant = [at for at, (first, last) in enumerate(their) if first <= end and last >= start]
        if not meant or not our:
            continue
        if len(their) == len(our):
            spans += [our[at] for at in meant]
        else:
            share = len(our) / len(their)
            spans += our[int(meant[0] * share) : int((meant[-1] + 1) * share) + 1]
    return (spans[0][0], spans[-1][1]) if spans else None


def crossed(question, translations, originals):
    """The question over the originals; `None` where no place that answers is found there."""
    gold = []
    for place in question["gold"]:
        source = place["source"]
        original = source[: -len(".de.md")] + ".en.md" if source.endswith(".de.md") else source
        if os.path.samefile(translations, originals) and original == source:
            gold.append(place)
            continue
        paths = os.path.join(translations, source), os.path.join(originals, original)
        if lines := original_lines(*paths, place["start_line"], place["end_line"]):
            gold.append({"source": original, "start_line": lines[0], "end_line": lines[1]})
    return {**question, "gold": gold} if gold or not question["gold"] else None


def main():
    originals, translations, name, out = sys.argv[1:5]
    repository, language = name.split("_")
    with open(out, "w", encoding="utf-8") as written:
        for file in ("colleagues", "questions"):
            for line in open(os.path.join(HERE, file + ".jsonl"), encoding="utf-8"):
                question = json.loads(line)
                if question.get("set") == name and (made := crossed(question, translations, originals)):
                    made = {"query": made["query"], "set": f"{repository}_cross_{language}", "gold": made["gold"]}
                    written.write(json.dumps(made, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
