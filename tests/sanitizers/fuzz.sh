#!/usr/bin/env bash
# Replays what a fuzzer once found, then lets it try a number of new inputs, from seeds and with random numbers that are always the same.
#
#   fuzz.sh PROGRAM REGRESSIONS SEEDS RUNS
#
# An input that ends in anything but a result or an Error is left in the folder that the last lines name: PROGRAM FILE repeats it.
set -euo pipefail
program=$1 regressions=$2 seeds=$3 runs=$4
here=$(cd "$(dirname "$0")" && pwd)
found=${seeds%/*}/found
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$found"
readonly LIMITS=(-timeout=60 -rss_limit_mb=4096 -artifact_prefix="$found/${program##*/}-")

inputs=("$regressions"/*)
if [ -e "${inputs[0]}" ]; then "$here/run.sh" "$program" "${LIMITS[@]}" -runs=1 "${inputs[@]}" >"$work/log" 2>&1 || { status=$?; tail -60 "$work/log"; exit $status; }; fi
"$here/run.sh" "$program" "${LIMITS[@]}" -seed=1 -runs="$runs" -max_total_time=40 -max_len=65536 -print_final_stats=1 "$work" "$seeds" \
  >"$work/log" 2>&1 || { status=$?; tail -60 "$work/log"; exit $status; }
grep -E "stat::|DONE" "$work/log"
