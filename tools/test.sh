#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; ends in CTest's summary. Idempotent; run as root on Debian 12.
#
#   JOBS            parallel compile and test jobs (default: the cores)
#   TESSERA_ASAN=0  leaves the sanitizer build out
#   TESSERA_EXTRA=1 runs the tests labelled `extra`, too: whole runs on emulated processors and others that take long and seldom find anything
set -euo pipefail
cd "$(dirname "$0")/.."

readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly JOBS=${JOBS:-$(nproc)}
step() { printf '\n==> [%s s] %s\n' "$SECONDS" "$*"; }

tools/build.sh
tools/install_test_drivers.sh

if [ "${TESSERA_ASAN:-1}" != 0 ]; then
  step "Building the bad-input tests under AddressSanitizer and UBSan"
  cmake --preset asan -DTESSERA_DEPS="$DEPS" -DTESSERA_BUILD_BENCHMARKS=OFF >/dev/null
  cmake --build --preset asan -j "$JOBS"
fi

leave_out=(-LE extra)
[ "${TESSERA_EXTRA:-0}" = 0 ] || leave_out=()
step "Running every test${leave_out:+ but those labelled extra}"
ctest --preset release -j "$JOBS" "${leave_out[@]}"
