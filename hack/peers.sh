#!/usr/bin/env bash
# Builds programs of other projects into bin/peers, for test/peers: each as the main module that its project builds, because its go.mod
# replaces modules, which Go ignores in a dependency. The sum is that of the module, whose go.sum holds those of what it needs.
# minimalkueue and kueue-runner are Kueue's own benchmark. minimalkueue-unthrottled differs by the limit of its client alone.
#
#   hack/peers.sh cosign kyverno
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

peer() { # name -> module, version, sum, package
  case $1 in
    cosign) echo github.com/sigstore/cosign/v3 v3.1.3 h1:001JQRI/PJ/5T+g/kJ1KTvKFbb322+fomc+pHDZ/6sg= ./cmd/cosign ;;
    kueue) echo sigs.k8s.io/kueue v0.17.0 h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I= ./cmd/kueue ;;
    minimalkueue | minimalkueue-unthrottled)
      echo sigs.k8s.io/kueue v0.17.0 h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I= ./test/performance/scheduler/minimalkueue ;;
    kueue-runner)
      echo sigs.k8s.io/kueue v0.17.0 h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I= ./test/performance/scheduler/runner ;;
    kyverno) echo github.com/kyverno/kyverno v1.19.1 h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU= ./cmd/cli/kubectl-kyverno ;;
    opa) echo github.com/open-policy-agent/opa v1.22.4 h1:/sKtqt7GVSvXQn1sML2PSzl8tD/mTHF2pzQC3x1CV8k= . ;;
    rollouts-controller)
      echo github.com/argoproj/argo-rollouts v1.10.1 h1:6oyVPGiHHxu3ixkT6mngemh88HLPDoTX1IwO6KNR1Y4= ./cmd/rollouts-controller ;;
    tekton-controller)
      echo github.com/tektoncd/pipeline v1.15.1 h1:eCGlMonJr7OhiLaaykO/+qXZv15eijswriT7JrLW9aQ= ./cmd/controller ;;
    *) echo "peers: there is no peer $1" >&2; exit 2 ;;
  esac
}

mkdir -p bin/peers
for name in "$@"; do
  read -r module version sum package <<<"$(peer "$name")"
  stamp=bin/peers/.$name
  [ "$(cat "$stamp" 2>/dev/null)" != "$version" ] || continue
  echo "==> building $name $version (minutes the first time)"
  downloaded=$(cd / && GOFLAGS='' go mod download -json "$module@$version")
  field() { sed -n 's/^\t"'"$1"'": "\(.*\)",\{0,1\}$/\1/p' <<<"$downloaded"; }
  [ "$(field Sum)" = "$sum" ] || { echo "peers: the sum of $module is $(field Sum), not $sum" >&2; exit 1; }
  scratch=$(mktemp -d)
  trap '[ ! -d "$scratch" ] || { chmod -R u+w "$scratch" && rm -rf "$scratch"; }' EXIT
  cp -r "$(field Dir)/." "$scratch"
  chmod -R u+w "$scratch"
  if [ "$name" = minimalkueue-unthrottled ]; then
    sed -i 's/kubeConfig.QPS = 50$/kubeConfig.QPS = -1/' "$scratch/$package/main.go"
    grep -q 'kubeConfig.QPS = -1$' "$scratch/$package/main.go"
  fi
  (cd "$scratch" && GOWORK=off go build -ldflags='-s -w' -o "$root/bin/peers/$name" "$package")
  mkdir -p bin/peers/crds
  case $name in
    kueue)
      cp "$scratch"/config/components/crd/bases/*.yaml bin/peers/crds/
      cp "$scratch"/config/components/webhook/manifests.yaml bin/peers/kueue-webhooks.yaml
      ;;
    kueue-runner)
      mkdir -p bin/peers/kueue-scenario/crds
      cp "$scratch"/config/components/crd/bases/*.yaml bin/peers/kueue-scenario/crds/
      cp "$scratch"/test/performance/scheduler/configs/baseline/generator.yaml bin/peers/kueue-scenario/
      ;;
    tekton-controller)
      mkdir -p bin/peers/tekton
      cp "$scratch"/config/20*.yaml "$scratch"/config/300-crds/*.yaml "$scratch"/config/config-*.yaml bin/peers/tekton/
      ;;
    rollouts-controller) cp "$scratch"/manifests/crds/*.yaml bin/peers/crds/ ;;
  esac
  chmod -R u+w "$scratch" && rm -rf "$scratch"
  echo "$version" >"$stamp"
done
