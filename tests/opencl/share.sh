#!/usr/bin/env bash
# share.sh PROVIDER PERCENT RUNNER ARGUMENTS...
# Runs the conformance cases, of which the provider must run at least so many from end to end.
set -u -o pipefail
provider=$1 percent=$2
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" | tee "$log" || exit 1
awk -v provider="$provider" -v percent="$percent" '
  $1 == provider { whole = $9; all = $8 == "cases," ? $7 : 0 }
  END {
    printf "%d of %d cases are whole on %s; %d %% are expected\n", whole, all, provider, percent
    exit all == 0 || whole * 100 < all * percent
  }' "$log"
