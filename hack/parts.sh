#!/usr/bin/env bash
# Prints the parts of `make test-all` that a change needs, by hack/parts.txt. The change begins at the commit $CI_BASE, or else with
# the commits of the last six hours: a push is tested soon after its commits are written. If the history does not reach so
# far back, all parts are printed.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${CI_BASE:-}
if [ -z "$base" ]; then
  base=$(git rev-list --max-count=1 --before='6 hours ago' HEAD)
  [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse HEAD^ 2>/dev/null) || base=
fi
changed=$(git diff --name-only --no-renames "$base" HEAD 2>/dev/null) || changed=
known=$(git cat-file -e "$base^{commit}" 2>/dev/null && echo yes) || known=no
grep -vE '^(#|$)' hack/parts.txt | while read -r path part; do
  if [ "$known" != yes ] || awk -v path="$path" 'index($0, path) == 1 { found = 1 } END { exit !found }' <<<"$changed"; then
    echo "$part"
  fi
done | sort -u
