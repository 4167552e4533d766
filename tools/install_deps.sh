#!/usr/bin/env bash
# Installs everything that Tessera builds and tests with on Debian 12: Debian packages, the onnx C++ library (Debian's
# onnx 1.12 stops at opset 17) from its PyPI source distribution, and a Python environment with test-time peers.
# Idempotent: what is already there is left alone. Run as root.
#
#   TESSERA_DEPS   prefix for what is built here (default /opt/tessera)
set -euo pipefail

readonly ONNX_VERSION=1.23.2
readonly ORT_VERSION=1.31.1
readonly NANOBIND_VERSION=3.1.0
readonly DEPS=${TESSERA_DEPS:-/opt/tessera}
readonly PACKAGES=(
  build-essential ccache cmake ninja-build pkg-config python3 python3-dev python3-pip python3-venv
  libprotobuf-dev protobuf-compiler libxxhash-dev    # model format, checksums
  libeigen3-dev libhwy-dev libtbb-dev                # kernels and threads
  libdnnl-dev ocl-icd-opencl-dev opencl-clhpp-headers # execution providers
  pocl-opencl-icd clinfo oclgrind                    # an OpenCL device on the CPU, a simulated one
  libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libpugixml-dev
  libre2-dev libutf8proc-dev                         # string operators
  libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev # ImageDecoder
  libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata
  qemu-user                                          # processors without AVX2
  graphviz                                           # dot, for the drawings of tessera_inspect --dot
  clang-19 libclang-rt-19-dev llvm-19                # sanitizers and libFuzzer
  clang-format-19 clang-tidy-19                      # how sources look
)

step() { printf '\n==> %s\n' "$*"; }

install_packages() {
  local missing=()
  for package in "${PACKAGES[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then step "Debian packages: all ${#PACKAGES[@]} present"; return; fi
  step "Debian packages: installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Peers for tests and benchmarks, and what the Python module is built with; the library itself never needs Python.
install_python() {
  local stamp="$DEPS/venv/.onnx-$ONNX_VERSION-ort-$ORT_VERSION-nanobind-$NANOBIND_VERSION"
  if [ -e "$stamp" ]; then step "Python environment: present"; return; fi
  step "Python environment: $DEPS/venv"
  /usr/bin/python3 -m venv "$DEPS/venv"
  "$DEPS/venv/bin/pip" install -q --disable-pip-version-check \
    numpy ml_dtypes pillow "onnx==$ONNX_VERSION" "onnxruntime==$ORT_VERSION" 'cmake>=3.26,<4' \
    "nanobind==$NANOBIND_VERSION" pytest==9.2.0 sympy==1.14.0
  touch "$stamp"
}

install_onnx() {
  local prefix="$DEPS/onnx-$ONNX_VERSION"
  # A number to count up with each change of how it is built.
  local stamp="$prefix/.complete-2"
  if [ -e "$stamp" ]; then step "onnx $ONNX_VERSION C++ library: present"; return; fi
  step "onnx $ONNX_VERSION C++ library: downloading and building into $prefix"
  local work; work=$(mktemp -d)
  "$DEPS/venv/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary onnx -d "$work" "onnx==$ONNX_VERSION"
  tar xzf "$work/onnx-$ONNX_VERSION.tar.gz" -C "$work"
  # Lite protos stay out of the process-wide descriptor pool, so that libtessera loads beside any other protobuf user. Texts that
  # describe operators, and what links with the schemas alone never call (its version converter, above all), would be a sixteenth of
  # libtessera.
  "$DEPS/venv/bin/cmake" -S "$work/onnx-$ONNX_VERSION" -B "$work/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DONNX_ML=ON -DONNX_USE_LITE_PROTO=ON -DONNX_USE_PROTOBUF_SHARED_LIBS=ON \
    -DCMAKE_CXX_FLAGS="-D__ONNX_NO_DOC_STRINGS -ffunction-sections -fdata-sections" \
    -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF >"$work/configure.log" || { cat "$work/configure.log"; return 1; }
  "$DEPS/venv/bin/cmake" --build "$work/build" --target install >"$work/build.log" || { tail -50 "$work/build.log"; return 1; }
  touch "$stamp"
  rm -rf "$work"
}

mkdir -p "$DEPS"
install_packages
install_python
install_onnx
step "Dependencies complete"
