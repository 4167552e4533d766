#!/usr/bin/env bash
# compile_programs.sh RECORDER TESTS FILTER
# Compiles every program that those unit tests make with clang, for an imagined device that knows no more than OpenCL C 1.2 and does not
# inline, and GEMMs in half (cl_khr_fp16), which the device at hand may lack. Nothing may be left that a driver's linker would look
# for in vain: the language's own functions have mangled names, ours must be defined.
set -u
clang=$(compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -1)
[ -n "$clang" ] || clang=$(command -v clang)
if [ -z "$clang" ]; then
  echo "skipped: clang is not installed"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LD_PRELOAD=$1 TESSERA_RECORD_PROGRAMS=$folder "$2" --gtest_filter="$3" > "$folder/log" || { cat "$folder/log"; exit 1; }
compile() {  # FILE OPTIONS...
  local file=$1 ir
  shift
  if ! ir=$("$CLANG" -target spir64-unknown-unknown -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -O0 -emit-llvm -S -w "$@" -o - "$file"); then
    echo "$file $*: does not compile"
    return 1
  fi
  if grep -E '^declare .*@' <<< "$ir" | grep -vE '@(_Z|llvm\.)'; then
    echo "$file $*: is not defined"
    return 1
  fi
}
compile_all() {
  compile "$1" || return
  # GEMMs of floats by tiles are made of halves where enable_fp16 asks.
  if grep -q '^// Matmuls on GPUs' "$1" && grep -q '^#define TX float' "$1"; then compile "$1" -DHALF; fi
}
export CLANG=$clang
export -f compile compile_all
count=$(find "$folder" -name '*.cl' | wc -l)
echo "$count programs"
[ "$count" -gt 0 ] && find "$folder" -name '*.cl' -print0 | xargs -0 -n 1 -P 2 bash -c 'compile_all "$0" || exit 255'
