#!/usr/bin/env bash
# A real OpenAI-compatible server (llama.cpp, from the PyPI wheel xllamacpp) over random-weight models made
# on the spot: real wire format, streaming, usage, json_schema grammars, embeddings, errors; no meaning.
#   serve_llm.sh [CHAT_PORT=8080] [EMBED_PORT=8081] [API_KEY]        serve_llm.sh stop
set -eu
here=$(cd "$(dirname "$0")" && pwd)
home=${KB_LLM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/kb-agent-llm}; mkdir -p "$home"
if [ "${1:-}" = stop ]; then for f in "$home"/run_*.pid; do [ -f "$f" ] && kill "$(cat "$f")" 2>/dev/null || true; rm -f "$f"; done; exit 0; fi
for f in "$home"/run_*.pid; do [ -f "$f" ] && kill -0 "$(cat "$f")" 2>/dev/null && { echo "already started; first: $0 stop"; exit 1; }; done
chat=${1:-8080}; embed=${2:-8081}; key=${3:-}
py=$home/venv/bin/python
[ -x "$py" ] || { python3 -m venv "$home/venv"; "$home/venv/bin/pip" install -q xllamacpp==2026.10.11549 gguf==0.19.0 numpy; }
[ -f "$home/tiny-chat.gguf" ]  || "$py" "$here/make_tiny_gguf.py" "$home/tiny-chat.gguf" chat 64
[ -f "$home/tiny-embed.gguf" ] || "$py" "$here/make_tiny_gguf.py" "$home/tiny-embed.gguf" embed 256
setsid "$py" "$here/serve_llm.py" "$home/tiny-chat.gguf"  "$chat"  chat  tiny-chat  $key >"$home/chat.log"  2>&1 & echo $! >"$home/run_chat.pid"
setsid "$py" "$here/serve_llm.py" "$home/tiny-embed.gguf" "$embed" embed tiny-embed $key >"$home/embed.log" 2>&1 & echo $! >"$home/run_embed.pid"
for p in "$chat" "$embed"; do
  for _ in $(seq 60); do curl -sf "http://127.0.0.1:$p/health" >/dev/null && break; sleep 0.25; done
  curl -sf "http://127.0.0.1:$p/health" >/dev/null && echo "ready http://127.0.0.1:$p/v1" || { echo "port $p not ready, see $home"; exit 1; }
done
