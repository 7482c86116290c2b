package outcome

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodToDebug(t *testing.T) {
	failed := newPod(corev1.PodFailed, named("failed"), container("test", exit(1, 9, "")), container("browser", exit(0, 9, "")))
	browser := newPod(corev1.PodFailed, named("failed"), container("test", exit(0, 9, "")), container("browser", exit(1, 9, "")))
	migrate := newPod(corev1.PodFailed, named("failed"), initContainer("migrate", exit(1, 9, "")))
	passed, newer := newPod(corev1.PodSucceeded, named("passed")), newPod(corev1.PodSucceeded, named("newer"), func(p *corev1.Pod) { p.CreationTimestamp = after(5) })
	for name, tc := range map[string]struct {
		pods      []corev1.Pod
		want      string
		container string
	}{
		"none":                     {nil, "", ""},
		"one failed":               {[]corev1.Pod{failed, newer}, "failed", "test"},
		"another container failed": {[]corev1.Pod{browser, newer}, "failed", "browser"},
		"an init container failed": {[]corev1.Pod{migrate}, "failed", "migrate"},
		"all succeeded":            {[]corev1.Pod{newer, passed}, "newer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			p, container := PodToDebug(tc.pods)
			if p != nil {
				got = p.Name
			}
			if got != tc.want || container != tc.container {
				t.Errorf("got %q of %q, want %q of %q", container, got, tc.container, tc.want)
			}
		})
	}
}
