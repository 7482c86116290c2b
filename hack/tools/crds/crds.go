// Package crds pins the modules with the CRDs that manifests of the chart are tested on. It has no code.
package crds

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/openshift/api/route/v1"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/gateway-api/apis/v1"
)
