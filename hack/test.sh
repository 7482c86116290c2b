#!/usr/bin/env bash
# The gate: what each change must pass. It leaves out what only `make test-all` runs (-short), and no clock decides in it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
{ # read whole, so that an edit does not change a run
mkdir -p .test
rm -f .test/gate-*.json
status=0

setsid hack/verify.sh >.test/verify.log 2>&1 &
verify=$!
trap 'kill -- "-$verify"; exit 130' INT TERM

# golangci-lint has the checks of go vet. Most tests wait most of the time, so more run at once than there are processors; the
# limit of a package ends one that hangs.
run() { # results, packages
  bin/gotestsum --format pkgname --format-hide-empty-pkg --jsonfile ".test/gate-$1.json" -- \
    -short -vet=off -p 4 -parallel 16 -timeout 15m "${@:2}" || status=1
}

# Managers of tests end if anything changes an object that their cache keeps.
export KUBE_CACHE_MUTATION_DETECTOR=true
echo "==> tests, and beside them make verify"
# Pods change the network of this machine, for which Chromium breaks off what it loads: internal/server/pages ends before. The
# longest begin first.
waiting='/(test/(e2e|replicas|hub)|controllers(/[a-z]+)?)$'
all=$(go list ./...) || exit
mapfile -t packages < <(grep -vE "$waiting" <<<"$all")
run first ./internal/server/pages ./cmd/manager ./api/v1alpha1 "${packages[@]}"
mapfile -t packages < <(grep -E "$waiting" <<<"$all")
run last ./test/e2e ./test/replicas ./test/hub ./controllers/suite "${packages[@]}"

wait "$verify" || status=1
echo "==> make verify"
cat .test/verify.log
hack/promises.sh .test/gate-*.json || status=1
hack/summary.sh GATE "$status" .test/gate-*.json
exit "$status"
}
