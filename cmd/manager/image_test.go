package main

import (
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestImageOfPods: with a store, a manager that does not know its image does not start; without one, it does.
func TestImageOfPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "postflight-system", Name: "manager-1"}}
	pod.Spec.Containers = []corev1.Container{{Name: "manager", Image: "registry.example.com/postflight:1"}, {Name: "proxy", Image: "proxy:1"}}
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(pod).Build()
	for name, tc := range map[string]struct {
		flag, pod, store string
		want             string
		fails            bool
	}{
		"the flag":                       {flag: "postflight:2", pod: "manager-1", want: "postflight:2"},
		"its own":                        {pod: "manager-1", want: "registry.example.com/postflight:1"},
		"outside of a pod":               {},
		"of a pod that is gone":          {pod: "manager-2"},
		"its own, with a store":          {pod: "manager-1", store: "files", want: "registry.example.com/postflight:1"},
		"outside of a pod, with a store": {store: "files", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAME", tc.pod)
			t.Setenv("POD_NAMESPACE", "postflight-system")
			o := options{}
			o.store.image, o.store.Bucket = tc.flag, tc.store
			got, err := imageOfPods(t.Context(), c, logr.Discard(), o)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
