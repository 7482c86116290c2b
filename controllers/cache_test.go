package controllers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestStripSuite: the cache keeps the fields that a Job is built from until the run has ended.
func TestStripSuite(t *testing.T) {
	cases := map[string]struct {
		condition metav1.Condition
		want      int
	}{
		"running":  {v1alpha1.Running("The tests are running."), 1},
		"finished": {v1alpha1.Passed("The tests passed."), 0},
	}
	for name, tc := range cases {
		s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
		s.Spec.Variables = v1alpha1.Variables{"BUILD": "large"}
		s.Status.Conditions = []metav1.Condition{tc.condition}
		if got := len(stripSuite(s).Spec.Variables); got != tc.want || s.ManagedFields != nil {
			t.Errorf("%s: %d variables are kept, want %d; managed fields: %v", name, got, tc.want, s.ManagedFields)
		}
	}
}
