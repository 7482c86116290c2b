package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestWithAllowedBy(t *testing.T) {
	written := &v1alpha1.Environment{}
	ephemeral := &v1alpha1.Environment{Spec: v1alpha1.EnvironmentSpec{Ephemeral: &v1alpha1.EphemeralEnvironment{}}}
	for name, tc := range map[string]struct {
		hasKey    bool
		unlabeled []*v1alpha1.Environment
		want      map[string]string
	}{
		"a namespace with an APIKey":           {true, nil, map[string]string{"a": "b"}},
		"an APIKey and an Environment":         {true, []*v1alpha1.Environment{written}, map[string]string{"a": "b"}},
		"neither an APIKey nor an Environment": {false, nil, map[string]string{"a": "b", "postflight.dev/allowed-by": "trigger"}},
		"an Environment": {false, []*v1alpha1.Environment{written},
			map[string]string{"a": "b", "postflight.dev/allowed-by": "environment"}},
		"an ephemeral one without the label beside it": {false, []*v1alpha1.Environment{written, ephemeral},
			map[string]string{"a": "b", "postflight.dev/allowed-by": "trigger"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
			if diff := cmp.Diff(tc.want, WithAllowedBy(j, tc.hasKey, tc.unlabeled).Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if got := j.Spec.Template.Labels; len(got) > 0 {
				t.Errorf("the pods have labels: %v", got)
			}
		})
	}
}
