#!/usr/bin/env bash
# Runs test_ray.py: Ray is installed from PyPI once, into the build tree (750 MB, five minutes).
#
#   ray.sh PYTHON PACKAGE ENVIRONMENT   (PACKAGE: the folder of the package under test; ENVIRONMENT: where Ray goes)
set -euo pipefail
cd "$(dirname "$0")"

readonly PYTHON=$1 VENV=$3
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 RAY_USAGE_STATS_ENABLED=0 RAY_DEDUP_LOGS=0
if [ ! -e "$VENV/.complete" ]; then
  rm -rf "$VENV"
  "$PYTHON" -m venv "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check "ray[data,serve]==2.60.0" numpy onnx==1.23.2 pytest==9.2.0
  touch "$VENV/.complete"
fi
"$VENV/bin/python" -m pytest -q -W ignore -p no:cacheprovider -o faulthandler_timeout=600 test_ray.py
