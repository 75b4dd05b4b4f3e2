#!/usr/bin/env python3
"""Makes zh-en.bin, by which Chinese text is put into English words before it is embedded.

    make.py CEDICT.txt JIEBA-DICT.txt
    make.py --list > zh-en.tsv              what is in zh-en.bin, a line a word
    make.py --pack zh-en.tsv                zh-en.bin of such lines

CEDICT is a release of CC-CEDICT (CC BY-SA 4.0); JIEBA-DICT the word list of jieba with its counts
(MIT). A line is a word, 10 * ln(count + 1) as a whole number, and up to two short English senses. Words of
the form of a sentence only (的, 吗, 因为) have no senses. Only the standard library is used.

zh-en.bin is laid out to be searched where it lies, by src/embed/gloss/dictionary.rs; numbers are little-endian:

    u32         how many characters words begin with
    u32         how many bytes the words take
    6 bytes     of each such character, in order: u16 itself, u32 where its words begin among the bytes of the words
    bytes       the words, in order: of each u8 how many more characters it has + 8 * how many English words its
                senses have, u8 its logarithm, u16 each further character, u16 the number of each English word
    u16 * 32    how many English words have one byte, two bytes, and so on
    bytes       the English words, the short ones first, numbered from 0
"""
import bisect, math, os, re, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "zh-en.bin")
LONGEST, SENSES, SENSE_WORDS = 5, 2, 3
LONGEST_ENGLISH = 32
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
    write(rows)


def write(rows):
    """Writes rows of a word, its logarithm and its senses, sorted by the characters of the word."""
    rows = sorted(rows)
    assert len({word for word, *_ in rows}) == len(rows), "a word comes twice"
    english = sorted({word for *_, text in rows for word in text.split()}, key=lambda word: (len(word), word))
    lengths = [sum(len(word) == length for word in english) for length in range(1, LONGEST_ENGLISH + 1)]
    assert sum(lengths) == len(english) and all(word.isascii() for word in english)
    numbers = {word: number for number, word in enumerate(english)}
    firsts, words = [], bytearray()
    for word, often, text in rows:
        meant = [numbers[one] for one in text.split()]
        if not firsts or firsts[-1][0] != ord(word[0]):
            firsts.append((ord(word[0]), len(words)))
        rest = [ord(char) for char in word[1:]]
        words += struct.pack(f"<BB{len(rest) + len(meant)}H", len(rest) + 8 * len(meant), often, *rest, *meant)
    with open(FILE, "wb") as file:
        file.write(struct.pack("<II", len(firsts), len(words)))
        file.write(b"".join(struct.pack("<HI", *first) for first in firsts))
        file.write(words)
        file.write(struct.pack(f"<{LONGEST_ENGLISH}H", *lengths))
        file.write("".join(english).encode())
    print(len(rows), "words", file=sys.stderr)


def read():
    """The rows of zh-en.bin."""
    with open(FILE, "rb") as file:
        data = file.read()
    count, size = struct.unpack_from("<II", data)
    firsts = [struct.unpack_from("<HI", data, 8 + 6 * at) for at in range(count)]
    begin = 8 + 6 * count
    at, english = begin + size + 2 * LONGEST_ENGLISH, []
    for length, some in enumerate(struct.unpack_from(f"<{LONGEST_ENGLISH}H", data, begin + size), 1):
        english += [data[at + length * one : at + length * (one + 1)].decode() for one in range(some)]
        at += length * some
    starts, at = [start for _, start in firsts], 0
    while at < size:
        counts, often = data[begin + at], data[begin + at + 1]
        rest, meant = counts % 8, counts // 8
        numbers = struct.unpack_from(f"<{rest + meant}H", data, begin + at + 2)
        first = firsts[bisect.bisect_right(starts, at) - 1][0]
        yield "".join(map(chr, (first, *numbers[:rest]))), often, " ".join(english[one] for one in numbers[rest:])
        at += 2 + 2 * (rest + meant)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for word, often, text in read():
            print(word, often, text, sep="\t")
    elif len(sys.argv) == 3 and sys.argv[1] == "--pack":
        with open(sys.argv[2], encoding="utf-8") as file:
            lines = (line.rstrip("\n").split("\t") for line in file)
            write([(word, int(often), text) for word, often, text in lines])
    elif len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
