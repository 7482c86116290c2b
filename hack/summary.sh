#!/usr/bin/env bash
# Prints what the tests measured and their totals, from the JSON that the runner left in the files given.
set -euo pipefail
figures=$(grep -hoE '"Output":"[A-Z][A-Z0-9_]+ [a-z_]+=[^"\\]*' "$@" | sed 's/^"Output":"//' || true)
[ -z "$figures" ] || printf '\n==> measured on the way\n%s\n\n' "$figures"
count() { cat "${@:2}" | grep -F "\"Action\":\"$1\"" | grep -cF '"Test":"' || true; }
echo "$(count pass "$@") passed, $(count fail "$@") failed, $(count skip "$@") skipped"
