#!/usr/bin/env bash
# Generates deep copies, CRDs, RBAC, docs/reference and parts of the chart into the tree at $1, from the code here. With `all`,
# also the README of the chart, which needs a tool that the gate does not build.
set -euo pipefail
cd "$(dirname "$0")/.."
into=$1
# Descriptions have a maximum length, because those of the embedded JobTemplateSpec would make the CRD too
# large for one object. Ours are shorter.
bin/controller-gen object paths=./api/... output:object:dir="$into/api/v1alpha1"
bin/controller-gen crd:generateEmbeddedObjectMeta=true,maxDescLen=400 paths=./api/... output:crd:dir="$into/config/crd/bases"
# The API server must accept only what Go can decode: one other object would stop the caches of all teams. And
# kubectl must be able to apply the CRDs without --server-side.
go run ./hack/crdtighten "$into/config/crd/bases"
bin/controller-gen rbac:roleName=postflight-manager paths=./controllers/... paths=./internal/server/... paths=./cmd/manager/... output:rbac:dir="$into/config/rbac"

go run ./hack/reference "$into"

# The chart has copies of what it wraps: Helm reads no files outside a chart.
chart=$into/charts/postflight/files
mkdir -p "$chart/crd" "$chart/rbac" "$chart/policy" "$chart/monitoring"
cp "$into"/config/crd/bases/*.yaml "$chart/crd/"
cp "$into/config/rbac/role.yaml" "$chart/rbac/"
for name in aggregate_roles credentials_reader_role hub_role leader_election_role metrics_reader_role notifier_role role_binding session_secret workloads_reader_role; do
  cp "config/rbac/$name.yaml" "$chart/rbac/"
done
cp config/policy/{jobs_by_proxy,manager}.yaml "$chart/policy/"
cp config/monitoring/prometheus_rule.yaml "$chart/monitoring/"
[ "${2:-}" = all ] || exit 0
bin/helm-docs --dry-run --log-level=warning --chart-search-root=charts > "$chart/../README.md"
