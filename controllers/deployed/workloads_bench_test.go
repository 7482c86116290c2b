package deployed_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// BenchmarkWorkloads watches the Deployments of a namespace, of which an Environment names one, and prints by how much the heap grew, how
// often they were listed, how many requests there are while nothing changes, and how long after its last status the rollout of that one is
// in the status of the Environment. That counts the time in which the test asks for it, every tenth of a second.
func BenchmarkWorkloads(b *testing.B) {
	const workloads = 1000
	w := world.Empty(b)
	w.HasTeam()
	staging := build.Environment("staging")
	w.Create(staging, build.Grant("ClusterRole", world.WorkloadsReader))
	w.Parallel(workloads, func(i int) error {
		d := usualDeployment(fmt.Sprintf("web-%04d", i), build.Commit(1))
		d.Namespace = w.NS
		return w.Client.Create(b.Context(), d)
	})
	w.StartManager()
	for b.Loop() {
		before := world.Heap()
		w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web-0000"})
		w.HasDeployed(staging, " false 11111111 comes: ")
		after := world.Heap()
		grown := after - min(before, after)
		d := &appsv1.Deployment{}
		w.Must(w.Client.Get(b.Context(), w.Key("web-0000"), d))
		w.RollsOut(d)
		ready := time.Now()
		w.HasDeployed(staging, build.Commit(1)+" true")
		seconds, lists := time.Since(ready).Seconds(), w.Wire.Count("GET deployments")
		fmt.Printf("WORKLOADS watched=%d heap_mib=%.1f bytes_per_workload=%d status_seconds=%.2f lists=%d idle_requests_per_second=%.2f\n",
			workloads, float64(grown)/(1<<20), grown/workloads, seconds, lists, w.Wire.PerSecond())
		w.NamesWorkloads(staging)
		w.Await("nothing is named", staging, func() bool { return len(staging.Status.Conditions) == 0 })
		runtime.GC()
	}
}

// usualDeployment has what people write: variables, probes, volumes and limits.
func usualDeployment(name, sha string) *appsv1.Deployment {
	d := build.Deployment(name, sha)
	c := &d.Spec.Template.Spec.Containers[0]
	for i := range 40 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: strings.Repeat("value", 12)})
	}
	for i := range 8 {
		mount := fmt.Sprintf("volume-%d", i)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: mount, MountPath: "/mnt/" + mount})
		d.Spec.Template.Spec.Volumes = append(d.Spec.Template.Spec.Volumes, corev1.Volume{Name: mount, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	d.Annotations["meta.helm.sh/release-name"] = "shop"
	return d
}
