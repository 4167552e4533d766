#!/usr/bin/env bash
# Builds the module for a Python without the interpreter's lock and runs the tests there, in ENVIRONMENT. Such a Python is not in every
# distribution, and to build one takes long: TESSERA_FREE_THREADED names it, or it is python3.14t or python3.13t in PATH; where there is
# none the script says so and ends with 77. From any source of CPython 3.13 or later:
#
#   ./configure --disable-gil --prefix=/opt/python-t && make -j && make install && export TESSERA_FREE_THREADED=/opt/python-t/bin/python3
#
#   free_threaded.sh DEPS ENVIRONMENT   (DEPS: TESSERA_DEPS of the build)
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly DEPS=$1 ENVIRONMENT=$2
PYTHON=${TESSERA_FREE_THREADED:-$(command -v python3.14t || command -v python3.13t || true)}
if [ -z "$PYTHON" ]; then
  echo "left out: TESSERA_FREE_THREADED names no Python without the lock, and PATH has no python3.14t or python3.13t"
  exit 77
fi
"$PYTHON" -c 'import sysconfig; assert sysconfig.get_config_var("Py_GIL_DISABLED"), "this Python has the lock"'

export PYTHONDONTWRITEBYTECODE=1
if [ ! -e "$ENVIRONMENT/.complete" ]; then
  rm -rf "$ENVIRONMENT/venv"
  "$PYTHON" -m venv "$ENVIRONMENT/venv"
  # Never from source: not every release of numpy and onnx has files for every Python, and the newest that has is taken.
  "$ENVIRONMENT/venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: numpy nanobind==3.1.0 pytest==9.2.0 onnx
  touch "$ENVIRONMENT/.complete"
fi
cmake --preset release -B "$ENVIRONMENT/build" -DTESSERA_DEPS="$DEPS" -DTESSERA_PYTHON="$ENVIRONMENT/venv/bin/python" \
      -DTESSERA_BUILD_PYTHON=ON -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_BENCHMARKS=OFF > "$ENVIRONMENT/configure.log"
cmake --build "$ENVIRONMENT/build" --target tessera_python_package -- --quiet
cd tests/python
# Off whatever is imported: onnx, which only writes the models here, does not say that it needs no lock.
PYTHON_GIL=0 PYTHONPATH="$ENVIRONMENT/build/python" "$ENVIRONMENT/venv/bin/python" -m pytest -q -p no:cacheprovider \
  -o faulthandler_timeout=600 test_threads.py test_arguments.py test_memory.py test_session.py test_answers.py test_compiler.py test_adapters.py
