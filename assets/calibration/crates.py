#!/usr/bin/env python3
"""Makes a BEIR folder of the crates that cargo has downloaded: descriptions against read-me files.

    crates.py OUT [REGISTRY_SRC]

The query is a crate's description, the one relevant document its README without that sentence. It
is a collection of another kind than the usual ones: technical prose with code in it.
"""
import glob, json, os, re, sys, tomllib

out = sys.argv[1]
source = sys.argv[2] if len(sys.argv) > 2 else os.path.expanduser("~/.cargo/registry/src")
crates = {}
for manifest in sorted(glob.glob(os.path.join(source, "*", "*", "Cargo.toml"))):
    with open(manifest, "rb") as file:
        try:
            package = tomllib.load(file).get("package", {})
        except tomllib.TOMLDecodeError:
            continue
    description, folder = package.get("description"), os.path.dirname(manifest)
    readme = [name for name in os.listdir(folder) if name.lower() in ("readme.md", "readme")]
    if not isinstance(description, str) or not readme:
        continue
    description = " ".join(description.split())
    with open(os.path.join(folder, readme[0]), encoding="utf-8", errors="replace") as file:
        body = re.sub(r"!?\[[^\]]*\]\([^)]*\)|https?://\S+|<[^>]+>", " ", file.read())
    sentences = [s for s in re.split(r"(?<=[.!?])\s", description) if len(s) > 20]
    for sentence in [description, *sentences]:
        pattern = re.escape(sentence.rstrip(".")).replace(r"\ ", r"\s+")
        body = re.sub(pattern, " ", body, flags=re.IGNORECASE)
    if len(body) >= 300 and len(description) >= 25:
        crates[package["name"]] = (description, body[:6000])
os.makedirs(os.path.join(out, "qrels"), exist_ok=True)
with (
    open(os.path.join(out, "corpus.jsonl"), "w", encoding="utf-8") as corpus,
    open(os.path.join(out, "queries.jsonl"), "w", encoding="utf-8") as queries,
    open(os.path.join(out, "qrels", "test.tsv"), "w", encoding="utf-8") as qrels,
):
    qrels.write("query-id\tcorpus-id\tscore\n")
    for name, (description, body) in sorted(crates.items()):
        corpus.write(json.dumps({"_id": name, "title": "", "text": body}) + "\n")
        queries.write(json.dumps({"_id": name, "text": description}) + "\n")
        qrels.write(f"{name}\t{name}\t1\n")
