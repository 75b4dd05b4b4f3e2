#!/usr/bin/env python3
"""Makes zh-en.tsv.gz, by which Chinese text is put into English words before it is embedded.

    make.py CEDICT.txt JIEBA-DICT.txt

CEDICT is a release of CC-CEDICT (CC BY-SA 4.0); JIEBA-DICT the word list of jieba with its counts
(MIT). A line of the result is a word, 10 * ln(count + 1) as a whole number, and up to two short English
senses; lines are sorted by the bytes of the word, so that src/kb/embed/gloss.rs can search them where
they lie. Words of the form of a sentence only (的, 吗, 因为) have no senses. Only the standard library is used.
"""
import gzip, math, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST, SENSES, SENSE_WORDS = 5, 2, 3
HAN = re.compile(r"^[\u3400-\u4dbf\u4e00-\u9fff]+$")
# Senses that tell of the word and not what it means.
ABOUT = ("variant of", "CL:", "surname", "see also", "see ", "abbr.", "used in", "used to ", "dialect", "Japanese",
         "pr. ", "erhua", "Taiwan pr", "particle", "suffix", "prefix", "classifier", "radical", "euphemi", "vulgar", "slang")
# Characters of which words of mere form are made.
FORM = set("的了吗呢吧啊呀么着过地得们个些这那哪什怎是就都也还又很被把给让向对从在和与或及而但并如果因为所以于之其它他她我你您有没不会能可要想请")


def senses(text):
    found = []
    for sense in re.split(r"[/;]", text):
        if any(mark in sense for mark in ABOUT):
            continue
        sense = re.sub(r"\([^)]*\)|\[[^\]]*\]|[\u3400-\u9fff|]+", "", sense)
        sense = re.sub(r"^(to|a|an|the) ", "", " ".join(sense.split())).strip(" ,.\"")
        if sense and len(sense.split()) <= SENSE_WORDS and sense.isascii() and sense not in found:
            found.append(sense)
    return found


def main(cedict, jieba):
    with open(jieba, encoding="utf-8") as file:
        count = {word: int(number) for word, number, *_ in map(str.split, file)}
    known = {}
    with open(cedict, encoding="utf-8") as file:
        for line in file:
            entry = re.match(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/", line)
            if line.startswith("#") or not entry:
                continue
            traditional, simplified, reading, text = entry.groups()
            is_name = reading[:1].isupper()
            for word in {simplified, traditional}:
                often = count.get(word, 0)
                if HAN.match(word) and len(word) <= LONGEST and not (is_name and len(word) > 1 and often < 20):
                    # What is a name too is first the other thing.
                    known.setdefault(word, []).append((is_name, senses(text), simplified))
    rows = []
    for word, entries in known.items():
        found = []
        for _, some, _ in sorted(entries, key=lambda entry: entry[0]):
            found += [sense for sense in some if sense not in found]
        form = all(char in FORM for char in word)
        if not found and not form:
            continue
        often = max(count.get(word, 0), *(count.get(simplified, 0) for *_, simplified in entries))
        if often == 0 and len(word) not in (2, 3):
            # Rare characters and idioms: hardly ever met, and they are a third of all.
            continue
        rows.append((word, round(10 * math.log(often + 1)), "" if form else " ".join(found[:SENSES])))
    rows.sort(key=lambda row: row[0].encode())
    lines = "".join(f"{word}\t{often}\t{text}\n" for word, often, text in rows)
    with open(os.path.join(HERE, "zh-en.tsv.gz"), "wb") as file:
        file.write(gzip.compress(lines.encode(), 9, mtime=0))
    print(len(rows), "words")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
