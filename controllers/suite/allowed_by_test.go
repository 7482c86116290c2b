package suite_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestAllowedBy: in a namespace without an APIKey, the Job tells the policies to look for a Trigger. A key that is suspended counts, as it
// does for the policy.
func TestAllowedBy(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("without", 0))
	if got := w.HasJob("without").Labels[v1alpha1.LabelAllowedBy]; got != "trigger" {
		t.Errorf("without a key, the label is %q, want trigger", got)
	}
	key := build.APIKey("a1", func(k *v1alpha1.APIKey) { k.Spec.Suspended = true })
	w.Create(key)
	w.Await("the manager has seen the key", key, func() bool { return len(key.Status.Conditions) > 0 })
	w.Create(build.Suite("with", 1))
	if got, has := w.HasJob("with").Labels[v1alpha1.LabelAllowedBy]; has {
		t.Errorf("with a key, the label is %q, want none", got)
	}
}
