#!/usr/bin/env bash
# Installs what is missing, builds the release preset and prepares the conformance data: what quickstart.sh and test.sh
# have in common. Idempotent; run as root on Debian 12.
#
#   tools/build.sh [TARGET...]   (default: all)
#
#   JOBS           parallel compile jobs (default: the cores)
#   TESSERA_DEPS   prefix of what install_deps.sh builds (default /opt/tessera)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly JOBS=${JOBS:-$(nproc)}
step() { printf '\n==> [%s s] %s\n' "$SECONDS" "$*"; }

tools/install_deps.sh

step "Configuring and building (release, $JOBS jobs)"
log=$(mktemp)
cmake --preset release -DTESSERA_DEPS="$DEPS" -DTESSERA_BUILD_PYTHON=AUTO >"$log" 2>&1 || { cat "$log"; exit 1; }
rm -f "$log"
cmake --build --preset release -j "$JOBS" ${1:+--target "$@"}

step "Preparing conformance data"
"$DEPS/venv/bin/python" -W ignore tests/conformance/make_data.py build/conformance
