package suite_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
)

// TestLimitRanges: a real API server takes the pods of runs in namespaces with LimitRanges, whose jobTemplate keeps to them. What cannot
// fit ends as Error at once, with the numbers and the name of the container.
func TestLimitRanges(t *testing.T) {
	for name, tc := range map[string]struct {
		limits string // of the LimitRange
		want   string // in the message of the Error; "": the API server takes the pod
	}{
		"min and max":          {`[{type: Container, min: {cpu: 50m, memory: 64Mi}, max: {cpu: 500m, memory: 2Gi}}]`, ""},
		"ratio":                {`[{type: Container, maxLimitRequestRatio: {cpu: "4", memory: "4"}}]`, ""},
		"ratio, min and max":   {`[{type: Container, maxLimitRequestRatio: {cpu: "1.5", memory: "1"}, min: {cpu: 10m}, max: {cpu: 300m, memory: 512Mi}}]`, ""},
		"defaults":             {`[{type: Container, default: {cpu: 200m, memory: 300Mi}, defaultRequest: {cpu: 200m, memory: 300Mi}}]`, ""},
		"of the pod":           {`[{type: Pod, max: {cpu: 700m, memory: 1Gi}}]`, ""},
		"ratio of the pod":     {`[{type: Pod, maxLimitRequestRatio: {cpu: "2", memory: "2"}}]`, ""},
		"min of the pod":       {`[{type: Pod, min: {cpu: 100m, memory: 64Mi}}]`, ""},
		"two":                  {`[{type: Container, max: {cpu: 500m, memory: 1Gi}}, {type: Pod, maxLimitRequestRatio: {cpu: "5"}, max: {cpu: 800m, memory: 1Gi}}]`, ""},
		"of claims":            {`[{type: PersistentVolumeClaim, max: {storage: 1Gi}}]`, ""},
		"too little memory":    {`[{type: Container, max: {memory: 250Mi}}]`, `The pod cannot start: the container postflight-collect of Postflight needs 256Mi of memory, and the LimitRange "limits" leaves 250Mi for it. Raise that limit`},
		"too small for both":   {`[{type: Pod, max: {memory: 300Mi}}]`, `postflight-collect of Postflight needs 256Mi of memory, and the LimitRange "limits" leaves 100Mi`},
		"too little processor": {`[{type: Container, max: {cpu: 5m}}]`, `postflight-collect of Postflight needs 10m of cpu, and the LimitRange "limits" leaves 5m`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.Empty(t)
			w.HasTeam()
			w.Create(build.Environment("staging"))
			l := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "limits"}}
			w.Must(yaml.Unmarshal([]byte(tc.limits), &l.Spec.Limits))
			w.Create(l)
			tr := build.Trigger("smoke")
			tr.Spec.Results = &v1alpha1.Results{}
			both := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("200Mi")}
			tr.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: both, Limits: both}
			w.Create(tr)
			w.Collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
			w.StartManager()
			w.Create(build.Suite("run", 0))
			if tc.want != "" {
				w.Reaches("run", v1alpha1.ReasonError, tc.want)
				return
			}
			p := fakecluster.NewPod(w.HasJob("run"), w.NodeName)
			if err := w.Client.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			for _, c := range p.Spec.InitContainers {
				if c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().Cmp(resource.MustParse("64Mi")) < 0 {
					t.Errorf("%s has %v", c.Name, c.Resources)
				}
			}
		})
	}
}
