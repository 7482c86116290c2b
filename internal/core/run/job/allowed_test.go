package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWithAllowedBy(t *testing.T) {
	for name, tc := range map[string]struct {
		hasKey bool
		want   map[string]string
	}{
		"a namespace with an APIKey":    {true, map[string]string{"a": "b"}},
		"a namespace without an APIKey": {false, map[string]string{"a": "b", "postflight.dev/allowed-by": "trigger"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
			if diff := cmp.Diff(tc.want, WithAllowedBy(j, tc.hasKey).Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if got := j.Spec.Template.Labels; len(got) > 0 {
				t.Errorf("the pods have labels: %v", got)
			}
		})
	}
}
