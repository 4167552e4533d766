#!/usr/bin/env bash
# Runs test_ray.py and, where there is a Java, test_spark.py: Ray and PySpark are installed from PyPI once, into the build tree (1.2 GB,
# seven minutes).
#
#   engines.sh PYTHON PACKAGE ENVIRONMENT   (PACKAGE: the folder of the package under test; ENVIRONMENT: where they go)
set -euo pipefail
cd "$(dirname "$0")"

readonly PYTHON=$1 VENV=$3
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 RAY_USAGE_STATS_ENABLED=0 RAY_DEDUP_LOGS=0
export RAY_raylet_start_wait_time_s=180  # half a minute is too short on a machine that is busy
if [ ! -e "$VENV/.complete" ]; then
  rm -rf "$VENV"
  "$PYTHON" -m venv "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check wheel
  "$VENV/bin/pip" install -q --disable-pip-version-check "ray[data,serve]==2.60.0" pyspark==4.3.0 numpy onnx==1.23.2 pytest==9.2.0
  touch "$VENV/.complete"
fi
spark=(test_spark.py)
command -v java > /dev/null || { echo "no java is installed: PySpark is left out"; spark=(); }
"$VENV/bin/python" -m pytest -q -W ignore -p no:cacheprovider -o faulthandler_timeout=600 test_ray.py "${spark[@]}"
