#!/usr/bin/env bash
# oclgrind.sh TESTS FILTER
# Runs those unit tests on the simulated device of oclgrind, which reports reads and writes outside buffers and local memory, and
# data races between work items. To the provider it is a GPU: kernels for GPUs are what is checked.
set -u
if ! command -v oclgrind > /dev/null; then
  echo "skipped: oclgrind is not installed"
  exit 77
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
oclgrind --data-races --max-errors 20 --log "$log" "$1" --gtest_filter="$2"
status=$?
if [ -s "$log" ]; then
  cat "$log"
  exit 1
fi
exit $status
