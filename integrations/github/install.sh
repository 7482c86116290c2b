#!/usr/bin/env bash
# Installs the command line. Without INPUT_VERSION, it is built from the commit of this action, which GitHub has downloaded as a
# whole, so the ref in `uses` pins both. The action's ref is not asked for: inside another composite action, it is the ref of that.
set -euo pipefail

module=github.com/postflight-dev/postflight
source=$GITHUB_ACTION_PATH/../..
export GOBIN=$RUNNER_TEMP/postflight-bin GOTOOLCHAIN=auto GOWORK=off GOFLAGS=''

if [ -n "${INPUT_VERSION:-}" ]; then
  go install "$module/cmd/postflight@$INPUT_VERSION"
elif grep -qx "module $module" "$source/go.mod" 2> /dev/null; then
  # Without the history of Git: there is none in what GitHub downloads.
  go install -C "$source" -trimpath -buildvcs=false ./cmd/postflight
else
  echo "::error::This copy of the action is without its repository: set the input version to a commit or a release of Postflight."
  exit 3
fi
echo "$GOBIN" >> "$GITHUB_PATH"
