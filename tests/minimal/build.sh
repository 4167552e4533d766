#!/usr/bin/env bash
# Builds preset `minimal`, a static library without any optional part, installs it, builds a program with it, and runs onnx's node cases.
#   build.sh SOURCE DEPS NODE_CASES
set -euo pipefail
source=$1 deps=$2 cases=$3
cd "$source"
cmake --preset minimal -DTESSERA_DEPS="$deps"
cmake --build --preset minimal
rm -rf build-minimal/prefix build-minimal/application
cmake --install build-minimal --prefix "$PWD/build-minimal/prefix" >/dev/null
cmake -S tests/install/application -B build-minimal/application -DCMAKE_PREFIX_PATH="$PWD/build-minimal/prefix"
cmake --build build-minimal/application
build-minimal/application/application /usr/share/libonnx-testdata/data/node/test_add/model.onnx
if ldd build-minimal/application/application | grep -E 'libtessera|libre2|libutf8proc|libjpeg|libpng|libtiff|libwebp|libopenjp2|libdnnl|libOpenCL'; then
  echo "the program needs what was left out"
  exit 1
fi
# BMP and the portable bitmaps are decoded without a library.
build-minimal/prefix/bin/onnx_test_runner -e cpu -j 2 --intra-op-threads 2 --isolate --timeout 300 \
  -n '^(?!test_(regex|strnorm|image_decoder_decode_(jpeg|jpeg2k|png|tiff|webp)))' "$cases"
