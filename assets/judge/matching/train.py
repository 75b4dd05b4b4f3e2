#!/usr/bin/env python3
"""Trains the network that tells from the tokens of a block how well it answers a question.

    train.py QUESTIONS.npz VECTORS OUT.onnx
    rten-convert OUT.onnx ../matching_en.rten

QUESTIONS.npz and VECTORS are what prepare.py says. Each token of the question is compared with what it is matched by: the
mean of the block's tokens, weighed by how near they are. Two layers of attention look at all of these together, and what they
find is added to late interaction (compare and aggregate: Wang and Jiang 2017). It learns to choose the block that answers
among five, and to tell of each whether it does. Before and after the training is printed how it does on the questions that are
held out; before, it is late interaction alone. 577 steps took two and a half minutes on two cores. JAX, numpy and onnx are
needed.
"""
import sys

import jax, jax.numpy as jnp, numpy as np, onnx
from jax.scipy.special import logsumexp
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

WIDTH = 384  # of a token's vector
COMPARED, STATE, HEAD, LAYERS = 128, 192, 32, 2
BLOCKS, BLOCK_TOKENS, QUESTION_TOKENS = 5, 62, 24  # the program looks at 64 tokens with the marks at both ends
BATCH, EPOCHS, RATE, WARM_UP, DECAY = 32, 1.8, 5e-4, 100, 0.02
KEPT_TOKENS, KEPT_STATES = 0.9, 0.75
FAR = -1e9
ONE = 32767  # as benches/judge_signals.rs writes it
# What is compared has about the same spread as the weights expect at the start; numbers of vectors of length 1 are small.
VECTOR_GAIN, COSINE_GAIN, WEIGHT_GAIN, MEAN_GAIN = 4.0, 3.0, 5.0, 3.0


class Vectors:
    """The vectors of the known tokens of each text."""

    def __init__(self, path):
        self.numbers = np.memmap(path, "<i2", "r")
        self.starts, at = [], 0
        while at < len(self.numbers):
            self.starts.append(at)
            at += 1 + WIDTH * int(self.numbers[at])

    def count(self, text):
        return int(self.numbers[self.starts[text]])

    def of(self, texts, most):
        """The first vectors of each text, and which of them there are; of -1 there are none."""
        vectors, known = np.zeros((len(texts), most, WIDTH), np.float32), np.zeros((len(texts), most), bool)
        for row, text in enumerate(texts):
            count = min(most, self.count(text)) if text >= 0 else 0
            if count:
                start = self.starts[text] + 1
                vectors[row, :count] = self.numbers[start : start + count * WIDTH].reshape(count, WIDTH)
                known[row, :count] = True
        return vectors / ONE, known


class Questions:
    def __init__(self, questions, vectors):
        self.vectors = Vectors(vectors)
        data = np.load(questions)
        self.question, self.blocks, self.held = data["question"], data["blocks"], data["held"]
        self.is_right = np.arange(BLOCKS) < data["right"][:, None]
        self.length = np.array([min(QUESTION_TOKENS, self.vectors.count(q)) for q in self.question])

    def batch(self, at):
        longest = max(8, -(-self.length[at].max() // 8) * 8)  # few lengths, for each is compiled
        blocks, known = self.vectors.of(self.blocks[at].ravel(), BLOCK_TOKENS)
        by_question = lambda x: x.reshape(len(at), BLOCKS, *x.shape[1:])
        question = self.vectors.of(self.question[at], longest)
        return *question, by_question(blocks), by_question(known), self.is_right[at], self.blocks[at] >= 0


def start():
    random = np.random.default_rng(1)
    linear = lambda rows, columns: (random.normal(0, rows**-0.5, (rows, columns)).astype(np.float32), np.zeros(columns, np.float32))
    norm = lambda: (np.ones(STATE, np.float32), np.zeros(STATE, np.float32))
    layer = lambda: {
        "qkv": linear(STATE, 3 * STATE), "out": linear(STATE, STATE), "norm1": norm(),
        "inner": linear(STATE, 4 * STATE), "last": linear(4 * STATE, STATE), "norm2": norm(),
    }
    network = {
        "sharpness": np.log(15.0), "weight": (np.zeros(WIDTH), 0.5), "late": np.log(10.0), "bias": -6.0,
        "question": linear(WIDTH, COMPARED), "block": linear(WIDTH, COMPARED), "compare": linear(4 * COMPARED + 3, STATE),
        "mean": linear(WIDTH, STATE), "norm": norm(), "layers": [layer() for _ in range(LAYERS)], "head": np.zeros(STATE),
    }
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), network)


def linear(x, weights):
    return x @ weights[0] + weights[1]


def norm(x, weights):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weights[0] + weights[1]


def score(p, question, question_known, block, block_known, key):
    """The log-odds that a block answers a question. With a key some of the states are dropped. `graph` makes the same."""
    keys = iter([] if key is None else jax.random.split(key, 1 + 2 * LAYERS))

    def drop(x):
        return x if key is None else x * jax.random.bernoulli(next(keys), KEPT_STATES, x.shape) / KEPT_STATES

    cosines = jnp.where(block_known, question @ block.T, -1.0)
    nearest = cosines.max(-1, keepdims=True)
    share = jax.nn.softmax(jnp.where(block_known, jnp.exp(p["sharpness"]) * cosines, FAR), -1)
    near = (share * cosines).sum(-1, keepdims=True)
    asked, found = linear(question, p["question"]) * VECTOR_GAIN, share @ linear(block, p["block"]) * VECTOR_GAIN
    weight = jax.nn.softplus(question @ p["weight"][0] * WEIGHT_GAIN + p["weight"][1]) * question_known
    weight = (weight / jnp.maximum(weight.sum(), 1e-4))[:, None]
    parts = [asked, found, asked * found, jnp.abs(asked - found), nearest * COSINE_GAIN, near * COSINE_GAIN, weight * WEIGHT_GAIN]
    of_tokens = linear(jnp.concatenate(parts, -1), p["compare"])
    mean = block.sum(0, keepdims=True) / jnp.maximum(block_known.sum(), 1)
    of_block = mean @ p["mean"][0] * MEAN_GAIN + p["mean"][1]
    x = drop(norm(jnp.concatenate([of_block, of_tokens]), p["norm"]))
    mask = jnp.where(jnp.concatenate([jnp.ones(1, bool), question_known]), 0.0, FAR)
    for layer in p["layers"]:
        q, k, v = linear(x, layer["qkv"]).reshape(len(x), 3, -1, HEAD).transpose(1, 2, 0, 3)
        mixed = jax.nn.softmax(q @ k.transpose(0, 2, 1) * HEAD**-0.5 + mask, -1) @ v
        x = norm(x + drop(linear(mixed.transpose(1, 0, 2).reshape(x.shape), layer["out"])), layer["norm1"])
        x = norm(x + drop(linear(jax.nn.gelu(linear(x, layer["inner"])), layer["last"])), layer["norm2"])
    return jnp.exp(p["late"]) * (weight * nearest).sum() + p["bias"] + x[0] @ p["head"]


def scores(p, question, question_known, blocks, blocks_known, key=None):
    keys = None
    if key is not None:
        question_known &= jax.random.bernoulli(key, KEPT_TOKENS, question_known.shape)
        keys = jax.random.split(key, blocks.shape[:2])
    of_blocks = jax.vmap(score, (None, None, None, 0, 0, 0))
    return jax.vmap(of_blocks, (None, 0, 0, 0, 0, 0))(p, question, question_known, blocks, blocks_known, keys)


def loss(p, key, question, question_known, blocks, blocks_known, is_right, is_there):
    odds = scores(p, question, question_known, blocks, blocks_known, key)
    there = jnp.where(is_there, odds, FAR)
    choice = logsumexp(there, 1) - logsumexp(jnp.where(is_right, there, FAR), 1)
    each = (jnp.logaddexp(0, odds) - is_right * odds) * is_there
    return (jnp.where(is_right.any(1), choice, 0) + each.sum(1) / 2).mean()


@jax.jit
def step_of(p, mean, square, step, rate, key, *batch):
    """AdamW, of a slope that is no longer than 1."""
    value, slope = jax.value_and_grad(loss)(p, key, *batch)
    length = jnp.sqrt(sum((x * x).sum() for x in jax.tree.leaves(slope)))
    slope = jax.tree.map(lambda x: x / jnp.maximum(1, length), slope)
    mean = jax.tree.map(lambda m, x: 0.9 * m + 0.1 * x, mean, slope)
    square = jax.tree.map(lambda s, x: 0.99 * s + 0.01 * x * x, square, slope)

    def moved(x, m, s):
        towards = m / (1 - 0.9**step) / (jnp.sqrt(s / (1 - 0.99**step)) + 1e-8)
        return x - rate * (towards + (DECAY * x if x.ndim > 1 else 0))

    return value, jax.tree.map(moved, p, mean, square), mean, square


def report(p, data):
    """How the best of the five blocks does on the questions that are held out."""
    held = np.flatnonzero(data.held)
    held = held[np.argsort(data.length[held], kind="stable")]
    best, right = [], []
    run = jax.jit(scores)
    for at in range(0, len(held), BATCH):
        pick = np.resize(held[at : at + BATCH], BATCH)
        *inputs, is_right, is_there = data.batch(pick)
        odds = np.where(is_there, run(p, *inputs), FAR)
        best.append(odds.max(1)), right.append(is_right[np.arange(BATCH), odds.argmax(1)])
    best, right = (np.concatenate(x)[: len(held)] for x in (best, right))
    has_answer = data.is_right[held].any(1)
    vain = best[~has_answer]
    auc = (best[right][:, None] > vain).mean()
    given = right & (best > np.quantile(vain, 0.75))
    print(f"right {right[has_answer].mean():.3f}, AUC {auc:.3f}, answered rightly with three in four refused {given[has_answer].mean():.3f}", flush=True)


def batches(data, random):
    """Batches of questions of about one length."""
    order = random.permutation(np.flatnonzero(~data.held))
    found = []
    for at in range(0, len(order), 16 * BATCH):
        part = order[at : at + 16 * BATCH]
        part = part[np.argsort(data.length[part], kind="stable")]
        found += [part[at : at + BATCH] for at in range(0, len(part) - BATCH + 1, BATCH)]
    random.shuffle(found)
    return found


def trained(data):
    p, random, key = start(), np.random.default_rng(3), jax.random.key(0)
    report(p, data)
    mean = square = jax.tree.map(jnp.zeros_like, p)
    steps, waiting, values = int(EPOCHS * (~data.held).sum() / BATCH), [], []
    for step in range(steps):
        waiting = waiting or batches(data, random)
        rate = RATE * min(1, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps)
        value, p, mean, square = step_of(p, mean, square, step + 1.0, rate, jax.random.fold_in(key, step), *data.batch(waiting.pop()))
        values.append(float(value))
        if (step + 1) % 100 == 0:
            print(step + 1, "of", steps, round(np.mean(values[-100:]), 3), flush=True)
    report(p, data)
    return jax.tree.map(np.asarray, p)


def graph(p):
    """`score` as a graph over the known tokens of one question and one block."""
    nodes, constants = [], []

    def constant(value, kind=np.float32):
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def add(kind, *inputs, out=None, **attributes):
        out = out or f"o{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [out], name=f"{kind}_{len(nodes)}", **attributes))
        return out

    whole = lambda *numbers: constant(numbers, np.int64)
    times = lambda x, number: add("Mul", x, constant(number))
    linear = lambda x, weights: add("Add", add("MatMul", x, constant(weights[0])), constant(weights[1]))
    norm = lambda x, weights: add("LayerNormalization", x, constant(weights[0]), constant(weights[1]), axis=-1, epsilon=1e-5)
    question, block = "question", "block"
    cosines = add("MatMul", question, add("Transpose", block, perm=[1, 0]))
    nearest = add("ReduceMax", cosines, whole(1), keepdims=1)
    share = add("Softmax", times(cosines, np.exp(p["sharpness"])), axis=-1)
    near = add("ReduceSum", add("Mul", share, cosines), whole(1), keepdims=1)
    asked = times(linear(question, p["question"]), VECTOR_GAIN)
    found = times(add("MatMul", share, linear(block, p["block"])), VECTOR_GAIN)
    weight = linear(question, (p["weight"][0][:, None] * WEIGHT_GAIN, p["weight"][1]))
    weight = add("Log", add("Add", add("Exp", weight), constant(1.0)))
    weight = add("Div", weight, add("ReduceSum", weight, whole(0), keepdims=1))
    parts = [asked, found, add("Mul", asked, found), add("Abs", add("Sub", asked, found))]
    parts += [times(nearest, COSINE_GAIN), times(near, COSINE_GAIN), times(weight, WEIGHT_GAIN)]
    of_tokens = linear(add("Concat", *parts, axis=1), p["compare"])
    of_block = linear(add("ReduceMean", block, whole(0), keepdims=1), (p["mean"][0] * MEAN_GAIN, p["mean"][1]))
    x = norm(add("Concat", of_block, of_tokens, axis=0), p["norm"])
    for layer in p["layers"]:
        parts = [tuple(w[..., at : at + STATE] for w in layer["qkv"]) for at in range(0, 3 * STATE, STATE)]
        q, k, v = (add("Reshape", linear(x, part), whole(-1, STATE // HEAD, HEAD)) for part in parts)
        q, k, v = (add("Transpose", part, perm=perm) for part, perm in ((q, [1, 0, 2]), (k, [1, 2, 0]), (v, [1, 0, 2])))
        mixed = add("MatMul", add("Softmax", times(add("MatMul", q, k), HEAD**-0.5), axis=-1), v)
        mixed = add("Reshape", add("Transpose", mixed, perm=[1, 0, 2]), whole(-1, STATE))
        x = norm(add("Add", x, linear(mixed, layer["out"])), layer["norm1"])
        x = norm(add("Add", x, linear(add("Gelu", linear(x, layer["inner"]), approximate="tanh"), layer["last"])), layer["norm2"])
    first = add("Slice", x, whole(0), whole(1), whole(0))
    of_all = add("ReduceSum", add("Mul", first, constant(p["head"][None])), whole(0, 1), keepdims=0)
    late = times(add("ReduceSum", add("Mul", weight, nearest), whole(0, 1), keepdims=0), np.exp(p["late"]))
    add("Add", add("Add", late, constant(p["bias"])), of_all, out="score")
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    inputs = [value(question, ["Q", WIDTH]), value(block, ["B", WIDTH])]
    made = helper.make_graph(nodes, "matching", inputs, [value("score", [])], constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def check(model, p, data):
    """Fails where the graph and `score` differ."""
    onnx.checker.check_model(model)
    question, question_known, blocks, blocks_known, *_ = data.batch(np.flatnonzero(data.held)[:1])
    expected = scores(p, question, question_known, blocks, blocks_known)[0, 0]
    inputs = {"question": question[question_known], "block": blocks[:, 0][blocks_known[:, 0]]}
    assert abs(ReferenceEvaluator(model).run(None, inputs)[0] - expected) < 1e-3


def main(questions, vectors, out):
    data = Questions(questions, vectors)
    p = trained(data)
    model = graph(p)
    check(model, p, data)
    onnx.save(model, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
