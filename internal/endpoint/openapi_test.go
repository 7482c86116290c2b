package endpoint

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestOpenAPI(t *testing.T) {
	_, err := openapi3.NewLoader().LoadFromData(OpenAPI)
	if diff := cmp.Diff(nil, err); diff != "" {
		t.Error(diff)
	}
}
