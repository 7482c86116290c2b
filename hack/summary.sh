#!/usr/bin/env bash
# Prints the figures, the slowest packages, the time since $BEGAN and the totals of tests, from the JSON files of the runner.
set -euo pipefail
name=$1 status=$2
shift 2
figures=$(grep -hoE '"Output":"[A-Z][A-Z0-9_]+ [a-z_]+=[^"\\]*' "$@" | sed 's/^"Output":"//' || true)
[ -z "$figures" ] || printf '\n==> figures\n%s\n' "$figures"

printf '\n==> the five slowest packages, in seconds\n'
grep -hE '"Action":"(pass|fail)"' "$@" | grep -vF '"Test":"' |
  sed -nE 's|.*"Package":"[^"]*/postflight/([^"]*)".*"Elapsed":([0-9.]+).*|\2 \1|p' | sort -rn | head -n 5 || true # of parts without Go tests, there are none

count() { cat "${@:2}" | grep -F "\"Action\":\"$1\"" | grep -cF '"Test":"' || true; }
result=passed
[ "$status" = 0 ] || result=failed
now=$(date +%s)
printf '\n%s result=%s seconds=%d\n' "$name" "$result" $((now - ${BEGAN:-now}))
echo "$(count pass "$@") passed, $(count fail "$@") failed, $(count skip "$@") skipped"
