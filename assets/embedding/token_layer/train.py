#!/usr/bin/env python3
"""Trains the token layer: the one whose states are compared token by token (late interaction: Khattab and Zaharia 2020).

    train.py MODEL.onnx QUESTIONS.npz LAYER.npz [--seconds N]

MODEL.onnx is the graph that make_asset.py writes, QUESTIONS.npz what questions.py writes. The first four layers stay as
they are; the fifth is copied and trained so that the tokens of a question find theirs in the block that answers rather than
in seven others and in the blocks of the other questions of a batch. One epoch takes about 35 s on an H200; the shipped layer
saw a little less than one and a half in 40 s. PyTorch with a GPU, numpy and onnx are needed.
"""
import sys, time

import numpy as np, onnx, torch
import torch.nn as nn, torch.nn.functional as F
from onnx import numpy_helper

BELOW, HEADS, WIDTH, BATCH, RATE, SECONDS, EPOCHS = 4, 12, 384, 64, 1e-4, 40.0, 6
MARKS = 3  # padding, the unknown word and both ends have the numbers up to this one


class Graph:
    """The float weights behind the quantised graph."""

    def __init__(self, path):
        graph = onnx.load(path).graph
        self.values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        made_by = {out: node for node in graph.node for out in node.output}
        read_by = {}
        for node in graph.node:
            for name in node.input:
                read_by.setdefault(name, []).append(node)
        value = lambda node: next(self.values[name] for name in node.input if name in self.values)
        self.products = []
        for node in (n for n in graph.node if n.op_type == "MatMulInteger"):
            cast = read_by[node.output[0]][0]
            scaled = read_by[cast.output[0]][0]
            scale = next(made_by[name] for name in scaled.input if name != cast.output[0])
            bias = read_by[scaled.output[0]][0]
            self.products.append((self.values[node.input[1]].astype(np.float32) * value(scale), value(bias).reshape(-1)))
        norms = (n for n in graph.node if n.op_type == "LayerNormalization")
        self.norms = [(self.values[n.input[1]], self.values[n.input[2]]) for n in norms]
        self.words = self.values["wemb"].astype(np.float32) * self.values["wscale"]
        self.positions = next(v for v in self.values.values() if v.shape == (256, WIDTH))


def linear(weight, bias):
    layer = nn.Linear(*weight.shape)
    layer.weight.data, layer.bias.data = torch.tensor(weight.T.copy()), torch.tensor(bias.copy())
    return layer


def norm(weight, bias):
    layer = nn.LayerNorm(WIDTH, eps=1e-12)
    layer.weight.data, layer.bias.data = torch.tensor(weight.copy()), torch.tensor(bias.copy())
    return layer


class Layer(nn.Module):
    def __init__(self, graph, at):
        super().__init__()
        query, key, value, out, inner, last = graph.products[6 * at : 6 * at + 6]
        self.qkv = linear(*(np.concatenate(parts, axis=-1) for parts in zip(query, key, value)))
        self.o, self.i, self.f = linear(*out), linear(*inner), linear(*last)
        self.n1, self.n2 = norm(*graph.norms[1 + 2 * at]), norm(*graph.norms[2 + 2 * at])

    def forward(self, x, mask):
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0).transpose(1, 2).reshape(rows, length, WIDTH)
        x = self.n1(x + F.dropout(self.o(mixed), 0.05, self.training))
        return self.n2(x + F.dropout(self.f(F.gelu(self.i(x))), 0.05, self.training))


class Model(nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.words = nn.Parameter(torch.tensor(graph.words), requires_grad=False)
        self.positions = nn.Parameter(torch.tensor(graph.positions.copy()), requires_grad=False)
        self.norm = norm(*graph.norms[0])
        self.layers = nn.ModuleList(Layer(graph, at) for at in range(BELOW + 1))
        for part in (self.norm, *self.layers[:BELOW]):
            part.requires_grad_(False)
        self.weight = nn.Linear(WIDTH, 1)  # of a token of the question; used while training alone
        nn.init.zeros_(self.weight.weight), nn.init.constant_(self.weight.bias, 0.5)
        self.scale, self.bias = nn.Parameter(torch.tensor(2.5)), nn.Parameter(torch.tensor(-6.0))

    def states(self, ids):
        mask = (ids > 0)[:, None, None, :]
        x = self.norm(self.words[ids] + self.positions[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def forward(self, questions, texts):
        """The scores of each question's own blocks, then of the first block of each question of the batch."""
        count, each, length = texts.shape
        x = self.states(questions)
        weights = (F.softplus(self.weight(x))[..., 0] * (questions > MARKS)).float()
        weights = weights / weights.sum(1, keepdim=True).clamp(min=1e-4)
        x = F.normalize(x.float(), dim=-1)
        y = F.normalize(self.states(texts.reshape(count * each, length)).float(), dim=-1).view(count, each, length, -1)
        known = texts > MARKS
        own = torch.einsum("bqd,bktd->bkqt", x, y).masked_fill(~known[:, :, None, :], -1).amax(-1)
        batch = torch.einsum("bqd,ptd->bpqt", x, y[:, 0]).masked_fill(~known[None, :, 0, None, :], -1).amax(-1)
        near = torch.cat([own, batch], 1)
        scores = (near * weights[:, None]).sum(-1) * self.scale.exp() + self.bias
        itself = torch.cat([torch.zeros(count, each), torch.eye(count)], 1).bool().to(scores.device)
        return scores.masked_fill(itself, -1e4)


def cut(ids):
    return ids[..., : int((ids > 0).reshape(-1, ids.shape[-1]).sum(1).max())]


def main(model_path, questions_path, out, seconds=SECONDS):
    torch.manual_seed(0)
    data = np.load(questions_path)
    texts, questions, right, others = (torch.tensor(data[key].astype(np.int64), device="cuda") for key in ("text", "question", "right", "others"))
    model = Model(Graph(model_path)).cuda().train()
    wanted = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(wanted, lr=RATE, weight_decay=0.01, fused=True)
    steps, step, began = EPOCHS * len(questions) // BATCH, 0, time.time()
    random = torch.Generator(device="cuda").manual_seed(1)
    while True:
        order = torch.randperm(len(questions), device="cuda", generator=random)
        for at in range(0, len(order) - BATCH + 1, BATCH):
            done = max(step / steps, (time.time() - began) / seconds)
            if done >= 1:
                layer = model.layers[BELOW].state_dict()
                np.savez(out, **{key: value.half().cpu().numpy() for key, value in layer.items()})
                return
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1, (step + 1) / (0.06 * steps)) * max(0.02, 1 - done)
            pick = order[at : at + BATCH]
            answered = right[pick] >= 0
            first = torch.where(answered, right[pick], others[pick][:, 0])
            with torch.autocast("cuda", torch.bfloat16):
                scores = model(cut(questions[pick]), cut(texts[torch.cat([first[:, None], others[pick]], 1)]))
            # The first block of a question without an answer is no block that answers, whoever asks.
            scores = torch.cat([scores[:, :8], scores[:, 8:].masked_fill(~answered[None], -1e4)], 1)
            choice = F.cross_entropy(scores, torch.zeros_like(first), reduction="none") * answered
            truth = torch.zeros_like(scores[:, :8])
            truth[:, 0] = answered.float()
            shares = torch.full_like(truth, 1 / 7)
            shares[:, 0] = 1
            each = F.binary_cross_entropy_with_logits(scores[:, :8], truth, reduction="none")
            loss = choice.mean() + 0.5 * (each * shares).sum(1).mean() / 2
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(wanted, 1.0)
            optimiser.step()
            step += 1
            if step % 200 == 0:
                print(step, round(loss.item(), 3), flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    seconds = float(arguments[arguments.index("--seconds") + 1]) if "--seconds" in arguments else SECONDS
    main(*arguments[:3], seconds)
