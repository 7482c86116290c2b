package outcome

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// TestProbeState: a run is Starting while its pods ask, and ends as Error if they give up.
func TestProbeState(t *testing.T) {
	const said = `https://staging.example.com/version said "b776998a" instead of cafe, for 10m.`
	const hint = ". Check what is deployed, or spec.ready.http of the Trigger, and notify again."
	byPolicy := with(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container postflight-ready for pod acme/smoke-1-x failed with exit code 3 matching FailJob rule at index 0")
	for name, tc := range map[string]struct {
		reason string
		job    func(*batchv1.Job)
		pods   []corev1.Pod
		want   metav1.Condition
	}{
		"it asks": {
			reason: "The message says what is waited for.", job: func(j *batchv1.Job) { j.Status.Active = 1 },
			pods: []corev1.Pod{asking(corev1.PodPending, runs)},
			want: v1alpha1.Starting("Waiting for https://staging.example.com/version to have cafe. Follow it: postflight runs logs smoke-1 -n acme -c postflight-ready -f, " +
				"or kubectl logs -n acme smoke-1-x -c postflight-ready -f"),
		},
		"its image is missing": {
			reason: "The operator chooses it.", job: func(j *batchv1.Job) { j.Status.Active = 1 },
			pods: []corev1.Pod{asking(corev1.PodPending, waits("ErrImagePull", "denied"))},
			want: v1alpha1.Starting(`The pod cannot start: the image "postflight:1" of init container "postflight-ready" cannot be pulled: denied. ` +
				"It is Postflight's own image: its operator chooses it with --image, and the imagePullSecrets of the jobTemplate have to fit its registry."),
		},
		"it gives up": {
			reason: "That says nothing about the tests.", job: backoffExceeded, pods: []corev1.Pod{asking(corev1.PodFailed, exit(3, 9, said))},
			want: v1alpha1.Error("The right version did not answer: " + strings.TrimSuffix(said, ".") + hint),
		},
		"it gives up for the Job": {
			reason: "Its rule ends the Job.", job: byPolicy, pods: []corev1.Pod{asking(corev1.PodFailed, exit(3, 9, said))},
			want: v1alpha1.Error("The right version did not answer: " + strings.TrimSuffix(said, ".") + hint),
		},
		"its pod is gone": {
			reason: "The Job still says that it was the probe.", job: byPolicy,
			want: v1alpha1.Error("The right version did not answer, and the pod that says more is gone: " +
				"Container postflight-ready for pod acme/smoke-1-x failed with exit code 3 matching FailJob rule at index 0." + rerunAdvice),
		},
		"it was killed": {
			reason: "Nor does that say anything about the tests.", job: backoffExceeded, pods: []corev1.Pod{asking(corev1.PodFailed, exitFor("OOMKilled", 137, 9, ""))},
			want: v1alpha1.Error("The right version did not answer: the init container postflight-ready exited with code 137 (out of memory)" + hint),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, written(Observe(newJob(tc.job), tc.pods))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// asking is a pod whose probe is in a state.
func asking(phase corev1.PodPhase, state corev1.ContainerState) corev1.Pod {
	return newPod(phase, initContainer(job.ReadyContainer, state), container("test", waits("PodInitializing", "")), func(p *corev1.Pod) {
		s, t := &v1alpha1.Suite{}, &v1alpha1.Trigger{}
		s.Spec.Deployment = v1alpha1.Deployment{URL: "https://staging.example.com", SHA: "cafe"}
		t.Spec.Ready = &v1alpha1.Ready{HTTP: &v1alpha1.ReadyHTTP{Path: "/version"}}
		p.Spec.InitContainers[0] = job.WithProbe(newJob(), s, t, &v1alpha1.Environment{}, "postflight:1").Spec.Template.Spec.InitContainers[0]
	})
}
