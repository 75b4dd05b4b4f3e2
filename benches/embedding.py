"""Passages a second and a query's milliseconds of onnxruntime, for benches/embedding.rs.

Reads a JSON job: the model's path, the number of threads, token ids. Several ways to use the
threads are tried, and the best counts.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnxruntime


def session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


def feed(rows):
    length = max(len(row) for row in rows)
    ids = numpy.zeros((len(rows), length), dtype=numpy.int64)
    mask = numpy.zeros((len(rows), length), dtype=numpy.float32)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = 1.0
    return {"ids": ids, "mask": mask}


def best_of(times, work):
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    threads, passages = job["threads"], job["passages"]
    wide = session(job["model"], threads)
    narrow = [session(job["model"], 1) for _ in range(threads)]

    def batches(size):
        for at in range(0, len(passages), size):
            wide.run(None, feed(passages[at : at + size]))

    def side_by_side():
        def share(number):
            for row in passages[number::threads]:
                narrow[number].run(None, feed([row]))

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(share, range(threads)))

    batches(1)
    ways = [lambda: batches(1), lambda: batches(8), side_by_side]
    seconds = min(best_of(2, way) for way in ways)
    query = feed([job["query"]])
    latency = min(
        best_of(100, lambda: wide.run(None, query)),
        best_of(100, lambda: narrow[0].run(None, query)),
    )
    print(len(passages) / seconds, latency * 1e3)


main()
