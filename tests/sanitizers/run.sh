#!/usr/bin/env bash
# Runs a program of a sanitizer build (preset asan or tsan); exit code 77, a skip, when that build is not there.
set -euo pipefail
program=$1
shift
[ -x "$program" ] || { echo "$program is not built: cmake --preset asan (or tsan), then cmake --build in its folder"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
# Aborts are the sanitizer's (handle_abort=2): libraries of devices take them from libFuzzer, which then keeps no input.
# Device libraries keep process-lifetime allocations; ours are all checked.
export LSAN_OPTIONS="suppressions=$here/leaks.txt:print_suppressions=0"
export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:strict_init_order=1:handle_abort=2"
export TSAN_OPTIONS="suppressions=$here/races.txt:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
symbolizer=$(command -v llvm-symbolizer-19 || true)
[ -z "$symbolizer" ] || export ASAN_SYMBOLIZER_PATH=$symbolizer
exec "$program" "$@"
