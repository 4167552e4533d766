#!/usr/bin/env bash
# Runs a program on an emulated processor: run.sh CPU PROGRAM ARGUMENTS... Exit code 77 where that is not possible.
set -euo pipefail

if [ "$(uname -m)" != x86_64 ] || ! command -v qemu-x86_64 >/dev/null; then
  echo "skipped: qemu-x86_64 (Debian's qemu-user) is not installed, or this is no x86-64 machine"
  exit 77
fi
exec qemu-x86_64 -cpu "$1" "${@:2}"
