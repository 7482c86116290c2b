package triggers

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/clitest"
)

func TestTriggersShow(t *testing.T) {
	class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	class.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "registry.example.com/e2e:7"}}
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "e2e"},
		Spec: v1alpha1.TriggerSpec{Environment: "staging", TriggerClassName: "web"}}
	for name, tc := range map[string]struct {
		objects   []client.Object
		effective bool
		says, not string
	}{
		"as it is":  {objects: []client.Object{class, trigger}, says: "triggerClassName: web", not: "image:"},
		"effective": {objects: []client.Object{class, trigger}, effective: true, says: "image: registry.example.com/e2e:7", not: "status:"},
		"without a class": {objects: []client.Object{trigger}, effective: true,
			says: `The TriggerClass "web" of the Trigger "e2e" does not exist.`, not: "image:"},
		"no Trigger": {says: "there is no Trigger e2e in the namespace acme", not: "image:"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, _ := clitest.Console()
			err := (&ShowOptions{Cluster: clitest.Cluster(c, tc.objects...), Effective: tc.effective}).Run(t.Context(), "e2e")
			got := out.String()
			if err != nil {
				got += err.Error()
			}
			if !strings.Contains(got, tc.says) || strings.Contains(got, tc.not) {
				t.Errorf("want %q, and not %q:\n%s", tc.says, tc.not, got)
			}
		})
	}
}
