// Package crds pins the modules with the CRDs that manifests of the chart and of integrations are tested on. It has no code.
package crds

import (
	_ "github.com/akuity/kargo/pkg/component"
	_ "github.com/argoproj/argo-rollouts/pkg/apis/rollouts"
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/fluxcd/flagger/pkg/apis/flagger"
	_ "github.com/openshift/api/route/v1"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/gateway-api/apis/v1"
)
