package replicas

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// kubeconfigOf leads straight to the API server.
func kubeconfigOf(t testing.TB, c *rest.Config) string { return apiserver.Kubeconfig(t, c) }
