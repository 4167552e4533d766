#!/usr/bin/env bash
# Builds the wheel and runs it where none of Debian's libraries are found but the C library's own: an environment with nothing but numpy,
# in a process that may load only what lies in the wheel or belongs to every system.
#
#   wheel.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHON=$1 tools/build_wheel.sh "$work/dist"
bytes=$(stat -c %s "$work"/dist/*.whl)
if [ "$bytes" -ge 23800000 ]; then echo "the wheel has $bytes bytes; ONNX Runtime's has 23.8 MB" >&2; exit 1; fi
"$1" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "$work"/dist/*.whl
# What every system has; whatever else a library of ours asks for must be in the wheel.
readonly COMMON='libc\.so|libm\.so|libpthread\.so|libdl\.so|librt\.so|ld-linux|libgcc_s\.so|libstdc\+\+\.so|linux-vdso|libresolv\.so|libutil\.so'
cd "$work"
# OpenCL's drivers are the machine's, and bring libraries of theirs: here there are none.
OCL_ICD_VENDORS=$work/none "$work/venv/bin/python" - "$COMMON" <<'PY'
import os, re, sys
import numpy, tessera
assert tessera.get_available_providers()[-1] == "CPUExecutionProvider"
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
outside = [path for path in loaded if "/site-packages/" not in path and "/lib-dynload/" not in path
           and not re.search(sys.argv[1] + r"|libpython|libffi|libz\.so|libcrypto|libssl|libexpat|libbz2|liblzma|libuuid|libmpdec", os.path.basename(path))]
assert not outside, f"libraries from outside of the wheel: {outside}"
print("the wheel has all that it needs;", len([p for p in loaded if "tessera" in p]), "files of its own are loaded")
PY

# Under ONNX Runtime's name, for programs that ask for it and for its version.
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps "$OLDPWD/src/bindings/python/onnxruntime"
"$work/venv/bin/python" -c '
import importlib.metadata, onnxruntime
assert importlib.metadata.version("onnxruntime") == onnxruntime.__version__ == "1.31.1"
assert "Tessera" in onnxruntime.get_build_info()'
