package triggers

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/clitest"
)

func TestTriggersList(t *testing.T) {
	trigger := func(namespace, name string, change func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
		t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(
			clitest.Noon.Add(-time.Hour))}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}}
		change(t)
		return t
	}
	ready := func(status metav1.ConditionStatus, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Message: message}}
	}
	objects := []client.Object{
		trigger("acme", "broken", func(t *v1alpha1.Trigger) {
			t.Status.Conditions = ready(metav1.ConditionFalse, "The Environment staging does not exist.")
		}),
		trigger("acme", "e2e", func(t *v1alpha1.Trigger) {
			t.Spec.Match = v1alpha1.TriggerMatch{
				Branches: []string{"main", "!wip/**"}, DeploymentTypes: []string{"staging"}, Services: []string{"cart", "search"}}
			t.Status.Conditions, t.Status.LastSuite = ready(metav1.ConditionTrue, ""), &v1alpha1.LastSuite{Name: "e2e-1", State: "Failed"}
		}),
		trigger("acme", "fresh", func(*v1alpha1.Trigger) {}),
		trigger("acme", "idle", func(t *v1alpha1.Trigger) { t.Spec.Paused, t.Status.Conditions = true, ready(metav1.ConditionTrue, "") }),
		trigger("acme", "prod", func(t *v1alpha1.Trigger) {
			t.Status.Conditions = ready(metav1.ConditionTrue, "It also runs when a deployment to staging is notified.")
			t.Status.Conditions[0].Reason = v1alpha1.ReasonWarning
		}),
		trigger("shop", "other", func(*v1alpha1.Trigger) {}),
	}
	c, out, log := clitest.Console()
	o := &ListOptions{Cluster: clitest.Cluster(c, objects...)}
	if err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for line := range strings.Lines(out.String()) {
		got = append(got, regexp.MustCompile(`\s{2,}`).Split(strings.TrimSpace(line), -1))
	}
	want := [][]string{
		{"TRIGGER", "ENVIRONMENT", "BRANCHES", "TYPES", "SERVICES", "STATE", "LAST RUN", "AGE"},
		{"broken", "staging", "-", "-", "-", "Not ready", "-", "60m"},
		{"e2e", "staging", "main,!wip/**", "staging", "cart,search", "Ready", "Failed", "60m"},
		{"fresh", "staging", "-", "-", "-", "-", "-", "60m"},
		{"idle", "staging", "-", "-", "-", "Paused", "-", "60m"},
		{"prod", "staging", "-", "-", "-", "Ready", "-", "60m"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	clitest.Contains(t, "standard error", log.String(), "broken: The Environment staging does not exist.",
		"prod: It also runs when a deployment to staging is notified.")
	o.AllNamespaces = true
	out.Reset()
	if err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clitest.Contains(t, "all namespaces", out.String(), "NAMESPACE", "shop")
	c, _, log = clitest.Console()
	if err := (&ListOptions{Cluster: clitest.Cluster(c), AllNamespaces: true}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clitest.Contains(t, "no Triggers", log.String(), "There are no Triggers in any namespace.")
}

func TestTriggersShow(t *testing.T) {
	class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	class.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "registry.example.com/e2e:7"}}
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "e2e"},
		Spec: v1alpha1.TriggerSpec{Environment: "staging", TriggerClassName: "web"}}
	slow := class.DeepCopy()
	slow.Spec.StartTimeout = &metav1.Duration{Duration: time.Hour}
	for name, tc := range map[string]struct {
		objects   []client.Object
		effective bool
		says, not string
	}{
		"as it is":           {objects: []client.Object{class, trigger}, says: "triggerClassName: web", not: "image:"},
		"effective":          {objects: []client.Object{class, trigger}, effective: true, says: "image: registry.example.com/e2e:7", not: "status:"},
		"no defaults":        {objects: []client.Object{class, trigger}, says: "triggerClassName: web", not: "imeout:"},
		"default times":      {objects: []client.Object{class, trigger}, effective: true, says: "startTimeout: 15m0s", not: "status:"},
		"times of the class": {objects: []client.Object{slow, trigger}, effective: true, says: "startTimeout: 1h0m0s", not: "15m0s"},
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
