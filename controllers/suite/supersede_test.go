package suite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestNewerSupersedesOlder(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	main := build.Keyed("main/staging")
	w.Start(build.Suite("older", 0, main))

	w.Create(build.Suite("newer", 1, main))
	w.Stopping("older")
	w.Reaches("older", v1alpha1.ReasonRunning, "Superseded by newer")
	w.Reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.Touch("newer") // only the end of the older one may start it
	w.HasNoJob("newer")

	w.Stops("older")
	ended := w.Reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newer")
	if ended.Status.SupersededBy != "newer" || ended.Status.CompletionTime == nil {
		t.Errorf("status of a superseded run: %+v", ended.Status)
	}
	w.Runs("newer")
	w.Passes("newer")
	w.Reaches("newer", v1alpha1.ReasonPassed, "")
}

// TestServicesDoNotSupersede each other, whatever the stream is, and another commit of one is no deployment to the other. A deployment of no
// service may be of any: what was tested is not known, and the run is not green.
func TestServicesDoNotSupersede(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	for _, policy := range []v1alpha1.SupersedePolicy{v1alpha1.SupersedeBranch, v1alpha1.SupersedeEnvironment} {
		prefix := strings.ToLower(string(policy)) + "-"
		run := func(name, service, sha string, seconds int) string {
			w.Create(build.Suite(prefix+name, seconds, func(s *v1alpha1.Suite) {
				s.Spec.Supersede, s.Spec.Origin = policy, v1alpha1.OriginNotification
				s.Spec.Deployment = v1alpha1.Deployment{Branch: string(policy), Repository: "acme/" + prefix + "mono", SHA: sha, Service: service}
			}))
			return prefix + name
		}
		checkout := run("checkout", "checkout", "aaaa", 0)
		w.Runs(checkout)
		older := run("cart", "cart", "aaaa", 1)
		w.Runs(older)
		newer := run("cart-newer", "cart", "bbbb", 2)
		w.Reaches(older, v1alpha1.ReasonRunning, "Superseded by "+newer)
		w.Passes(checkout)
		w.Reaches(checkout, v1alpha1.ReasonPassed, "")
		w.Stops(older)
		w.Runs(newer)
		w.HasJob(run("whole", "", "cccc", 3))
		w.Passes(newer)
		w.Reaches(newer, v1alpha1.ReasonInconclusive, "cccc of acme/"+prefix+"mono was deployed to staging before they ended")
	}
}

// TestArrivesLate: runs are ordered by the receipt of their notifications, not by the creation of the Suites.
func TestArrivesLate(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("newest", 9, build.Keyed("k")))
	w.Create(build.Suite("late", 3, build.Keyed("k")))
	w.Reaches("late", v1alpha1.ReasonSuperseded, "Superseded by newest")
	w.HasNoJob("late")
	w.Reaches("newest", v1alpha1.ReasonRunning, "The tests are running")
}

// TestNotifiedAgain: a run whose deployment is notified again is the newest of its stream, also if a Suite of an older notification
// appears afterwards.
func TestNotifiedAgain(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("deployed", 0, build.Keyed("k")))
	notifiedAgain(w, "deployed", 5)
	w.Create(build.Suite("held", 3, build.Keyed("k")))
	w.Reaches("held", v1alpha1.ReasonSuperseded, "Superseded by deployed")
	w.HasNoJob("held")
	w.Reaches("deployed", v1alpha1.ReasonRunning, "The tests are running")
	w.Passes("deployed")
	w.Reaches("deployed", v1alpha1.ReasonPassed, "")
}

func notifiedAgain(w *world.World, name string, seconds int) {
	w.T.Helper()
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	w.Status(s, func() {
		s.Status.NotifiedAgainAt = new(metav1.NewMicroTime(w.Began.Add(time.Duration(seconds) * time.Second).UTC()))
	})
}

func TestOtherStreamsAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("checkout"), build.Environment("production"))
	others := []string{"branch", "environment", "sibling", "none"}
	w.Create(
		build.Suite("branch", 0, build.Keyed("develop/staging")),
		build.Suite("environment", 0, build.Keyed("main/staging"), build.InEnvironment("production")),
		build.Suite("sibling", 0, build.Keyed("main/staging"), build.OfTrigger("checkout")), // of the same notification
		build.Suite("none", 0),
		build.Suite("older", 0, build.Keyed("main/staging")),
	)
	for _, name := range append(others, "older") {
		w.Runs(name)
	}
	w.Create(build.Suite("newer", 1, build.Keyed("main/staging")))
	w.Stops("older")
	w.Runs("newer")
	for _, name := range others {
		w.Touch(name)
		w.Reaches(name, v1alpha1.ReasonRunning, "The tests are running")
		if w.HasJob(name).DeletionTimestamp != nil {
			t.Errorf("the Job of %s, of another stream, is being deleted", name)
		}
	}
}

// TestBurst: in the end the newest run is running, and only the first and the newest ever started.
func TestBurst(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	const runs = 10
	name := func(i int) string { return fmt.Sprintf("run-%02d", i) }
	w.Create(build.Suite(name(0), 0, build.Keyed("k")))
	w.Runs(name(0))
	for i := 1; i < runs; i++ {
		w.Create(build.Suite(name(i), i, build.Keyed("k")))
	}
	for i := 1; i < runs-1; i++ { // each would run if the first one stopped before the next was known
		w.Reaches(name(i), v1alpha1.ReasonSuperseded, "")
	}
	w.Stops(name(0))
	newest := name(runs - 1)
	w.HasJob(newest)
	w.Reaches(name(0), v1alpha1.ReasonSuperseded, "")
	jobs := &batchv1.JobList{}
	w.List(jobs)
	unfinished := slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return outcome.CompletionTime(&j) != nil })
	if len(unfinished) != 1 || unfinished[0].Name != newest {
		t.Errorf("got %d unfinished Jobs, want that of %s", len(unfinished), newest)
	}
	if got := w.Wire.Count("POST jobs"); got != 2 {
		t.Errorf("%d Jobs were created, want the first and the newest", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Start(build.Suite("running", 0, build.OfTrigger("one")))
	w.Create(build.Suite("queued", 1, build.OfTrigger("one")))
	w.Reaches("queued", v1alpha1.ReasonQueued, "at position 1")

	w.Cancel("queued", "")
	w.Reaches("queued", v1alpha1.ReasonCanceled, "Canceled by setting spec.cancel")
	w.HasNoJob("queued")

	w.Cancel("running", "ada@example.com")
	w.Stopping("running")
	w.Reaches("running", v1alpha1.ReasonRunning, "Stopping the pods of this run")
	w.Stops("running")
	w.Reaches("running", v1alpha1.ReasonCanceled, "Canceled by ada@example.com")
}

// TestCancelComesTooLate: a run that has passed remains Passed.
func TestCancelComesTooLate(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("run", 0))
	w.Passes("run")
	w.Reaches("run", v1alpha1.ReasonPassed, "")
	w.Cancel("run", "ada@example.com")
	w.Create(build.Suite("next", 1)) // whose Job shows that the manager has reconciled
	w.HasJob("next")
	w.Reaches("run", v1alpha1.ReasonPassed, "")
	if w.HasJob("run").DeletionTimestamp != nil {
		t.Error("the Job of a run that passed, with its log, was deleted")
	}
}
