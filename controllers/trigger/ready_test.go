package trigger

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestReadyWarnsOfScripts: a Trigger works even if senders can run commands in its script, and its status says that they can.
func TestReadyWarnsOfScripts(t *testing.T) {
	for script, warns := range map[string]bool{"curl $(URL)": true, `curl "$URL"`: false} {
		tr := &v1alpha1.Trigger{}
		tr.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Command: []string{"sh", "-c", script}}}
		setReady(tr, observed{environment: &v1alpha1.Environment{}, teams: make([]v1alpha1.Team, 1)})
		is := meta.FindStatusCondition(tr.Status.Conditions, v1alpha1.ConditionReady)
		if is.Status != "True" || strings.Contains(is.Message, "$(URL)") != warns ||
			strings.Contains(v1alpha1.ReadyWarning(tr.Status.Conditions), "$(URL)") != warns {
			t.Errorf("%s: %s %s", script, is.Status, is.Message)
		}
	}
}
