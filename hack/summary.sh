#!/usr/bin/env bash
# Prints the figures and the totals of the tests, from the JSON files of the runner.
set -euo pipefail
figures=$(grep -hoE '"Output":"[A-Z][A-Z0-9_]+ [a-z_]+=[^"\\]*' "$@" | sed 's/^"Output":"//' || true)
[ -z "$figures" ] || printf '\n==> figures\n%s\n\n' "$figures"
count() { cat "${@:2}" | grep -F "\"Action\":\"$1\"" | grep -cF '"Test":"' || true; }
echo "$(count pass "$@") passed, $(count fail "$@") failed, $(count skip "$@") skipped"
