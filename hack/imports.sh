#!/usr/bin/env bash
# Shows that the import rules of .golangci.yml catch what they forbid in packages that they have never seen.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD module=github.com/postflight-dev/postflight
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp .golangci.yml "$scratch"
cd "$scratch"
printf 'module %s\n\ngo 1.26\n' "$module" >go.mod

package() { # folder, imports
  mkdir -p "$1"
  { printf 'package made\n'; printf 'import _ "%s"\n' "${@:2}"; } >"$1/made.go"
}
for folder in controllers/known internal/server/known internal/usecase/known internal/store/known internal/core/known; do
  mkdir -p "$folder"
  echo 'package known' >"$folder/known.go"
done
# Each imports one package that it may, and those that it must not.
package internal/core/made strings "$module/internal/core/known" context "$module/internal/usecase/known"
package internal/store/made context "$module/internal/core/known" "$module/internal/server/known"
package internal/usecase/made context "$module/internal/core/known" net/http "$module/internal/store/known"
package internal/server/made net/http "$module/internal/usecase/known" "$module/controllers/known"
package controllers/made context "$module/internal/core/known" net/http "$module/internal/server/known"
package cmd/postflight/made net/http "$module/internal/core/known" "$module/controllers/known"
want='cmd/postflight/made/made.go '$module'/controllers/known
controllers/made/made.go '$module'/internal/server/known
controllers/made/made.go net/http
internal/core/made/made.go context
internal/core/made/made.go '$module'/internal/usecase/known
internal/server/made/made.go '$module'/controllers/known
internal/store/made/made.go '$module'/internal/server/known
internal/usecase/made/made.go '$module'/internal/store/known
internal/usecase/made/made.go net/http'
got=$("$root/bin/golangci-lint" run --allow-serial-runners --enable-only depguard --output.text.print-issued-lines=false ./... |
  sed -nE "s/^([a-z/.]+):[0-9:]+ import '([^']+)' is not allowed.*/\1 \2/p" | sort) || true
diff <(sort <<<"$want") <(echo "$got") || { echo "imports: the rules of .golangci.yml do not catch just what they forbid (<)" >&2; exit 1; }
