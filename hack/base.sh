#!/usr/bin/env bash
# Prints the commit before a change: $CI_BASE, or else the last one that is older than the given number of hours, or else the one
# before the last commit. Prints nothing if the history does not reach so far back.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${CI_BASE:-}
if [ -z "$base" ]; then
  base=$(git rev-list --max-count=1 --before="$1 hours ago" HEAD)
  [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse HEAD^ 2>/dev/null) || base=
fi
if [ -n "$base" ] && git cat-file -e "$base^{commit}" 2>/dev/null; then
  echo "$base"
fi
