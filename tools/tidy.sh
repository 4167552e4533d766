#!/usr/bin/env bash
# Runs the checks of .clang-tidy on the sources that the last commits changed, a few tens of files, or on all of them.
#
#   tools/tidy.sh [BUILD] [--all | FILE...]   (default: build)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly BUILD=${1:-build} COMMITS=10 MOST=24
shift || true
readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
# The Python module's sources where there is what they include.
python_flags=$("$DEPS/venv/bin/python" -c 'import nanobind, numpy, sysconfig
for folder in nanobind.include_dir(), numpy.get_include(), sysconfig.get_paths()["include"]: print("-isystem", folder)' 2>/dev/null || true)
openjpeg_flags=$(pkg-config --cflags-only-I libopenjp2 2>/dev/null | sed 's/-I/-isystem /g' || true)
skipped=^$
[ -n "$python_flags" ] || skipped=^src/bindings/python/
sources() { git ls-files 'src/*.cpp' 'providers/*.cpp' 'tools/*.cpp' | grep -v "$skipped"; }
case "${1:-}" in
  --all) files=$(sources) ;;
  "")
    base=$(git rev-list --max-count=$((COMMITS + 1)) HEAD | tail -1)
    files=$(comm -12 <(git diff --name-only --diff-filter=AM "$base" | sort) <(sources | sort) | shuf -n "$MOST" --random-source=<(yes "$(git rev-parse HEAD)" | head -c 65536)) ;;
  *) files=$(printf '%s\n' "$@") ;;
esac
[ -n "$files" ] || { echo "nothing has changed"; exit 0; }
onnx=$(echo "$DEPS"/onnx-*/include)
flags=(-std=c++20 -march=x86-64-v2 -Wno-everything -Iinclude -Isrc -Iproviders -Itools -Itools/onnx_test_runner -Itools/tessera_perf
       -Itools/tessera_inspect -I"$BUILD/generated" -isystem "$onnx" -isystem /usr/include/eigen3 '-DTESSERA_VERSION="0"'
       $python_flags $openjpeg_flags -DCL_TARGET_OPENCL_VERSION=120 -DONNX_ML=1 -DONNX_NAMESPACE=onnx -DONNX_USE_LITE_PROTO=1 -DSPDLOG_FMT_EXTERNAL -DFMT_SHARED)
echo "$files" | xargs -P "$(nproc)" -I{} clang-tidy-19 --quiet {} -- "${flags[@]}"
