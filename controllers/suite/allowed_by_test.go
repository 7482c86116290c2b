package controllers_test

import (
	"context"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestAllowedBy: in a namespace without an APIKey, the Job tells the policies to look for a Trigger. A key that is suspended counts, as it
// does for the policy.
func TestAllowedBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("without", 0))
	if got := w.hasJob("without").Labels[v1alpha1.LabelAllowedBy]; got != "trigger" {
		t.Errorf("without a key, the label is %q, want trigger", got)
	}
	key := aKey("a1", func(k *v1alpha1.APIKey) { k.Spec.Suspended = true })
	w.create(key)
	w.eventually("the manager has seen the key", func() string {
		w.must(w.Client.Get(context.Background(), w.key("a1"), key))
		if len(key.Status.Conditions) == 0 {
			return "it has no condition"
		}
		return ""
	})
	w.create(aSuite("with", 1))
	if got, has := w.hasJob("with").Labels[v1alpha1.LabelAllowedBy]; has {
		t.Errorf("with a key, the label is %q, want none", got)
	}
}
