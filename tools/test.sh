#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; ends in CTest's summary. Idempotent; run as root on Debian 12.
#
#   JOBS            parallel compile and test jobs (default: the cores)
#   TESSERA_ASAN=0  leaves the sanitizer build out
set -euo pipefail
cd "$(dirname "$0")/.."

readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly JOBS=${JOBS:-$(nproc)}
step() { printf '\n==> [%s s] %s\n' "$SECONDS" "$*"; }

tools/install_deps.sh

step "Configuring and building (release, $JOBS jobs)"
cmake --preset release -DTESSERA_DEPS="$DEPS" >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build --preset release -j "$JOBS"

if [ "${TESSERA_ASAN:-1}" != 0 ]; then
  step "Building the bad-input tests under AddressSanitizer and UBSan"
  cmake --preset asan -DTESSERA_DEPS="$DEPS" -DTESSERA_BUILD_BENCHMARKS=OFF >/dev/null
  cmake --build --preset asan -j "$JOBS"
fi

step "Preparing conformance data"
"$DEPS/venv/bin/python" -W ignore tests/conformance/make_data.py build/conformance

step "Running every test"
status=0
ctest --preset release || status=$?
step "Finished"
exit "$status"
