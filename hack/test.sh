#!/usr/bin/env bash
# Runs every test of every module, then prints their figures and totals.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .test
runner=$PWD/bin/gotestsum
status=0

run() { # folder, results, packages to begin with
  (cd "$1" && "$runner" --format pkgname --format-hide-empty-pkg --jsonfile "$2" -- -count=1 -timeout 45m "${@:3}" ./...) || status=1
}

echo "==> fuzzing"
hack/fuzz.sh 5000x || status=1
echo "==> tests of the development cluster"
run hack/dev "$PWD/.test/dev.json"
echo "==> tests of a release"
run hack/release "$PWD/.test/release.json"
echo "==> tests of signing in with a provider"
run test/signin "$PWD/.test/signin.json"
# Managers of tests end if anything changes an object that their cache keeps.
export KUBE_CACHE_MUTATION_DETECTOR=true
echo "==> tests (unit, real API server; real pods if this machine can run them)"
# The longest begin first, or the others would leave them a processor at the end. Pods of test/e2e change the network of
# this machine, for which Chromium breaks off what it loads: internal/ui ends before.
run . "$PWD/.test/main.json" ./internal/ui ./controllers ./test/e2e ./test/replicas
hack/summary.sh .test/dev.json .test/release.json .test/signin.json .test/main.json
exit $status
