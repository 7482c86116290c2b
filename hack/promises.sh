#!/usr/bin/env bash
# Checks that the gate has run the tests which docs/development.md names as proofs, and that they passed. Arguments are the JSON files
# of the runner. A machine that cannot run all of them is told so; in CI, that is a failure.
# shellcheck disable=SC2016 # the backticks are those of Markdown
set -euo pipefail
passed=$(grep -hF '"Action":"pass"' "$@" | sed -nE 's|.*"Package":"[^"]*-dev/postflight/([^"]*)","Test":"(Test[A-Za-z0-9_]*)".*|\1 \2|p' | sort -u)
proofs=$(sed -n '/^## What proves what$/,/^## The documentation/p' docs/development.md |
  grep -oE '(`Test[A-Za-z0-9_]+`,? )+\(`[a-z0-9/]+`\)' |
  while read -r proof; do
    package=$(sed -E 's|.*\(`(.*)`\)|\1|' <<<"$proof")
    grep -oE 'Test[A-Za-z0-9_]+' <<<"$proof" | sed "s|^|$package |"
  done | sort -u)
missing=$(comm -13 <(echo "$passed") <(echo "$proofs"))
if [ -z "$missing" ]; then
  printf '\n==> all %d tests passed that prove the promises of the README\n' "$(wc -l <<<"$proofs")"
  exit
fi
printf '\n==> these tests prove promises of the README, and did not pass here:\n%s\n' "$missing"
[ "${CI:-}" != true ]
