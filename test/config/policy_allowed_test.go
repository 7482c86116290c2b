package config

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/test/poll"
)

// allowedNamespaces: what a team wrote shows that its namespace runs tests, a Trigger or a key, and a label of the Job says which to
// look for.
func (w *takenOver) allowedNamespaces(t *testing.T) {
	const unbound = "' denied request: failed to configure binding: no params found"
	const byTrigger, byKey, byEnvironment = "jobs-of-triggers" + unbound, "jobs-of-teams" + unbound, "jobs-of-environments" + unbound
	for name, tc := range map[string]struct {
		has    func(namespace string) client.Object
		label  string
		reason string
	}{
		"a Trigger, which the label names":             {has: triggerIn, label: "trigger"},
		"a Trigger, with another value of the label":   {has: triggerIn, label: "key"},
		"a Trigger, without the label":                 {has: triggerIn, reason: byKey},
		"a key, without the label":                     {has: keyIn},
		"a key, beside the label":                      {has: keyIn, label: "trigger", reason: byTrigger},
		"an Environment, which the label names":        {has: environmentIn, label: "environment"},
		"an Environment, with another value":           {has: environmentIn, label: "trigger", reason: byTrigger},
		"an Environment, without the label":            {has: environmentIn, reason: byKey},
		"a Trigger, with the value of Environments":    {has: triggerIn, label: "environment", reason: byEnvironment},
		"an Environment that the manager has derived":  {has: derivedIn, label: "environment", reason: byEnvironment},
		"one without the label of such":                {has: ephemeralIn, label: "environment", reason: "an ephemeral Environment without"},
		"nothing, with the value of Environments":      {label: "environment", reason: byEnvironment},
		"nothing, with the label":                      {label: "trigger", reason: byTrigger},
		"nothing, with the label, which has any value": {label: "yes", reason: byTrigger},
		"nothing": {reason: byKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := w.Namespace(t)
			if tc.has != nil {
				must(t, w.Client.Create(t.Context(), tc.has(ns)))
			}
			j := w.job(ns)
			if tc.label != "" {
				j.Labels[v1alpha1.LabelAllowedBy] = tc.label
			}
			if tc.reason != "" {
				refused(t, w.manager.Create(t.Context(), j, client.DryRunAll), tc.reason)
				return
			}
			poll.True(t, "the API server sees what allows the Job", w.mayCreate(t, j))
		})
	}
}

// withdrawn: once the Triggers of a namespace are gone, it is like a namespace that never had any.
func (w *takenOver) withdrawn(t *testing.T) {
	ns := w.Namespace(t)
	j, trigger := w.job(ns), triggerIn(ns)
	j.Labels[v1alpha1.LabelAllowedBy] = "trigger"
	must(t, w.Client.Create(t.Context(), trigger))
	poll.True(t, "the Trigger allows the Job", w.mayCreate(t, j))
	must(t, w.Client.Delete(t.Context(), trigger))
	poll.True(t, "nothing allows the Job", func() bool { return !w.mayCreate(t, j)() })
}

// markedNamespace: a key without an owner continues to allow Jobs. The policies of earlier versions needed it.
func (w *takenOver) markedNamespace(t *testing.T) {
	ns := w.Namespace(t)
	none := &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
		Spec:       v1alpha1.APIKeySpec{SHA256: strings.Repeat("0", 64), Suspended: true},
	}
	must(t, w.Client.Create(t.Context(), none))
	poll.True(t, "the key is seen", func() bool { return w.manager.Create(t.Context(), w.job(ns), client.DryRunAll) == nil })
}

func (w *takenOver) mayCreate(t *testing.T, j *batchv1.Job) func() bool {
	return func() bool { return w.manager.Create(t.Context(), j.DeepCopy(), client.DryRunAll) == nil }
}

func triggerIn(namespace string) client.Object     { return aTrigger(namespace) }
func keyIn(namespace string) client.Object         { return aKey(namespace) }
func environmentIn(namespace string) client.Object { return anEnvironment(namespace, "staging") }

func derivedIn(namespace string) client.Object {
	base := anEnvironment(namespace, "staging")
	base.UID = "gone"
	return suite.EphemeralEnvironment(base, "https://pr-1.example.com", time.Now().Add(time.Hour))
}

func ephemeralIn(namespace string) client.Object {
	e := derivedIn(namespace)
	e.SetLabels(nil)
	return e
}
