#!/usr/bin/env bash
# Prints the parts of `make test-all` that a change needs, by hack/parts.txt. The change begins at the commit $CI_BASE, or else with
# the commits of the last six hours: a push is tested soon after its commits are written. If the history does not reach so
# far back, all parts are printed.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(hack/base.sh 6)
changed=$(git diff --name-only --no-renames "$base" HEAD 2>/dev/null) || changed=
grep -vE '^(#|$)' hack/parts.txt | while read -r path part; do
  if [ -z "$base" ] || awk -v path="$path" 'index($0, path) == 1 { found = 1 } END { exit !found }' <<<"$changed"; then
    echo "$part"
  fi
done | sort -u
