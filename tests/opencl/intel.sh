#!/usr/bin/env bash
# intel.sh RUNNER INSPECT TESTS DRIVER CASES
# Node cases on Intel's OpenCL driver for processors, for its compiler and its halves; then the kernels for GPUs: with operands rounded to
# half, and unit tests of those that sum four products of bytes at once. DRIVER: where tools/install_test_drivers.sh has put it.
set -eu
readonly runner=$1 inspect=$2 tests=$3 driver=$4 cases=$5
export OCL_ICD_VENDORS=$driver/vendors LD_LIBRARY_PATH=$driver/lib
if [ ! -d "$driver/vendors" ] || ! "$inspect" --devices | grep -q 'device: .*Intel.*, fp16'; then
  echo "skipped: Intel's OpenCL driver is not installed, or finds no processor that it serves"
  exit 77
fi
run() { "$runner" -e opencl -j 2 --isolate --timeout 300 "$@" "$cases"; }
run --least-share 90 -n "float16|fp16|conv|matmul|gemm|attention|lstm|gru|rnn|gelu|norm|quantize"
"$tests" --gtest_brief=1 --gtest_filter='*OpenclQuantizedTest.*/tiles:-*FewBits*'
# Halves have 11 bits.
run --least-share 90 -i "kernels|tiles enable_fp16|1" -t 1e-2 -a 1e-2 -n "conv|gemm|matmul|attention"
