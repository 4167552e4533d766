#!/usr/bin/env bash
# Programs for other bindings of ONNX Runtime, each installed from its registry, on its own library and then on ours in its
# place: both must print the same.
#   run.sh BUILD [CLIENT...]     CLIENT: c, headers, cxx, node, java, rust, rust_tests; all without one
# What is not there (a toolchain, the network) is said and left out; with TESSERA_CLIENTS_STRICT=1 it is a failure.
# ONNXRUNTIME_GENUINE names ONNX Runtime's own libonnxruntime.so for the clients that have none; else it comes out of its Python
# package. ONNXRUNTIME_HEADERS names a folder with its headers; else they come out of Debian's newest package of them.
set -uo pipefail
export ORT_DISABLE_TELEMETRY=1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: run.sh BUILD [CLIENT...]}" && pwd)
shift
[ $# -gt 0 ] || set -- c headers cxx node java rust rust_tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ours=$build/lib/onnxruntime
failed=0 passed=0 left_out=0

leave_out() {  # CLIENT WHY
  echo "$1: left out, $2"
  left_out=$((left_out + 1))
  [ "${TESSERA_CLIENTS_STRICT:-0}" = 0 ] || failed=$((failed + 1))
}
has() {  # CLIENT PROGRAM...
  local client=$1 program
  shift
  for program; do
    command -v "$program" >/dev/null || { leave_out "$client" "there is no $program"; return 1; }
  done
}
compare() {  # CLIENT: theirs and ours have printed into files of their own
  if diff -u "$work/$1.theirs" "$work/$1.ours" && grep -q . "$work/$1.ours"; then
    echo "$1: as on ONNX Runtime, $(wc -l <"$work/$1.ours") lines"
    passed=$((passed + 1))
  else
    echo "$1: FAILED"
    failed=$((failed + 1))
  fi
}

genuine() {  # prints the path of ONNX Runtime's library
  if [ -n "${ONNXRUNTIME_GENUINE:-}" ]; then echo "$ONNXRUNTIME_GENUINE"; return; fi
  if [ ! -d "$work/wheel" ]; then
    python3 -m venv "$work/venv" && "$work/venv/bin/pip" -q download --no-deps -d "$work" onnxruntime==1.31.1 >&2 || return 1
    python3 -m zipfile -e "$work"/onnxruntime-*.whl "$work/wheel"
  fi
  echo "$work"/wheel/onnxruntime/capi/libonnxruntime.so.1.31.1
}

headers() {  # prints the folder of ONNX Runtime's headers
  if [ -n "${ONNXRUNTIME_HEADERS:-}" ]; then echo "$ONNXRUNTIME_HEADERS"; return; fi
  local apt=$work/apt mirror
  if [ ! -d "$apt/package" ]; then
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    # From where this machine has its packages, whose lists are left as they are.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/*$' | head -n 1)
    [ -n "$mirror" ] || return 1
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/sources.list"
    local options=(-q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$apt/lists"
      -o Dir::Cache="$apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update >&2 && (cd "$apt" && apt-get "${options[@]}" download libonnxruntime-dev >&2) || return 1
    dpkg -x "$apt"/libonnxruntime-dev_*.deb "$apt/package" || return 1
  fi
  echo "$apt/package/usr/include/onnxruntime"
}

# Where structs and constants are, by their header and by ours.
client_headers() {
  local theirs
  has headers c++ python3 && theirs=$(headers) || { leave_out headers "ONNX Runtime's headers cannot be had"; return; }
  python3 "$here/layout_program.py" "$theirs"/onnxruntime_c_api.h "$theirs"/onnxruntime_ep_c_api.h >"$work/layout.cpp"
  c++ -std=c++20 -w -I"$theirs" "$work/layout.cpp" -o "$work/layout_theirs" \
    && c++ -std=c++20 -w -I"$root/include/onnxruntime" "$work/layout.cpp" -o "$work/layout_ours" \
    || { echo "headers: FAILED to build"; failed=$((failed + 1)); return; }
  "$work/layout_theirs" >"$work/headers.theirs"
  "$work/layout_ours" >"$work/headers.ours"
  compare headers
}

# A program on their header of C++.
client_cxx() {
  local theirs library
  has cxx c++ && theirs=$(headers) && library=$(genuine) || { leave_out cxx "ONNX Runtime's headers or library cannot be had"; return; }
  mkdir -p "$work/cxx"
  cp "$library" "$work/cxx/libonnxruntime.so.1"
  ln -sf libonnxruntime.so.1 "$work/cxx/libonnxruntime.so"
  c++ -std=c++17 -w -I"$theirs" "$here/cxx_client.cpp" -o "$work/cxx/client" -L"$work/cxx" -lonnxruntime -pthread \
    || { echo "cxx: FAILED to build"; failed=$((failed + 1)); return; }
  LD_LIBRARY_PATH=$work/cxx "$work/cxx/client" "$work/models" >"$work/cxx.theirs" 2>"$work/cxx.log"
  LD_LIBRARY_PATH=$ours "$work/cxx/client" "$work/models" >"$work/cxx.ours" 2>>"$work/cxx.log"
  compare cxx
}

client_c() {
  local theirs
  has c cc && theirs=$(genuine) || { leave_out c "ONNX Runtime's library cannot be had"; return; }
  mkdir -p "$work/c"
  cp "$theirs" "$work/c/libonnxruntime.so.1"
  ln -sf libonnxruntime.so.1 "$work/c/libonnxruntime.so"
  # Linked with theirs, run on both.
  cc -std=c11 -I"${ONNXRUNTIME_HEADERS:-$root/include/onnxruntime}" "$here/linked_client.c" -o "$work/c/client" -L"$work/c" -lonnxruntime \
    || { echo "c: FAILED to build"; failed=$((failed + 1)); return; }
  LD_LIBRARY_PATH=$work/c "$work/c/client" "$work/models/add.onnx" >"$work/c.theirs" 2>&1
  LD_LIBRARY_PATH=$ours "$work/c/client" "$work/models/add.onnx" >"$work/c.ours" 2>&1
  compare c
}

client_node() {
  has node node npm || return
  mkdir -p "$work/node"
  (cd "$work/node" && npm install --ignore-scripts --no-audit --no-fund onnxruntime-node@1.30.0 >/dev/null 2>&1) \
    || { leave_out node "npm cannot install onnxruntime-node"; return; }
  node "$here/node_client.js" "$work/node" "$work/models" >"$work/node.theirs" 2>"$work/node.log"
  local library
  library=$(find "$work/node/node_modules/onnxruntime-node/bin" -path '*linux/x64*' -name 'libonnxruntime.so*' | head -n 1)
  replace "$library"
  node "$here/node_client.js" "$work/node" "$work/models" >"$work/node.ours" 2>>"$work/node.log"
  compare node
}

replace() {  # FILE: our library in its place, with what it needs beside it
  rm -f "$1"
  cp -L "$ours/libonnxruntime.so.1" "$1"
  ln -sf "$build/lib/libtessera.so.1" "$(dirname "$1")/libtessera.so.1"
}

client_java() {
  has java java javac curl unzip || return
  mkdir -p "$work/java/classes" "$work/java/native"
  local jar=$work/java/onnxruntime.jar
  curl -fsSL -o "$jar" "${MAVEN_REPOSITORY:-https://repo1.maven.org/maven2}/com/microsoft/onnxruntime/onnxruntime/1.29.0/onnxruntime-1.29.0.jar" \
    || { leave_out java "the package cannot be had"; return; }
  javac -cp "$jar" -d "$work/java/classes" "$here/JavaClient.java" || { echo "java: FAILED to build"; failed=$((failed + 1)); return; }
  java -cp "$jar:$work/java/classes" JavaClient "$work/models" >"$work/java.theirs" 2>"$work/java.log"
  unzip -qjo "$jar" 'ai/onnxruntime/native/linux-x64/*' -d "$work/java/native"
  replace "$work/java/native/libonnxruntime.so"
  java -Donnxruntime.native.path="$work/java/native" -cp "$jar:$work/java/classes" JavaClient "$work/models" \
    >"$work/java.ours" 2>>"$work/java.log"
  compare java
}

client_rust() {
  local theirs
  has rust cargo && theirs=$(genuine) || { leave_out rust "ONNX Runtime's library cannot be had"; return; }
  cp -r "$here/rust" "$work/rust"
  (cd "$work/rust" && cargo build --quiet --release) || { leave_out rust "the crate cannot be built"; return; }
  ORT_DYLIB_PATH=$theirs "$work/rust/target/release/client" "$work/models" >"$work/rust.theirs" 2>"$work/rust.log"
  ORT_DYLIB_PATH=$ours/libonnxruntime.so.1 "$work/rust/target/release/client" "$work/models" >"$work/rust.ours" 2>>"$work/rust.log"
  compare rust
}

# The crate's own tests, of its published sources. What they read of the repository's data is made anew.
client_rust_tests() {
  local theirs crate
  has rust_tests cargo python3 && theirs=$(genuine) || { leave_out rust_tests "ONNX Runtime's library cannot be had"; return; }
  [ -d "$work/rust" ] || cp -r "$here/rust" "$work/rust"
  (cd "$work/rust" && cargo fetch --quiet) || { leave_out rust_tests "the crate cannot be had"; return; }
  crate=$(cd "$work/rust" && cargo metadata --format-version 1 2>/dev/null | python3 -c '
import json, sys
print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "ort"))')
  cp -r "$(dirname "$crate")" "$work/ort"
  [ -d "$work/venv" ] || python3 -m venv "$work/venv"
  "$work/venv/bin/pip" -q install onnx numpy onnxruntime==1.31.1 >&2 && mkdir -p "$work/ort/tests/data" \
    && "$work/venv/bin/python" "$here/rust_test_data.py" "$work/ort/tests/data" \
    || { leave_out rust_tests "its data cannot be made"; return; }
  local tests=(cargo test --lib --no-default-features --features std,ndarray,half,num-complex,load-dynamic,api-31,tracing)
  (cd "$work/ort" && "${tests[@]}" --quiet --no-run >&2) || { leave_out rust_tests "the crate's tests cannot be built"; return; }
  local side library
  for side in theirs ours; do
    library=$theirs
    [ $side = theirs ] || library=$ours/libonnxruntime.so.1
    (cd "$work/ort" && ORT_DYLIB_PATH=$library "${tests[@]}" -- --test-threads 1 2>>"$work/rust_tests.log") \
      | grep '^test .* \.\.\. ' | sort >"$work/rust_tests.all.$side"
  done
  # What fails on their library says nothing of ours. Clients' operators and models that are edited or compiled follow.
  grep ' ok$' "$work/rust_tests.all.theirs" | grep -Ev ' (operator|editor|compiler|value::r#type)::' >"$work/rust_tests.theirs"
  grep -Ff <(sed 's/ok$//' "$work/rust_tests.theirs") "$work/rust_tests.all.ours" >"$work/rust_tests.ours"
  compare rust_tests
}

mkdir -p "$work/models"
"$build/bin/abi_write_models" "$work/models" || { echo "build the target abi_write_models first"; exit 2; }
for client; do
  "client_$client"
done
echo "$passed passed, $failed failed, $left_out left out"
[ "$failed" = 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77  # nothing was there to be tried
