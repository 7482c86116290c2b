package suite

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// TestSecretsInMessages: a container may say anything at its end, which becomes a part of the message of its run.
func TestSecretsInMessages(t *testing.T) {
	s := &v1alpha1.Suite{}
	s.Spec.Variables = v1alpha1.Variables{"DB_PASSWORD": "hunter2-long"}
	said := func(text string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: text}}
	}
	all := []corev1.ContainerStatus{
		{Name: "test", State: said("login with hunter\x1b[31m2-long failed"), LastTerminationState: said("and with hunter2-long")},
		{Name: "quiet"}, {Name: job.CollectContainer, State: said(`{"a":1}`)},
	}
	pods := []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: all}}, {Status: corev1.PodStatus{InitContainerStatuses: all[:1]}}}
	hideSecrets(s, pods)
	if got := all[0].State.Terminated.Message + all[0].LastTerminationState.Terminated.Message; strings.Contains(got, "long") || strings.Count(got, "***") != 2 {
		t.Errorf("%q", got)
	}
	if got := all[2].State.Terminated.Message; got != `{"a":1}` {
		t.Errorf("the collector's is %q", got)
	}
}
