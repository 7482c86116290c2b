#!/usr/bin/env bash
# Runs all tests, or the parts of them that are named. hack/parts.txt says which files are of which part.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
{ # read whole, so that an edit does not change a run
mkdir -p .test
rm -f .test/all-*.json
status=0
parts=("$@")
[ $# -gt 0 ] || parts=(modules fuzz packages cluster release signin sigstore monitoring chart peers pages pods replicas hub figures)

build() { make "$@" || { status=1; return 1; }; }

run() { # part, folder of the module, packages
  (cd "$2" && "$OLDPWD/bin/gotestsum" --format pkgname --format-hide-empty-pkg --jsonfile "$OLDPWD/.test/all-$1.json" -- \
    -count=1 -timeout 60m "${@:3}") || status=1
}

# Everything that no other part has.
packages() {
  local all
  mapfile -t all < <(go list ./... | grep -vE '/(internal/server/pages|test/(e2e|replicas|hub|chart|monitoring|peers))$')
  [ ${#all[@]} -gt 0 ] || status=1
  run packages . "${all[@]}"
}

# A change is compared with the commit before it, a night with the last release. $BASE is another commit.
figures() {
  local base=${BASE:-} how=(--when night --time 70m)
  if [ -n "${POSTFLIGHT_TEST_CHANGE:-}" ]; then
    how=(--when change --time 4m)
    base=${base:-$(hack/base.sh 6)}
  fi
  base=${base:-$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null || hack/base.sh 24)}
  if [ -z "$base" ]; then
    echo "figures: there is no older commit to compare with. If the clone is shallow, fetch its history."
  else
    bin/figures compare --base "$base" "${how[@]}" || status=1
  fi
}

trap 'exit 130' INT TERM
# Managers of tests end if anything changes an object that their cache keeps.
export KUBE_CACHE_MUTATION_DETECTOR=true
for part in "${parts[@]}"; do
  echo "==> $part"
  case $part in
    modules) make verify-all || status=1 ;;
    fuzz) hack/fuzz.sh 5000x || status=1 ;;
    packages) build assets bin/helm bin/prometheus bin/promtool && packages ;;
    cluster) build assets && run cluster hack/dev ./... ;;
    release) build assets bin/helm && run release hack/release ./... ;;
    signin) build assets && run signin test/signin ./... ;;
    sigstore) run sigstore test/sigstore ./... ;;
    monitoring) build assets bin/prometheus bin/promtool && run monitoring . ./test/monitoring ;;
    chart) build assets bin/helm && run chart . ./test/chart ;;
    peers) build assets peers && run peers . ./test/peers ;;
    # Pods change the network of this machine, for which Chromium breaks off what it loads, so these are not run at once.
    pages) build assets && run pages . ./internal/server/pages ;;
    pods) build assets bin/dev && run pods . ./test/e2e ;;
    replicas) build assets && run replicas . ./test/replicas ;;
    hub) build assets && run hub . ./test/hub ;;
    figures) build assets manager bin/figures && figures ;;
    *)
      echo "test-all: there is no part $part" >&2
      exit 2
      ;;
  esac
done
shopt -s nullglob
hack/summary.sh ALL "$status" .test/all-*.json /dev/null
exit "$status"
}
