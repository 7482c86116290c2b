package controllers_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
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
	w := newWorld(t)
	w.create(aTrigger("checkout"), anEnvironment("shared", booked(1)))
	w.create(aSuite("main", 0, at("shared"), branch("main")))
	w.runs("main")
	w.create(
		aSuite("feature", 1, at("shared"), branch("feature")),
		aSuite("checkout", 2, at("shared"), of("checkout")),
		aSuite("elsewhere", 3, branch("feature")),
	)
	w.runs("elsewhere")
	w.reaches("feature", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.reaches("checkout", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.hasNoJob("feature")

	w.passes("main")
	w.runs("feature")
	w.reaches("checkout", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.hasNoJob("checkout")
}

// TestLimitOfTheEnvironmentChanges: with a higher limit, waiting runs start at once; a lower limit applies to the
// runs that start later.
func TestLimitOfTheEnvironmentChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("shared", booked(1)))
	limit := func(runs int32) {
		w.change(anEnvironment("shared"), func(o client.Object) { o.(*v1alpha1.Environment).Spec.MaxConcurrentSuites = runs })
	}
	w.create(aSuite("a", 0, at("shared"), branch("a")), aSuite("b", 1, at("shared"), branch("b")))
	w.runs("a")
	w.reaches("b", v1alpha1.ReasonQueued, "at position 1 in the queue")
	limit(2)
	w.runs("b")
	limit(1)
	w.passes("a")
	w.reaches("a", v1alpha1.ReasonPassed, "")
	w.create(aSuite("c", 2, at("shared"), branch("c")))
	w.reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.hasNoJob("c")
	limit(0)
	w.runs("c")
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
			older:  aSuite("older", 0, branch("main"), supersedes("")), newer: aSuite("newer", 1, branch("feature"), supersedes("")),
		},
		"the same branch by default": {
			reason: "A Suite without a key belongs to the stream of its branch, as kubectl explain documents.",
			older:  aSuite("older", 0, branch("main"), supersedes("")), newer: aSuite("newer", 1, branch("refs/heads/main"), supersedes("")), isSuperseded: true,
		},
		"another branch with Environment": {
			reason: "The deployment that the older run tests was replaced.",
			older:  aSuite("older", 0, branch("main"), supersedes(environment)),
			newer:  aSuite("newer", 1, branch("feature"), supersedes(environment)), isSuperseded: true,
		},
		"another Trigger with Environment": {
			reason: "What is deployed does not depend on the Trigger.",
			older:  aSuite("older", 0, branch("main"), supersedes(environment), notifiedBy("first")),
			newer:  aSuite("newer", 1, branch("feature"), sha("b"), supersedes(environment), of("checkout"), notifiedBy("second")), isSuperseded: true,
		},
		"another attempt at the commit by another Trigger": {
			reason: "Nothing else was deployed.",
			older:  aSuite("older", 0, supersedes(environment), notifiedBy("first")),
			newer:  aSuite("newer", 1, supersedes(environment), of("checkout"), notifiedBy("second")), waits: true,
		},
		"another Trigger of the same notification": {
			reason: "Siblings test the same deployment.",
			older:  aSuite("older", 0, supersedes(environment), notifiedBy("first")),
			newer:  aSuite("newer", 0, supersedes(environment), of("checkout"), notifiedBy("first")),
		},
		"another Environment": {
			reason: "Nothing was deployed to the first.",
			older:  aSuite("older", 0, supersedes(environment)),
			newer:  aSuite("newer", 1, supersedes(environment), at("production")),
		},
		"a key of its own": {
			reason: "The deduplication_key wins over the policy.",
			older:  aSuite("older", 0, supersedes(environment), keyed("mine")),
			newer:  aSuite("newer", 1, supersedes(environment)),
		},
		"None": {
			reason: "Runs of the same branch are not superseded either.",
			older:  aSuite("older", 0, supersedes(none)), newer: aSuite("newer", 1, supersedes(none)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(aTrigger("checkout"), anEnvironment("production"))
			w.create(tc.older)
			w.runs("older")
			w.create(tc.newer)
			if tc.waits {
				w.reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older of the same stream to stop")
				w.passes("older")
				w.reaches("older", v1alpha1.ReasonPassed, "")
				w.runs("newer")
				return
			}
			if tc.isSuperseded {
				w.stops("older")
				w.reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newer")
				w.runs("newer")
				return
			}
			w.runs("newer")
			w.touch("older")
			w.create(aSuite("last", 9, of("checkout"), supersedes(none))) // whose Job shows that the manager has reconciled
			w.hasJob("last")
			if j := w.hasJob("older"); j.DeletionTimestamp != nil {
				t.Errorf("%s Its Job is being deleted.", tc.reason)
			}
		})
	}
}

// TestNewestNotificationOfTheEnvironmentRuns: the runs of one notification supersede the older runs, and wait only
// for those, not for each other.
func TestNewestNotificationOfTheEnvironmentRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("checkout"))
	shared := supersedes(v1alpha1.SupersedeEnvironment)
	w.create(aSuite("older", 0, shared, notifiedBy("first")))
	w.runs("older")
	w.create(
		aSuite("newer-smoke", 1, shared, notifiedBy("second"), branch("feature")),
		aSuite("newer-checkout", 1, shared, notifiedBy("second"), branch("feature"), of("checkout")),
	)
	w.stopping("older")
	w.reaches("newer-smoke", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.reaches("newer-checkout", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.stops("older")
	w.runs("newer-smoke")
	w.runs("newer-checkout")
	jobs := &batchv1.JobList{}
	w.must(w.Client.List(context.Background(), jobs, inNamespace(w)))
	for _, j := range jobs.Items {
		if j.DeletionTimestamp != nil {
			t.Errorf("the Job of %s is being deleted, though nothing newer was deployed", j.Name)
		}
	}
}

func sha(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
}
