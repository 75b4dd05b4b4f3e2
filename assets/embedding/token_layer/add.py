#!/usr/bin/env python3
"""Adds to the embedding's graph the layer whose states are compared token by token.

    add.py MODEL.onnx LAYER.npz OUT.onnx

LAYER.npz is what train.py writes. The layer stands on the states of the fourth layer, beside the fifth,
so the graph's vectors stay what they are and the states of tokens cost five layers. Its weights become 8-bit numbers as
in make_asset.py --rr. Numpy and onnx are needed.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BELOW, HEADS, WIDTH = 4, 12, 384
LARGEST = 63  # as --rr: u8 x i8 kernels may saturate where the processor has no VNNI
OUTPUT = "tokens"


def main(model_path, layer_path, out_path):
    model = onnx.load(model_path)
    graph = model.graph
    weights = {key: value.astype(np.float32) for key, value in np.load(layer_path).items()}
    norms = [node for node in graph.node if node.op_type == "LayerNormalization"]
    states = norms[2 * BELOW].output[0]
    softmax = next(node for node in graph.node if node.op_type == "Softmax")
    masked = next(node for node in graph.node if node.output[0] == softmax.input[0])
    mask = masked.input[1]
    shapes = {}
    for node in graph.node:
        if node.op_type == "Reshape":
            shapes[len(numpy_helper.to_array(next(i for i in graph.initializer if i.name == node.input[1])))] = node.input[1]
    zero = next(node for node in graph.node if node.op_type == "MatMulInteger").input[3]
    count = 0

    def constant(value):
        nonlocal count
        count += 1
        name = f"{OUTPUT}_c{count}"
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(kind, inputs, outputs=1, **attributes):
        nonlocal count
        count += 1
        names = [f"{OUTPUT}_{count}_{at}" for at in range(outputs)]
        graph.node.append(helper.make_node(kind, inputs, names, name=f"{OUTPUT}_{count}_{kind}", **attributes))
        return names[0] if outputs == 1 else names

    def quantised(x):
        return add("DynamicQuantizeLinear", [x], 3)

    def linear(x, weight, bias):
        values, scale, zero_point = x
        scales = np.abs(weight).max(0) / LARGEST
        integers = np.clip(np.rint(weight / scales), -LARGEST, LARGEST).astype(np.int8)
        product = add("Cast", [add("MatMulInteger", [values, constant(integers), zero_point, zero])], to=TensorProto.FLOAT)
        return add("Add", [add("Mul", [product, add("Mul", [scale, constant(scales)])]), constant(bias)])

    def norm(x, name):
        return add("LayerNormalization", [x, constant(weights[name + ".weight"]), constant(weights[name + ".bias"])], axis=-1, epsilon=1e-12)

    def heads(x, order):
        return add("Transpose", [add("Reshape", [x, shapes[4]])], perm=order)

    x = quantised(states)
    three, bias = weights["qkv.weight"].T, weights["qkv.bias"]
    query, key, value = (linear(x, three[:, at : at + WIDTH], bias[at : at + WIDTH]) for at in range(0, 3 * WIDTH, WIDTH))
    sums = add("Add", [add("MatMul", [heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1])]), mask])
    mixed = add("MatMul", [add("Softmax", [sums], axis=-1), heads(value, [0, 2, 1, 3])])
    mixed = add("Reshape", [add("Transpose", [mixed], perm=[0, 2, 1, 3]), shapes[3]])
    attended = norm(add("Add", [states, linear(quantised(mixed), weights["o.weight"].T, weights["o.bias"])]), "n1")
    inner = add("Gelu", [linear(quantised(attended), weights["i.weight"].T, weights["i.bias"])])
    last = norm(add("Add", [attended, linear(quantised(inner), weights["f.weight"].T, weights["f.bias"])]), "n2")
    assert graph.node[-1].output[0] == last
    graph.node[-1].output[0] = OUTPUT
    graph.output.append(helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["B", "T", WIDTH]))
    onnx.checker.check_model(model)
    onnx.save(model, out_path)


if __name__ == "__main__":
    main(*sys.argv[1:])
