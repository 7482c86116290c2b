package suite_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestLedgerBehind: the watch of Suites is late, and the watch of Jobs is not, as after a lost connection. A run does not pass before its
// leader knows what was deployed meanwhile.
func TestLedgerBehind(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("run", 0))
	end := w.Wire.Delay("suites")
	defer end()
	w.Create(build.Suite("meanwhile", 10, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "b776998a" }))
	w.Passes("run")
	s := w.Suite("run")
	w.Await("the leader waits for its cache", s, func() bool { return s.Status.DeploymentsReadAt != nil || s.Finished() })
	if s.Finished() {
		t.Fatal("it ended before its cache had the deployment")
	}
	end()
	s = w.Reaches("run", v1alpha1.ReasonInconclusive, "b776998a was deployed to staging before they ended")
	if s.Status.DeploymentsReadAt != nil {
		t.Error("deploymentsReadAt stays after the end")
	}
}

// TestEnvironmentBehind: the watch of Environments is late, and the Environment of a run is another one by now.
func TestEnvironmentBehind(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	before := &v1alpha1.Environment{}
	w.Must(w.Client.Get(t.Context(), w.Key("staging"), before))
	w.Start(build.Suite("run", 0, func(s *v1alpha1.Suite) { s.Spec.EnvironmentUID = before.UID }))
	defer w.Wire.Delay("environments")()
	w.Delete(build.In(w.NS, build.Environment("staging")))
	w.Create(build.Environment("staging"))
	w.Passes("run")
	w.Reaches("run", v1alpha1.ReasonInconclusive, "the Environment staging was deleted and created again")
}
