package suite

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxTermination is as much as Kubernetes keeps of what a container says at its end, in bytes.
const maxTermination = 4 << 10

// The message of a run quotes what its containers said at their end. The collector's output is masked already.
func hideSecrets(s *v1alpha1.Suite, pods []corev1.Pod) {
	var secrets mask.Values
	hide := func(state *corev1.ContainerState) {
		if state.Terminated == nil || state.Terminated.Message == "" {
			return
		}
		if secrets == nil {
			secrets = mask.Of(s.Spec.Variables)
		}
		if len(secrets) > 0 {
			shown, _ := plaintext.Block(state.Terminated.Message, maxTermination)
			state.Terminated.Message = secrets.Text(shown)
		}
	}
	for i := range pods {
		status := &pods[i].Status
		for _, containers := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
			for j := range containers {
				if c := &containers[j]; c.Name != job.CollectContainer {
					hide(&c.State)
					hide(&c.LastTerminationState)
				}
			}
		}
	}
}
