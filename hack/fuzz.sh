#!/usr/bin/env bash
# Runs every native fuzz target for a time (10s) or a number of inputs (5000x). `go test` takes one
# target at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
budget=${1:-10s}
for file in $(grep -rlE '^func Fuzz[A-Z]' --include=*_test.go api client cmd controllers internal); do
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' "$file"); do
    package=./$(dirname "$file")
    if ! out=$(go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$budget" 2>&1); then
      printf '%s\n' "$out"
      echo "fuzz: $target of $package failed; the input is now in its testdata/fuzz, and `go test` runs it" >&2
      exit 1
    fi
    echo "fuzzed $target of $package: $(grep -oE 'execs: [0-9]+' <<<"$out" | tail -n 1)"
  done
done
