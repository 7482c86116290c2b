#!/usr/bin/env bash
# Fails for a commit since $1 whose subject is longer than 72 characters, or that has no body: the body says why.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
for commit in $(git rev-list --no-merges "$1..HEAD"); do
  subject=$(git log -1 --format=%s "$commit")
  if [ "${#subject}" -gt 72 ]; then
    echo "commits: ${commit:0:8} \"$subject\": the subject has ${#subject} characters, and 72 are allowed" >&2
    failed=1
  fi
  body=$(git log -1 --format=%b "$commit")
  if ! grep -qvE '^([A-Z][A-Za-z-]+: .*)?$' <<<"$body"; then # trailers are no reason
    echo "commits: ${commit:0:8} \"$subject\" has no body: say why (git commit --amend, git rebase -i)" >&2
    failed=1
  fi
done
exit "$failed"
