#!/usr/bin/env bash
# Fails where a generated file, a go.mod, a script or the code is wrong, and says how to fix it. With `all`, it also looks at the
# modules that the gate does not check.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(. hack/cluster hack/store hack/tools hack/tools/lint)
linted=()
if [ "${1:-}" = all ]; then
  mapfile -t modules < <(git ls-files '*go.mod' | xargs -n 1 dirname)
  linted=(hack/dev hack/release test/signin test/sigstore)
fi

echo "==> generated files"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
hack/generate.sh "$scratch" "$@"
(cd "$scratch" && find . -type f) | while read -r file; do
  diff -u "$file" "$scratch/$file" || { echo "verify: $file is not what the code generates: run make generate" >&2; exit 1; }
done

echo "==> modules"
for mod in "${modules[@]}"; do
  (cd "$mod" && go mod tidy -diff) || { echo "verify: $mod/go.mod is not tidy: run make tidy" >&2; exit 1; }
done

echo "==> shell scripts"
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
bin/shellcheck "${scripts[@]}"

echo "==> lint and import rules"
export GOGC=off GOMEMLIMIT=3GiB # as for compilers in the Makefile; it holds all packages at once
bin/golangci-lint run --allow-serial-runners ./...
hack/imports.sh
for mod in "${linted[@]}"; do
  (cd "$mod" && ../../bin/golangci-lint run --allow-serial-runners --config ../../.golangci.yml ./...)
done
