package suite_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func booked(runs int32) func(*v1alpha1.Environment) {
	return func(e *v1alpha1.Environment) { e.Spec.MaxConcurrentSuites = runs }
}

func branch(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name }
}

func supersedes(policy v1alpha1.SupersedePolicy) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Supersede = policy }
}

// notifiedBy sets the notification that a Suite belongs to. Suites of several Triggers may have the same one.
func notifiedBy(request string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: request} }
}

// TestEnvironmentIsBooked: runs of two Triggers and two branches use one Environment one after another. A run in
// another Environment does not wait.
func TestEnvironmentIsBooked(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("checkout"), build.Environment("shared", booked(1)))
	w.Start(build.Suite("main", 0, build.InEnvironment("shared"), branch("main")))
	w.Create(
		build.Suite("feature", 1, build.InEnvironment("shared"), branch("feature")),
		build.Suite("checkout", 2, build.InEnvironment("shared"), build.OfTrigger("checkout")),
		build.Suite("elsewhere", 3, branch("feature")),
	)
	w.Runs("elsewhere")
	w.Reaches("feature", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Reaches("checkout", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.HasNoJob("feature")

	w.Passes("main")
	w.Runs("feature")
	w.Reaches("checkout", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.HasNoJob("checkout")
}

// TestLimitOfTheEnvironmentChanges: with a higher limit, waiting runs start at once; a lower limit applies to the
// runs that start later.
func TestLimitOfTheEnvironmentChanges(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("shared", booked(1)))
	limit := func(runs int32) {
		w.Change(build.Environment("shared"), func(o client.Object) { o.(*v1alpha1.Environment).Spec.MaxConcurrentSuites = runs })
	}
	w.Create(build.Suite("a", 0, build.InEnvironment("shared"), branch("a")), build.Suite("b", 1, build.InEnvironment("shared"), branch("b")))
	w.Runs("a")
	w.Reaches("b", v1alpha1.ReasonQueued, "at position 1 in the queue")
	limit(2)
	w.Runs("b")
	limit(1)
	w.Passes("a")
	w.Reaches("a", v1alpha1.ReasonPassed, "")
	w.Create(build.Suite("c", 2, build.InEnvironment("shared"), branch("c")))
	w.Reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.HasNoJob("c")
	limit(0)
	w.Runs("c")
}

// TestSupersede creates one run after another in one Environment, with each policy.
func TestSupersede(t *testing.T) {
	const (
		environment = v1alpha1.SupersedeEnvironment
		none        = v1alpha1.SupersedeNone
	)
	for name, tc := range map[string]struct {
		reason       string
		older, newer *v1alpha1.Suite
		isSuperseded bool
		waits        bool
	}{
		"another branch by default": {
			reason: "A feature branch does not stop main.",
			older:  build.Suite("older", 0, branch("main"), supersedes("")), newer: build.Suite("newer", 1, branch("feature"), supersedes("")),
		},
		"the same branch by default": {
			reason: "A Suite without a key belongs to the stream of its branch, as kubectl explain documents.",
			older:  build.Suite("older", 0, branch("main"), supersedes("")), newer: build.Suite("newer", 1, branch("refs/heads/main"), supersedes("")), isSuperseded: true,
		},
		"another branch with Environment": {
			reason: "The deployment that the older run tests was replaced.",
			older:  build.Suite("older", 0, branch("main"), supersedes(environment)),
			newer:  build.Suite("newer", 1, branch("feature"), supersedes(environment)), isSuperseded: true,
		},
		"another Trigger with Environment": {
			reason: "What is deployed does not depend on the Trigger.",
			older:  build.Suite("older", 0, branch("main"), supersedes(environment), notifiedBy("first")),
			newer:  build.Suite("newer", 1, branch("feature"), sha("b"), supersedes(environment), build.OfTrigger("checkout"), notifiedBy("second")), isSuperseded: true,
		},
		"another attempt at the commit by another Trigger": {
			reason: "Nothing else was deployed.",
			older:  build.Suite("older", 0, supersedes(environment), notifiedBy("first")),
			newer:  build.Suite("newer", 1, supersedes(environment), build.OfTrigger("checkout"), notifiedBy("second")), waits: true,
		},
		"another Trigger of the same notification": {
			reason: "Siblings test the same deployment.",
			older:  build.Suite("older", 0, supersedes(environment), notifiedBy("first")),
			newer:  build.Suite("newer", 0, supersedes(environment), build.OfTrigger("checkout"), notifiedBy("first")),
		},
		"another Environment": {
			reason: "Nothing was deployed to the first.",
			older:  build.Suite("older", 0, supersedes(environment)),
			newer:  build.Suite("newer", 1, supersedes(environment), build.InEnvironment("production")),
		},
		"a key of its own": {
			reason: "The deduplication_key wins over the policy.",
			older:  build.Suite("older", 0, supersedes(environment), build.Keyed("mine")),
			newer:  build.Suite("newer", 1, supersedes(environment)),
		},
		"None": {
			reason: "Runs of the same branch are not superseded either.",
			older:  build.Suite("older", 0, supersedes(none)), newer: build.Suite("newer", 1, supersedes(none)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.Create(build.Trigger("checkout"), build.Environment("production"))
			w.Create(tc.older)
			w.Runs("older")
			w.Create(tc.newer)
			if tc.waits {
				w.Reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older of the same stream to stop")
				w.Passes("older")
				w.Reaches("older", v1alpha1.ReasonPassed, "")
				w.Runs("newer")
				return
			}
			if tc.isSuperseded {
				w.Stops("older")
				w.Reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newer")
				w.Runs("newer")
				return
			}
			w.Runs("newer")
			w.Touch("older")
			w.Create(build.Suite("last", 9, build.OfTrigger("checkout"), supersedes(none))) // whose Job shows that the manager has reconciled
			w.HasJob("last")
			if j := w.HasJob("older"); j.DeletionTimestamp != nil {
				t.Errorf("%s Its Job is being deleted.", tc.reason)
			}
		})
	}
}

// TestNewestNotificationOfTheEnvironmentRuns: the runs of one notification supersede the older runs, and wait only
// for those, not for each other.
func TestNewestNotificationOfTheEnvironmentRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("checkout"))
	shared := supersedes(v1alpha1.SupersedeEnvironment)
	w.Start(build.Suite("older", 0, shared, notifiedBy("first")))
	w.Create(
		build.Suite("newer-smoke", 1, shared, notifiedBy("second"), branch("feature")),
		build.Suite("newer-checkout", 1, shared, notifiedBy("second"), branch("feature"), build.OfTrigger("checkout")),
	)
	w.Stopping("older")
	w.Reaches("newer-smoke", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.Reaches("newer-checkout", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.Stops("older")
	w.Runs("newer-smoke")
	w.Runs("newer-checkout")
	jobs := &batchv1.JobList{}
	w.List(jobs)
	for _, j := range jobs.Items {
		if j.DeletionTimestamp != nil {
			t.Errorf("the Job of %s is being deleted, though nothing newer was deployed", j.Name)
		}
	}
}

func sha(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
}
