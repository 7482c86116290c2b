#!/usr/bin/env bash
# Runs the benchmarks that compare, each beside what it is compared with, and prints their figures:
# one line each, NAME key=value ... Everything else they say goes to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

figures() { # package, benchmarks
  go test "$1" -run '^$' -bench "$2" -benchtime 1x -count 1 -timeout 30m |
    tee /dev/stderr | grep -E '^[A-Z][A-Z0-9_]+ [a-z_]+=' || { echo "bench: $1 printed no figure" >&2; exit 1; }
}

micro() { # package, benchmarks: the time of one call
  go test "$1" -run '^$' -bench "$2" -benchtime 1s -count 1 | grep -E '^Benchmark'
}

micro ./internal/notification .
micro ./internal/match BenchmarkIndexMatch
for pkg in $(grep -rlE '^func Benchmark' --include=*_test.go cmd controllers test internal/endpoint internal/greenlight 2>/dev/null | xargs -rn1 dirname | sort -u); do
  figures "./$pkg" .
done
