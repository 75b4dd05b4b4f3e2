#!/usr/bin/env bash
# Fuzzes by coverage: tests/fuzz/run.sh SECONDS [TARGET]…   (all targets, one after the other)
#
# Needs a C++ compiler, and no nightly toolchain. What is found lies in tests/fuzz/artifacts/TARGET;
# inputs that reach new code are kept in $KB_AGENT_FUZZ_FOUND/TARGET, where that is set: it begins
# with a third of the small ones that were found before (found.tar.xz).
# KB_AGENT_FUZZ_PROFILE=dev builds quickly, on the crates that the tests have built and with coverage of this crate
# only, and runs slowly.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls tests/fuzz/corpus)
profile=${KB_AGENT_FUZZ_PROFILE:-release}
build=$(cargo metadata --locked --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
wrapper=RUSTC_WORKSPACE_WRAPPER
if [ "$profile" = release ]; then
    wrapper=RUSTC_WRAPPER
    build=$build/fuzz
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=2 CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true
fi

env "$wrapper=$PWD/tests/fuzz/rustc.sh" \
    cargo build --locked --package kb-agent-fuzz --target-dir "$build" --profile "$profile"
reader=$build/${profile/dev/debug}/reader

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -n "${KB_AGENT_FUZZ_FOUND:-}" ] && [ ! -e "$KB_AGENT_FUZZ_FOUND" ]; then
    mkdir -p "$KB_AGENT_FUZZ_FOUND"
    tar -xJf tests/fuzz/found.tar.xz -C "$KB_AGENT_FUZZ_FOUND"
fi
for target in "${targets[@]}"; do
    found=${KB_AGENT_FUZZ_FOUND:-$scratch}/$target
    mkdir -p "$found" "tests/fuzz/artifacts/$target"
    bounds=(-max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048
        -artifact_prefix="tests/fuzz/artifacts/$target/")
    case $target in
        reply | think | stream | events) ;;
        # Time and memory of one document are bounded by the process that reads it.
        *) bounds+=(-fork=1 -ignore_ooms=1 -ignore_timeouts=1 -ignore_crashes=0) ;;
    esac
    printf '== %s\n' "$target"
    KB_AGENT_FUZZ_TARGET=$target "$reader" "${bounds[@]}" "$found" "tests/fuzz/corpus/$target" \
        >"$scratch/log" 2>&1 || { tail -60 "$scratch/log" && exit 1; }
    grep -E "^#[0-9]+" "$scratch/log" | tail -1
done
