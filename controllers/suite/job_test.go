package suite

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestOfEarlier(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*metav1.OwnerReference)
		want   bool
	}{
		"an earlier Suite of the name":                  {func(*metav1.OwnerReference) {}, true},
		"one by a manager of another version":           {func(o *metav1.OwnerReference) { o.APIVersion = "postflight.dev/v1beta1" }, true},
		"this Suite":                                    {func(o *metav1.OwnerReference) { o.UID = "now" }, false},
		"a Suite of another name":                       {func(o *metav1.OwnerReference) { o.Name = "other" }, false},
		"another kind":                                  {func(o *metav1.OwnerReference) { o.Kind = "Trigger" }, false},
		"a Suite of another group":                      {func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1alpha1" }, false},
		"a Suite of a group whose name begins the same": {func(o *metav1.OwnerReference) { o.APIVersion = "postflight.dev.example.com/v1" }, false},
		"no controller":                                 {func(o *metav1.OwnerReference) { o.Controller = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			earlier := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "before"}}
			owner := metav1.NewControllerRef(earlier, v1alpha1.GroupVersion.WithKind("Suite"))
			tc.change(owner)
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", OwnerReferences: []metav1.OwnerReference{*owner}}}
			if got := ofEarlier(j, &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "now"}}); got != tc.want {
				t.Errorf("ofEarlier() = %t; want %t", got, tc.want)
			}
		})
	}
}
