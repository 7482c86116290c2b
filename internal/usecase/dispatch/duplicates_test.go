package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestDuplicates sends notifications one after the other; want has a letter for each: created,
// duplicate or failed.
func TestDuplicates(t *testing.T) {
	rerun := func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesRerunUnsuccessful }
	deployment := func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesDeployment }
	aging := func(t *v1alpha1.Trigger) { t.Spec.DuplicatesMaxAge = &metav1.Duration{Duration: 2 * time.Second} }
	again := func(r *Request) { r.Rerun = true }
	const blue, green = `{"sha":"a","deployment_url":"https://blue"}`, `{"sha":"a","deployment_url":"https://green"}`
	type step struct {
		body   string
		change func(*Request)
		end    string // how the Suite of this step ends before the next one
	}
	cases := map[string]struct {
		reason  string
		trigger *v1alpha1.Trigger
		steps   []step
		want    string
	}{
		"same sha":                 {reason: "is one run", trigger: trigger("t"), steps: []step{{body: withSHA}, {body: withSHA}, {body: withSHA}}, want: "cdd"},
		"same sha, other branch":   {reason: "is one run: the branch is not part of it", trigger: trigger("t"), steps: []step{{body: withSHA}, {body: `{"sha":"` + sha + `","branch":"x"}`}}, want: "cd"},
		"same sha in another case": {reason: "is the same commit", trigger: trigger("t"), steps: []step{{body: withSHA}, {body: `{"sha":"` + strings.ToUpper(sha) + `"}`}}, want: "cd"},
		"other sha":                {reason: "is another run", trigger: trigger("t"), steps: []step{{body: `{"sha":"a"}`}, {body: `{"sha":"b"}`}}, want: "cc"},
		"no sha":                   {reason: "has no duplicates", trigger: trigger("t"), steps: []step{{body: `{}`}, {body: `{}`}}, want: "cc"},
		"no sha, same request id":  {reason: "clients may repeat an id", trigger: trigger("t"), steps: []step{{body: `{}`, change: id("one")}, {body: `{}`, change: id("one")}}, want: "cc"},
		"same sha, same request id": {reason: "a repeated id does not make another's run ours", trigger: trigger("t"),
			steps: []step{{body: withSHA, change: id("one")}, {body: withSHA, change: id("one")}}, want: "cd"},
		"same idempotency key":         {reason: "takes the place of the sha", trigger: trigger("t"), steps: []step{{body: `{}`, change: key("k")}, {body: `{}`, change: key("k")}, {body: `{}`, change: key("l")}}, want: "cdc"},
		"idempotency key with sha":     {reason: "has no effect", trigger: trigger("t"), steps: []step{{body: withSHA, change: key("k")}, {body: withSHA, change: key("l")}}, want: "cd"},
		"idempotency key like the sha": {reason: "is not that sha", trigger: trigger("t"), steps: []step{{body: withSHA}, {body: `{}`, change: key(sha)}}, want: "cc"},
		"reject a failed run":          {reason: "any run is a duplicate", trigger: trigger("t"), steps: []step{{body: withSHA, end: "Failed"}, {body: withSHA}}, want: "cd"},
		"a canceled run":               {reason: "it has no result", trigger: trigger("t"), steps: []step{{body: withSHA, end: "Canceled"}, {body: withSHA}, {body: withSHA}}, want: "ccd"},
		"a run that could not":         {reason: "it has no result", trigger: trigger("t"), steps: []step{{body: withSHA, end: "Error"}, {body: withSHA}, {body: withSHA}}, want: "ccd"},
		"a run that timed out":         {reason: "it has one", trigger: trigger("t"), steps: []step{{body: withSHA, end: "TimedOut"}, {body: withSHA}}, want: "cd"},
		"rollback to a superseded commit": {reason: "the commit was not tested, and is deployed now", trigger: trigger("t"),
			steps: []step{{body: `{"sha":"a"}`, end: "Superseded"}, {body: `{"sha":"b"}`, end: "Passed"}, {body: `{"sha":"a"}`}, {body: `{"sha":"a"}`}}, want: "cccd"},
		"rollback before the older run has stopped": {reason: "it is about to", trigger: trigger("t"),
			steps: []step{{body: `{"sha":"a"}`}, {body: `{"sha":"b"}`}, {body: `{"sha":"a"}`}, {body: `{"sha":"a"}`}}, want: "cccd"},
		"rollback to a commit that passed": {reason: "the contract makes it a duplicate", trigger: trigger("t"),
			steps: []step{{body: `{"sha":"a"}`, end: "Passed"}, {body: `{"sha":"b"}`, end: "Passed"}, {body: `{"sha":"a"}`}}, want: "ccd"},
		"the same notification after a newer one": {reason: "its key names one notification, which is not a newer one", trigger: trigger("t"),
			steps: []step{{body: `{}`, change: key("k"), end: "Superseded"}, {body: `{}`}, {body: `{}`, change: key("k")}}, want: "ccd"},
		"rerun a failed run":           {reason: "it did not pass", trigger: trigger("t", rerun), steps: []step{{body: withSHA, end: "Failed"}, {body: withSHA}, {body: withSHA}}, want: "ccd"},
		"rerun a passed run":           {reason: "it passed", trigger: trigger("t", rerun), steps: []step{{body: withSHA, end: "Passed"}, {body: withSHA}}, want: "cd"},
		"rerun a running run":          {reason: "it has not ended", trigger: trigger("t", rerun), steps: []step{{body: withSHA, end: "Running"}, {body: withSHA}}, want: "cd"},
		"rerun four times":             {reason: "each ended without passing", trigger: trigger("t", rerun), steps: []step{{body: withSHA, end: "Failed"}, {body: withSHA, end: "TimedOut"}, {body: withSHA, end: "Canceled"}, {body: withSHA, end: "Error"}, {body: withSHA, end: "Passed"}, {body: withSHA}}, want: "cccccd"},
		"rerun without sha":            {reason: "the key is that of one notification, and its run the answer", trigger: trigger("t", rerun), steps: []step{{body: `{}`, change: key("k"), end: "Failed"}, {body: `{}`, change: key("k")}, {body: `{}`, change: key("l")}}, want: "cdc"},
		"another URL":                  {reason: "is the commit, by default", trigger: trigger("t"), steps: []step{{body: blue, end: "Passed"}, {body: green}}, want: "cd"},
		"another URL, tested":          {reason: "is another deployment", trigger: trigger("t", deployment), steps: []step{{body: blue, end: "Passed"}, {body: green}, {body: green}, {body: blue}}, want: "ccdc"},
		"rollback, tested":             {reason: "is a deployment of its own", trigger: trigger("t", deployment), steps: []step{{body: `{"sha":"a"}`, end: "Passed"}, {body: `{"sha":"b"}`, end: "Passed"}, {body: `{"sha":"a"}`}, {body: `{"sha":"a"}`}}, want: "cccd"},
		"other branch, tested":         {reason: "was deployed to the same place", trigger: trigger("t", deployment), steps: []step{{body: `{"sha":"a","branch":"x"}`, end: "Passed"}, {body: `{"sha":"b","branch":"y"}`, end: "Passed"}, {body: `{"sha":"a","branch":"x"}`}}, want: "ccc"},
		"the same, tested":             {reason: "is one deployment", trigger: trigger("t", deployment), steps: []step{{body: blue, end: "Passed"}, {body: blue}}, want: "cd"},
		"an old result":                {reason: "is too old", trigger: trigger("t", aging), steps: []step{{body: blue, end: "Passed"}, {body: blue}, {body: blue}}, want: "cdc"},
		"a rerun":                      {reason: "the sender asks for it", trigger: trigger("t"), steps: []step{{body: blue, end: "Passed"}, {body: blue, change: again}, {body: blue, change: again}}, want: "ccd"},
		"a rerun, sent again":          {reason: "has one attempt", trigger: trigger("t"), steps: []step{{body: blue, end: "Passed"}, {body: blue, change: func(r *Request) { again(r); key("k")(r) }, end: "Failed"}, {body: blue, change: func(r *Request) { again(r); key("k")(r) }}}, want: "ccd"},
		"a rerun after a newer":        {reason: "the deployment is real", trigger: trigger("t"), steps: []step{{body: `{"sha":"a"}`, end: "Failed"}, {body: `{"sha":"b"}`, end: "Passed"}, {body: `{"sha":"a"}`, change: again}}, want: "ccc"},
		"rerun, first attempt deleted": {reason: "a later attempt still counts", trigger: trigger("t", rerun), steps: []step{{body: withSHA, end: "Failed"}, {body: withSHA, end: "delete the first"}, {body: withSHA}}, want: "ccd"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(tc.trigger)})
			got, first := "", ""
			for _, s := range tc.steps {
				h.clock.Step(time.Second)
				if s.change == nil {
					s.change = func(*Request) {}
				}
				result := h.notify(s.body, s.change).Triggers[0]
				got += letter(result)
				if id := result.created(); id != "" {
					if first == "" {
						first = id
					}
					h.finish(id, first, s.end)
				}
			}
			if got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func id(id string) func(*Request) { return func(r *Request) { r.RequestID = id } }

// finish gives the Suite a state, or deletes the first one.
func (h *harness) finish(id, first, end string) {
	h.t.Helper()
	ends := map[string]func(string) metav1.Condition{
		"Passed": v1alpha1.Passed, "Failed": v1alpha1.Failed, "TimedOut": v1alpha1.TimedOut,
		"Canceled": v1alpha1.Canceled, "Error": v1alpha1.Error, "Running": v1alpha1.Running,
		"Superseded": v1alpha1.Superseded,
	}
	for _, s := range h.suites() {
		switch {
		case end == "delete the first" && s.Name == first:
			if err := h.cluster.Delete(context.Background(), &s); err != nil {
				h.t.Fatal(err)
			}
		case s.Name == id && ends[end] != nil:
			s.Status.Conditions = []metav1.Condition{ends[end]("because")}
			if s.Finished() {
				s.Status.CompletionTime = new(metav1.NewTime(h.clock.Now()))
			}
			if err := h.cluster.Status().Update(context.Background(), &s); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// TestEndOfADuplicate: a duplicate of a run that has ended says when, so that nobody takes an old result for a new one.
func TestEndOfADuplicate(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	h.notify(withSHA)
	if got := h.notify(withSHA).Triggers[0]; got.Decision != Duplicate || got.EndedAt != nil {
		t.Errorf("of a run that goes on: %+v", got)
	}
	s := h.suites()[0]
	ended := metav1.NewTime(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))
	s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Passed("")}, &ended
	if err := h.cluster.Status().Update(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	if got := h.notify(withSHA).Triggers[0]; got.Decision != Duplicate || !got.EndedAt.Equal(&ended) {
		t.Errorf("of a run that has ended: %+v", got)
	}
}

// stats answers for the file of a run.
type stats func() (size int64, etag string, err error)

func (s stats) Stat(_ context.Context, _ *v1alpha1.Team, path string) (v1alpha1.SuiteInput, error) {
	size, etag, err := s()
	return v1alpha1.SuiteInput{Path: path, Size: size, ETag: etag}, err
}

// TestOtherInputs: a file that the run got was uploaded again. A store that cannot say so must not make an old result count.
func TestOtherInputs(t *testing.T) {
	const policy = v1alpha1.DuplicatesDeployment
	for name, tc := range map[string]struct {
		store   Inputs
		differs v1alpha1.Difference
	}{
		"the same file":  {stats(func() (int64, string, error) { return 3, "etag", nil }), ""},
		"another file":   {stats(func() (int64, string, error) { return 3, "other", nil }), v1alpha1.DifferentInputs},
		"another size":   {stats(func() (int64, string, error) { return 4, "etag", nil }), v1alpha1.DifferentInputs},
		"no file":        {stats(func() (int64, string, error) { return 0, "", fs.ErrNotExist }), v1alpha1.DifferentInputs},
		"no answer":      {stats(func() (int64, string, error) { return 0, "", errors.New("the store is unavailable") }), v1alpha1.UnknownInputs},
		"no store today": {nil, v1alpha1.UnknownInputs},
	} {
		t.Run(name, func(t *testing.T) {
			smoke := trigger("smoke")
			h := start(t, setup{objects: acme(smoke), config: func(c *Config) { c.Inputs = tc.store }})
			h.notify(withSHA)
			s := h.suites()[0]
			s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Passed("")}, new(metav1.NewTime(noon))
			s.Status.Inputs = []v1alpha1.SuiteInput{{Path: "app.apk", Size: 3, ETag: "etag"}}
			h.updateStatus(&s)
			var want []v1alpha1.Difference
			if tc.differs != "" {
				want = append(want, tc.differs)
			}
			got := h.notify(withSHA).Triggers[0]
			if diff := cmp.Diff(want, got.Differs); diff != "" || got.Decision != Duplicate {
				t.Errorf("%s: %s", got.Decision, diff)
			}
			smoke.Spec.Duplicates = policy
			if got := h.notify(withSHA).Triggers[0].Decision; (got == Created) != (tc.differs != "") {
				t.Errorf("with duplicates: %s, it is %s", policy, got)
			}
		})
	}
}

// TestDuplicateBeyondTheQuota: the API server checks quotas and policies before it checks the name.
func TestDuplicateBeyondTheQuota(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), creates: append([]fault{{}}, repeat(10, fault{err: quotaUsedUp})...)})
	id := h.notify(withSHA).Triggers[0].created()
	if got := h.notify(withSHA).Triggers[0]; got.duplicate() != id {
		t.Errorf("%+v, want a duplicate of %s", got, id)
	}
	if got := h.notify(`{"sha":"other"}`).Triggers[0]; !strings.Contains(got.Reason, "quota") {
		t.Errorf("%+v, want a failure_reason", got)
	}
}

// TestNameOfSomethingElse: if another object has the name, the notification is no duplicate.
func TestNameOfSomethingElse(t *testing.T) {
	cases := map[string]func(*v1alpha1.Suite){
		"another trigger of that name": func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = "uid-before" },
		"another sha":                  func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "other" },
		"made by hand":                 func(s *v1alpha1.Suite) { s.Spec = v1alpha1.SuiteSpec{}; s.Annotations = nil },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke"))})
			id := h.notify(withSHA).Triggers[0].created()
			squat := h.suites()[0]
			if err := h.cluster.Delete(t.Context(), &squat); err != nil {
				t.Fatal(err)
			}
			squat.ResourceVersion = ""
			change(&squat)
			if err := h.cluster.Create(t.Context(), &squat); err != nil {
				t.Fatal(err)
			}
			got := h.notify(withSHA).Triggers[0]
			if !strings.Contains(got.Reason, id) || got.duplicate() != "" {
				t.Errorf("got %+v, want a failure_reason that names %s", got, id)
			}
		})
	}
}

// TestAttemptsEnd: a Suite stored before there was a bound may have any number, which must not overflow.
func TestAttemptsEnd(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	id := h.notify(withSHA).Triggers[0].created()
	h.finish(id, id, "Error")
	s := h.suites()[0]
	s.Spec.Attempt = math.MaxInt32
	if err := h.cluster.Update(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	if got := h.notify(withSHA).Triggers[0].Reason; !strings.Contains(got, "There are 1000000 attempts of this run already") {
		t.Errorf("got %q", got)
	}
}
