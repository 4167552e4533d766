#!/usr/bin/env bash
# Runs a program on an emulated processor: run.sh CPU PROGRAM ARGUMENTS... Exit code 77 where that is not possible.
set -euo pipefail

if [ "$(uname -m)" != x86_64 ] || ! command -v qemu-x86_64 >/dev/null; then
  echo "skipped: qemu-x86_64 (Debian's qemu-user) is not installed, or this is no x86-64 machine"
  exit 77
fi

# A run of the unit tests takes ten minutes in all; one took thirty and did not end, others since do. Threads come and go by the hundred, and
# the emulator's own locks are under test here as well: it may hang once. The log has its last test, and without an emulator nothing may.
readonly HUNG_AFTER=850 HUNG=124
status=0
timeout --foreground "$HUNG_AFTER" qemu-x86_64 -cpu "$@" || status=$?
if [ "$status" = "$HUNG" ]; then
  echo "no end after $HUNG_AFTER s: once more"
  exec qemu-x86_64 -cpu "$@"
fi
exit "$status"
