#!/usr/bin/env python3
"""Runs the real llama.cpp HTTP server (xllamacpp wheel) until killed. serve_llm.py MODEL PORT chat|embed ALIAS [API_KEY]
PREDICT=-1 lets a model end by itself, which then has all of the context."""
import os, sys, time, signal, xllamacpp as x
model, port, kind, alias = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
p = x.CommonParams()
p.model.path = model; p.hostnames = ["127.0.0.1"]; p.port = port; p.model_alias = {alias}
p.n_ctx = 8192; p.n_parallel = 2; p.n_gpu_layers = 0; p.cpuparams.n_threads = 1; p.cpuparams_batch.n_threads = 1
p.fit_params = False; p.ui = False; p.warmup = False; p.cache_ram_mib = 64; p.sampling.seed = 42
p.endpoint_metrics = True
p.n_predict = int(os.environ.get("PREDICT", "256"))  # a random model seldom ends by itself
if p.n_predict < 0: p.n_parallel = 1
if kind == "embed":
    p.embedding = True; p.pooling_type = x.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    p.n_ubatch = 2048
if len(sys.argv) > 5: p.api_keys = [sys.argv[5]]
s = x.Server(p)
print("listening", s.listening_address, flush=True)
signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))
while True: time.sleep(3600)
