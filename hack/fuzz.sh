#!/usr/bin/env bash
# Runs every native fuzz target for a time (10s) or a number of inputs (5000x). `go test` takes one
# target at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
budget=${1:-10s}
grep -roE --include=*_test.go '^func Fuzz[A-Za-z0-9_]+' api client cmd controllers internal | while IFS=: read -r file target; do
  target=${target#func } package=./$(dirname "$file")
  if ! out=$(go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$budget" 2>&1 </dev/null); then
    printf '%s\n' "$out"
    echo "fuzz: $target of $package failed; the input is now in its testdata/fuzz, and \`go test\` runs it" >&2
    exit 1
  fi
  echo "fuzzed $target of $package: $(grep -oE 'execs: [0-9]+' <<<"$out" | tail -n 1)"
done
