#!/usr/bin/env bash
# Fails where a generated file, a go.mod or the code is wrong, and says how to fix it.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "==> generated files"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
hack/generate.sh "$scratch"
(cd "$scratch" && find . -type f) | while read -r file; do
  diff -u "$file" "$scratch/$file" || { echo "verify: $file is not what the code generates: run make generate" >&2; exit 1; }
done

echo "==> modules"
for mod in . hack/cluster hack/coredns hack/dev hack/release hack/store hack/tools hack/tools/crds hack/tools/helm hack/tools/helmdocs hack/tools/lint hack/tools/prometheus hack/tools/vuln test/signin; do
  (cd "$mod" && go mod tidy -diff) || { echo "verify: $mod/go.mod is not tidy: run make tidy" >&2; exit 1; }
done

echo "==> names in comments and pages"
go test ./test/config -run '^(TestNamesIn|TestImportRules)'

echo "==> lint and import rules"
bin/golangci-lint run ./...
for mod in hack/dev hack/release test/signin; do
  (cd "$mod" && ../../bin/golangci-lint run --config ../../.golangci.yml ./...)
done
