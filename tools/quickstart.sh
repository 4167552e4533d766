#!/usr/bin/env bash
# From a clean clone to results: installs what is missing, builds, runs a real CNN and onnx's conformance data, and shows
# where each node ran. Idempotent; run as root on Debian 12.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly JOBS=${JOBS:-$(nproc)}
step() { printf '\n==> [%s s] %s\n' "$SECONDS" "$*"; }

tools/build.sh installed

readonly MODEL=build/demo/resnet50.onnx
"${TESSERA_DEPS:-/opt/tessera}/venv/bin/python" tools/demo_model.py "$MODEL"
step "ResNet-50: which provider runs what (--verbose: node by node)"
build/bin/tessera_inspect "$MODEL" --placement

step "ResNet-50: latency"
build/bin/tessera_perf "$MODEL" -r 20

step "Nine CNN topologies, checked against onnx's expected outputs"
build/bin/onnx_test_runner -e cpu -v build/conformance/light

step "Every operator case of onnx 1.23.2"
build/bin/onnx_test_runner -e cpu -j "$JOBS" --intra-op-threads 1 --isolate build/conformance/node build/conformance/simple
