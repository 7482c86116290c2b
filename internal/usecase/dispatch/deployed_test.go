package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/report/greenlight"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// deploy notifies a commit five minutes after what was before, and lets its run end, if it starts one.
func (h *harness) deploy(body, end string) TriggerResult {
	h.t.Helper()
	h.clock.Step(5 * time.Minute)
	r := h.notify(body).Triggers[0]
	if r.created() != "" {
		h.finish(r.SuiteID, "", end)
	}
	return r
}

// has returns what the Environment staging has, by repository.
func (h *harness) has() string {
	h.t.Helper()
	e := h.environments()["staging"]
	var suites []*v1alpha1.Suite
	for _, s := range h.suites() {
		suites = append(suites, &s)
	}
	all, _ := workloads.Status(workloads.Observed{Environment: &e, Suites: suites, Now: h.clock.Now()})
	var lines []string
	for _, d := range all {
		lines = append(lines, strings.TrimSpace(d.Repository+" "+d.SHA))
	}
	return strings.Join(lines, ", ")
}

// refusesRerun fails unless no attempt of a run starts, of all tests or of the failed ones.
func (h *harness) refusesRerun(run, says string) {
	h.t.Helper()
	h.clock.Step(time.Minute)
	before := len(h.suites())
	_, _, err := h.Rerun(h.t.Context(), h.command(), run)
	if kindOf(err) != Rejected || !strings.Contains(message(err), says) || len(h.suites()) != before {
		h.t.Errorf("%v, %s, want that it %s", err, message(err), says)
	}
}

// TestRerunAfterRollback: good passed, bad failed, good was deployed again, and its old result was the answer. Nothing tests bad again,
// because good is there, and the status says so.
func TestRerunAfterRollback(t *testing.T) {
	for _, policy := range []v1alpha1.DuplicatePolicy{v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment} {
		h := start(t, setup{objects: acme(trigger("t", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = policy }))})
		h.deploy(`{"branch":"main","sha":"good"}`, "Passed")
		bad := h.deploy(`{"branch":"main","sha":"bad"}`, "Failed").SuiteID
		h.deploy(`{"branch":"main","sha":"good"}`, "Passed")
		h.refusesRerun(bad, "good was deployed to staging after bad. To test what is there: postflight runs rerun t-")
		if got := h.has(); got != "good" {
			t.Errorf("%s: the status has %s", policy, got)
		}
		if r := h.deploy(`{"branch":"main","sha":"bad"}`, "Failed"); r.SuiteID != bad && policy == v1alpha1.DuplicatesCommit {
			t.Errorf("bad is deployed again, and answered with %+v", r)
		}
		if _, created, err := h.Rerun(t.Context(), h.command(), bad); err != nil || !created && policy == v1alpha1.DuplicatesCommit {
			t.Errorf("%s: bad is there again, and is not repeated: %v, %s", policy, created, message(err))
		}
	}
}

// TestRerunAfterOtherBranch: two branches deploy to one Environment, and each replaces the other.
func TestRerunAfterOtherBranch(t *testing.T) {
	for _, hotfix := range []string{`"repository":"acme/shop"`, `"repository":"Acme/Shop"`, `"deployment_type":"x"`} {
		h := start(t, setup{objects: acme(trigger("t"))})
		first := h.deploy(`{"branch":"main","sha":"a000000","repository":"acme/shop"}`, "Failed").SuiteID
		h.deploy(`{"branch":"hotfix","sha":"b000000",`+hotfix+`}`, "Passed")
		h.refusesRerun(first, "was deployed to staging after a000000")
	}
	h := start(t, setup{objects: acme(trigger("t"))})
	preview := h.deploy(`{"branch":"x","sha":"a000000","deployment_url":"https://pr-1.example.com"}`, "Failed").SuiteID
	h.deploy(`{"branch":"y","sha":"b000000","deployment_url":"https://pr-2.example.com"}`, "Passed")
	if _, created, err := h.Rerun(t.Context(), h.command(), preview); err != nil || !created {
		t.Errorf("a preview at a URL of its own is still there: %v", message(err))
	}
}

// TestSameVersion: two repositories deploy a version 1.0.0 of their own. A whole SHA is one commit in all of them.
func TestSameVersion(t *testing.T) {
	for _, policy := range []v1alpha1.DuplicatePolicy{v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment} {
		h := start(t, setup{objects: acme(trigger("t", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = policy }))})
		got := ""
		for _, repository := range []string{"acme/shop", "acme/pay", "Acme/Shop", "acme/pay"} {
			got += letter(h.deploy(`{"branch":"main","sha":"v1.0.0","repository":"`+repository+`"}`, "Passed"))
		}
		if got != "ccdd" || h.has() != "acme/pay v1.0.0, acme/shop v1.0.0" {
			t.Errorf("%s: %s, deployed %s", policy, got, h.has())
		}
	}
	h := start(t, setup{objects: acme(trigger("t"))})
	h.deploy(`{"branch":"main","sha":"`+sha+`","repository":"acme/shop"}`, "Passed")
	r := h.deploy(`{"branch":"main","sha":"`+sha+`","repository":"acme/fork"}`, "Passed")
	if r.Decision != Duplicate || !slices.Equal(r.Differs, []v1alpha1.Difference{v1alpha1.DifferentRepository}) {
		t.Errorf("%+v", r)
	}
}

// TestNamesOfEarlierVersions: runs that were named without their repository are found after an upgrade, also by reruns.
func TestNamesOfEarlierVersions(t *testing.T) {
	smoke := trigger("t")
	smoke.UID = "uid-t"
	named := func(repository string) *v1alpha1.Suite {
		r := suite.Request{Trigger: smoke, Environment: "staging", Notification: start(t, setup{}).request(`{"sha":"v1.0.0"}`).Notification, ReceivedAt: noon}
		s := suite.New(r)
		s.Spec.Deployment.Repository, s.UID, s.Spec.Origin = repository, "uid-s", ""
		failed(s)
		return s
	}
	old := named("acme/shop")
	h := start(t, setup{objects: acme(smoke, old)})
	if r := h.deploy(`{"sha":"v1.0.0","repository":"acme/shop"}`, ""); r.duplicate() != old.Name {
		t.Errorf("%+v, want a duplicate of %s", r, old.Name)
	}
	if r := h.deploy(`{"sha":"v1.0.0","repository":"acme/pay"}`, "Passed"); r.Decision != Created {
		t.Errorf("%+v", r)
	}
	if r := h.deploy(`{"sha":"v1.0.0"}`, "Passed"); r.Decision != Created {
		t.Errorf("its name is taken by a run of another repository: %+v", r)
	}
}

// TestRerunRace: a newer commit is notified between the check of a rerun and its creation. Its run goes on, the rerun does not, and the
// gate of the newer commit has the result of its own run.
func TestRerunRace(t *testing.T) {
	var h *harness
	newer := ""
	h = start(t, setup{objects: acme(trigger("t")), faults: interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if s, ok := o.(*v1alpha1.Suite); ok && s.Spec.Attempt == 2 && newer == "" {
				newer = "-"
				newer = h.notify(`{"branch":"main","sha":"b000000"}`).Triggers[0].created()
				h.clock.Step(time.Second)
			}
			o.SetCreationTimestamp(metav1.NewTime(h.clock.Now()))
			return c.Create(ctx, o, opts...)
		},
	}})
	old := h.deploy(`{"branch":"main","sha":"a000000"}`, "Failed").SuiteID
	h.clock.Step(time.Minute)
	rerun, created, err := h.Rerun(t.Context(), h.command(), old)
	if err != nil || !created {
		t.Fatal(message(err))
	}
	var stream []*v1alpha1.Suite
	for _, s := range h.suites() {
		stream = append(stream, &s)
	}
	if d := lifecycle.Decide(lifecycle.Observation{Suite: h.suite(newer), Stream: stream}, h.clock.Now()); d.SupersededBy != "" {
		t.Errorf("the newer run is superseded by %s", d.SupersededBy)
	}
	if d := lifecycle.Decide(lifecycle.Observation{Suite: h.suite(rerun.Name), Stream: stream}, h.clock.Now()); d.SupersededBy != newer {
		t.Errorf("the rerun is superseded by %q: %+v", d.SupersededBy, d.Condition)
	}
	b, a2 := h.suite(newer), h.suite(rerun.Name)
	b.Status.Conditions, a2.Status.Conditions = []metav1.Condition{v1alpha1.Superseded("x")}, []metav1.Condition{v1alpha1.Passed("ok")}
	answer := greenlight.Of(b, verdict.Relevant(b, []*v1alpha1.Suite{a2}), func(*v1alpha1.Suite) string { return "" })
	if answer.Greenlight || answer.RelevantRunID == a2.Name {
		t.Errorf("the gate of the newer commit is green by the run of the older one: %+v", answer)
	}
}

// TestEnvironmentAgain: an Environment that was deleted and created again is another one.
func TestEnvironmentAgain(t *testing.T) {
	for policy, want := range map[v1alpha1.DuplicatePolicy]string{v1alpha1.DuplicatesCommit: "duplicate [Environment]", v1alpha1.DuplicatesDeployment: "created []"} {
		h := start(t, setup{objects: acme(trigger("t", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = policy }))})
		first := h.deploy(`{"branch":"main","sha":"a000000"}`, "Failed").SuiteID
		h.rebuild()
		h.refusesRerun(first, "the Environment staging was deleted and created again after it")
		r := h.deploy(`{"branch":"main","sha":"a000000"}`, "Passed")
		if got := fmt.Sprint(r.Decision, " ", r.Differs); got != want {
			t.Errorf("%s: %s, want %s", policy, got, want)
		}
	}
}

// rebuild deletes the Environment staging, and creates another one, a minute later.
func (h *harness) rebuild() {
	h.t.Helper()
	e := h.environments()["staging"]
	if err := h.cluster.Delete(h.t.Context(), &e); err != nil {
		h.t.Fatal(err)
	}
	h.clock.Step(time.Minute)
	again := environmentNamed("staging")
	again.UID, again.Spec.URL, again.CreationTimestamp = "another", "https://rebuilt.example.com", metav1.NewTime(h.clock.Now())
	if err := h.cluster.Create(h.t.Context(), again); err != nil {
		h.t.Fatal(err)
	}
	h.clock.Step(time.Minute)
}

// TestSentAgainAfterRebuild: what was deployed to an earlier Environment is not there, also if its run has no result. What was deployed
// since is.
func TestSentAgainAfterRebuild(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("t"))})
	at, uid := h.clock.Now(), h.environments()["staging"].UID
	send := func(deployed time.Time) TriggerResult {
		return h.notify(`{"branch":"main","sha":"a000000"}`, key("k"), func(r *Request) {
			if !deployed.IsZero() {
				r.Origin = FromEvent(deployed)
			}
		}).Triggers[0]
	}
	sends := func(deployed time.Time) *v1alpha1.Suite { return h.suite(send(deployed).SuiteID) }
	first := sends(at)
	h.finish(first.Name, "", "Error")
	h.rebuild()
	second := sends(at)
	for _, deployed := range []time.Time{at, {}} { // the answer was lost
		if again := send(deployed); again.SuiteID != second.Name || again.Decision != Duplicate || len(again.Differs) > 0 {
			t.Errorf("once more: %s %s, differs %v", again.Decision, again.SuiteID, again.Differs)
		}
	}
	if h.finish(second.Name, "", "Error"); second.Name == first.Name || second.Spec.EnvironmentUID != uid {
		t.Errorf("an event that is delivered again has %s of %s, want another attempt in %s", second.Name, second.Spec.EnvironmentUID, uid)
	}
	third := sends(time.Time{})
	if h.finish(third.Name, "", "Error"); third.Spec.EnvironmentUID != uid {
		t.Errorf("a notification that is sent again has %s, want %s", third.Spec.EnvironmentUID, uid)
	}
	fourth := sends(h.clock.Now())
	if h.finish(fourth.Name, "", "Passed"); fourth.Spec.EnvironmentUID != "another" {
		t.Errorf("a controller that goes back has %s", fourth.Spec.EnvironmentUID)
	}

	h = start(t, setup{objects: acme(trigger("t"))})
	one := h.notify(`{"branch":"main","sha":"a000000"}`).Triggers[0]
	h.rebuild()
	sends(time.Time{}) // while the run continues
	h.finish(one.SuiteID, "", "Error")
	if again := sends(time.Time{}); again.Spec.EnvironmentUID != "another" {
		t.Errorf("what was notified after that has %s", again.Spec.EnvironmentUID)
	}
}

// TestRerunAfterDeploymentElsewhere: the commit came to another URL, and not back to the one that the run tested.
func TestRerunAfterDeploymentElsewhere(t *testing.T) {
	const eu, us = `"deployment_url":"https://eu.example.com"`, `"deployment_url":"https://us.example.com"`
	h := start(t, setup{objects: acme(trigger("t"))})
	first := h.deploy(`{"branch":"main","sha":"a000000",`+eu+`}`, "Failed").SuiteID
	h.deploy(`{"branch":"hotfix","sha":"b000000",`+eu+`}`, "Passed")
	h.deploy(`{"branch":"main","sha":"a000000",`+us+`}`, "Passed")
	h.refusesRerun(first, "b000000 was deployed to staging after a000000")
	h.deploy(`{"branch":"main","sha":"a000000",`+eu+`}`, "Passed")
	if _, created, err := h.Rerun(t.Context(), h.command(), first); err != nil || !created {
		t.Errorf("it is there again: %v", message(err))
	}
}

// TestEphemeralAgain: the Suite of a deleted ephemeral Environment waits for the garbage collector, and is no answer for the next one.
func TestEphemeralAgain(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("t"))})
	const body = `{"branch":"pr","sha":"a000000","deployment_url":"https://pr-1.example.com","ephemeral_environment":true}`
	old := h.deploy(body, "Passed").SuiteID
	owned := h.suite(old)
	owned.OwnerReferences[0].UID = "uid-before"
	if err := h.cluster.Update(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if r := h.deploy(body, "Passed"); r.Decision != Created || r.SuiteID == old {
		t.Errorf("%+v", r)
	}
}

// TestOwnRunAnswers: a notification that is sent again with its Idempotency-Key is answered with its own run, however that has ended.
func TestOwnRunAnswers(t *testing.T) {
	for _, policy := range []v1alpha1.DuplicatePolicy{v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment, v1alpha1.DuplicatesRerunUnsuccessful} {
		for _, end := range []string{"Passed", "Failed", "TimedOut"} {
			h := start(t, setup{objects: acme(trigger("t", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = policy }))})
			const body = `{"branch":"main","sha":"a000000"}`
			first := h.notify(body, key("k")).Triggers[0]
			h.finish(first.SuiteID, "", end)
			h.clock.Step(time.Minute)
			if again := h.notify(body, key("k")).Triggers[0]; again.duplicate() != first.SuiteID {
				t.Errorf("%s, %s: %+v", policy, end, again)
			}
		}
	}
}

// TestRollbackByEvent: a controller that goes back to an earlier version sends the same event as before. It is a deployment again.
func TestRollbackByEvent(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("t"))})
	event := func(commit, end string) TriggerResult {
		h.clock.Step(5 * time.Minute)
		r := h.notify(`{"branch":"main","sha":"`+commit+`"}`, func(r *Request) { r.Origin, r.IdempotencyKey = FromEvent(h.clock.Now()), "flux/"+commit }).Triggers[0]
		if r.created() != "" {
			h.finish(r.SuiteID, "", end)
		}
		return r
	}
	a := event("a", "Canceled")
	event("b", "Passed")
	if r := event("a", "Passed"); r.Decision != Created || r.SuiteID == a.SuiteID {
		t.Errorf("what had no result is not tested: %+v", r)
	}
	if r := event("b", ""); r.Decision != Duplicate || h.has() != "b" {
		t.Errorf("%+v, deployed %s", r, h.has())
	}
}

// TestAnotherTriggersRollback: one Trigger tests each deployment, and another one answers the deployment in between with an old result.
func TestAnotherTriggersRollback(t *testing.T) {
	each := trigger("each", func(t *v1alpha1.Trigger) {
		t.Spec.Duplicates, t.Spec.Match.Branches = v1alpha1.DuplicatesDeployment, []string{"main"}
	})
	h := start(t, setup{objects: acme(each, trigger("once"))})
	for i, commit := range []string{"b", "a", "b", "a"} {
		h.clock.Step(5 * time.Minute)
		onMain := map[string]string{"a": "main", "b": "hotfix"}[commit]
		for _, r := range h.notify(`{"branch":"` + onMain + `","sha":"` + commit + `"}`).Triggers {
			h.finish(r.SuiteID, "", "Passed")
			if want := map[bool]Decision{true: Created, false: Duplicate}[i < 2 || r.Trigger == "each"]; r.Decision != want {
				t.Errorf("deployment %d of %s: %+v, want %s", i, commit, r, want)
			}
		}
	}
}
