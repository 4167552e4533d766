#!/usr/bin/env bash
# Installs Intel's OpenCL driver for processors from PyPI, for tests only: a second vendor's compiler, and the only device without a GPU
# that computes in half. Any x86-64 processor will do. Where it cannot be had, its tests are skipped. Idempotent.
#
#   TESSERA_DEPS   prefix for what is installed here (default /opt/tessera)
set -euo pipefail

readonly VERSION=2026.2.0
readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly VENV="$DEPS/opencl-intel" STAMP="$DEPS/opencl-intel/.intel-opencl-rt-$VERSION"
step() { printf '\n==> %s\n' "$*"; }

if [ "$(uname -m)" != x86_64 ]; then step "Intel's OpenCL driver: not for $(uname -m)"; exit; fi
if [ -e "$STAMP" ]; then step "Intel's OpenCL driver $VERSION: present"; exit; fi
step "Intel's OpenCL driver $VERSION: $VENV"
/usr/bin/python3 -m venv "$VENV"
if ! "$VENV/bin/pip" install -q --disable-pip-version-check "intel-opencl-rt==$VERSION" "intel-cmplr-lib-rt==$VERSION"; then
  step "It cannot be installed; its tests will be skipped"
  exit
fi
mkdir -p "$VENV/vendors"
echo "$VENV/lib/libintelocl.so" > "$VENV/vendors/intel.icd"
touch "$STAMP"
