#!/usr/bin/env bash
# Builds lopdf without coverage: instrumented, its table of glyph names compiles for many minutes.
# Everything else of a PDF's way through the program is guided.
args=()
case " $* " in
*" --crate-name lopdf "*)
    for argument in "$@"; do
        case $argument in
        *sancov* | *sanitizer-coverage*) ;;
        *) args+=("$argument") ;;
        esac
    done
    exec "${args[@]}"
    ;;
esac
exec "$@"
