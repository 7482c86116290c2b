#!/usr/bin/env bash
# Runs every native fuzz target for the time given. `go test` takes one target at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}
grep -rlE '^func Fuzz[A-Z]' --include=*_test.go api client cmd controllers internal 2>/dev/null | while read -r file; do
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' "$file"); do
    echo "==> $target ($(dirname "$file"), $time)"
    go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" </dev/null | tail -n 2
  done
done
