#!/usr/bin/env bash
# Formats every C++ source of the tree by .clang-format; --check: says which are not, and changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run -Werror)
git ls-files -z '*.cpp' '*.h' | xargs -0 -P "$(nproc)" -n 40 clang-format-19 "${mode[@]}"
