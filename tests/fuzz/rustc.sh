#!/usr/bin/env bash
shopt -s extglob
# Builds with coverage what the fuzzer is to find its way through: this crate and the small readers. The
# large libraries are fuzzed by their own projects, and take minutes to compile with coverage.
args=("$@")
case " $* " in
*" --crate-name "@(kb_agent|reader|quick_xml|htmd|html5ever|mail_parser|msg_parser|rtf_parser_tt|csv)" "*)
    args+=(--cfg fuzzing -Cpasses=sancov-module)
    for part in level=4 inline-8bit-counters pc-table trace-compares; do
        args+=("-Cllvm-args=-sanitizer-coverage-$part")
    done
    ;;
esac
exec "${args[@]}"
