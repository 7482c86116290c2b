package lifecycle_test

import (
	"testing"

	"github.com/postflight-dev/postflight/internal/core/run/rerun"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

func TestStreamKey(t *testing.T) {
	main := aSuite("a", 0)
	shared := aSuite("a", 0, withPolicy("Environment"))
	for name, tc := range map[string]struct {
		reason string
		a, b   *v1alpha1.Suite
		same   bool
	}{
		"same key":             {"", main, aSuite("b", 9), true},
		"other key":            {"", main, aSuite("b", 9, keyed("other")), false},
		"other Trigger":        {"Its runs test something else.", main, aSuite("b", 9, ofTrigger("other")), false},
		"other Environment":    {"A key counts within an Environment only.", main, aSuite("b", 9, inEnvironment("production")), false},
		"no key":               {"It defaults to branch/environment.", main, aSuite("b", 9, withPolicy(""), branch("main")), true},
		"no key, policy":       {"Branch is the default.", main, aSuite("b", 9, withPolicy("Branch"), branch("refs/heads/main")), true},
		"no key, other":        {"Its branch is another one.", main, aSuite("b", 9, withPolicy("Branch"), branch("feature")), false},
		"no branch":            {"Deployments without a branch share a stream.", aSuite("a", 0, withPolicy("")), aSuite("b", 9, withPolicy("")), true},
		"shared":               {"Neither branch nor Trigger make a difference.", shared, aSuite("b", 9, withPolicy("Environment"), branch("x"), ofTrigger("other")), true},
		"shared, elsewhere":    {"An Environment is a position.", shared, aSuite("b", 9, withPolicy("Environment"), inEnvironment("production")), false},
		"shared and by key":    {"The client's key wins.", shared, aSuite("b", 9, func(s *v1alpha1.Suite) { s.Spec.Supersede = "Environment" }), false},
		"shared and branch":    {"The other Trigger does not want it.", shared, aSuite("b", 9, withPolicy("Branch")), false},
		"key in spite of None": {"The client's key wins.", main, aSuite("b", 9, func(s *v1alpha1.Suite) { s.Spec.Supersede = "None" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := suite.StreamKey(tc.a), suite.StreamKey(tc.b)
			if a == "" || b == "" || (a == b) != tc.same {
				t.Errorf("%s\nkeys %q and %q, want the same: %t", tc.reason, a, b, tc.same)
			}
		})
	}
	if key := suite.StreamKey(aSuite("a", 0, withPolicy("None"), branch("main"))); key != "" {
		t.Errorf("a run with the policy None is in the stream %q", key)
	}
}

// TestSiblings decides about a run beside another of the stream of its Environment.
var shared = withPolicy("Environment")

var siblingsCases = map[string]struct {
	reason string
	self   *v1alpha1.Suite
	stream []*v1alpha1.Suite // beside it
	by     string            // superseded by
	starts bool
}{
	"newer notification": {
		reason: "Its Trigger does not matter.",
		self:   aSuite("a", 1, shared, notifiedBy("first")),
		stream: []*v1alpha1.Suite{aSuite("b", 2, shared, notifiedBy("second"), ofTrigger("other"))}, by: "b",
	},
	"older notification": {
		reason: "Two deployments are never tested at once.",
		self:   aSuite("b", 2, shared, notifiedBy("second")),
		stream: []*v1alpha1.Suite{aSuite("a", 1, shared, notifiedBy("first"), ofTrigger("other"))},
	},
	"newer sibling": {
		reason: "It tests the same deployment.",
		self:   aSuite("a", 1, shared, notifiedBy("first")),
		stream: []*v1alpha1.Suite{aSuite("b", 1, shared, notifiedBy("first"), ofTrigger("other"))}, starts: true,
	},
	"older sibling": {
		reason: "It need not be waited for.",
		self:   aSuite("b", 1, shared, notifiedBy("first")),
		stream: []*v1alpha1.Suite{aSuite("a", 1, shared, notifiedBy("first"), ofTrigger("other"))}, starts: true,
	},
	"older sibling and older run": {
		reason: "Only the older run is waited for, however old the sibling.",
		self:   aSuite("c", 3, shared, notifiedBy("second")),
		stream: []*v1alpha1.Suite{
			aSuite("a", 1, shared, notifiedBy("second"), ofTrigger("other")), aSuite("b", 2, shared, notifiedBy("first"), ofTrigger("third")),
		},
	},
	"between two siblings": {
		reason: "The newest notification is the one with the newest run.",
		self:   aSuite("b", 2, shared, notifiedBy("first")),
		stream: []*v1alpha1.Suite{
			aSuite("a", 1, shared, notifiedBy("second"), ofTrigger("other")), aSuite("c", 3, shared, notifiedBy("second"), ofTrigger("third")),
		}, by: "c",
	},
	"of the newest notification": {
		reason: "No run of the newest notification is superseded, though another run lies between it and its sibling.",
		self:   aSuite("a", 1, shared, notifiedBy("second")),
		stream: []*v1alpha1.Suite{
			aSuite("b", 2, shared, notifiedBy("first"), ofTrigger("other")), aSuite("c", 3, shared, notifiedBy("second"), ofTrigger("other")),
		}, starts: true,
	},
	"made by hand": {
		reason: "Without a notification there are no siblings.",
		self:   aSuite("a", 1, shared),
		stream: []*v1alpha1.Suite{aSuite("b", 2, shared, ofTrigger("other"))}, by: "b",
	},
	"another attempt of another Trigger": {
		reason: "It tests the same commit, and must not stop the run of it that goes on.",
		self:   aSuite("a", 1, shared, notifiedBy("first"), commit("1")),
		stream: []*v1alpha1.Suite{aSuite("b", 2, shared, notifiedBy("second"), ofTrigger("other"), commit("1"))}, starts: true,
	},
	"another attempt after another commit": {
		reason: "Something else was deployed in between.",
		self:   aSuite("a", 1, shared, notifiedBy("first"), commit("1")),
		stream: []*v1alpha1.Suite{
			aSuite("b", 2, shared, notifiedBy("second"), commit("2")), aSuite("c", 3, shared, notifiedBy("third"), ofTrigger("other"), commit("1")),
		}, by: "b",
	},
	"copy": {
		reason: "A copy of a Suite, made with its annotations, is another run of the same Trigger.",
		self:   aSuite("a", 1, shared, notifiedBy("first")),
		stream: []*v1alpha1.Suite{aSuite("b", 2, shared, notifiedBy("first"))}, by: "b",
	},
}

func TestSiblings(t *testing.T) {
	for name, tc := range siblingsCases {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: tc.self, Definition: defined(aTrigger(), anEnvironment()), Stream: append(tc.stream, tc.self)}
			d := decide(o, t0)
			if d.SupersededBy != tc.by || d.Action == lifecycle.CreateJob != tc.starts {
				t.Errorf("%s\nsuperseded by %q, starts: %t (%s), want %q, %t", tc.reason, d.SupersededBy, d.Action == lifecycle.CreateJob, d.Condition.Message, tc.by, tc.starts)
			}
			// The queue must agree on who waits for whom.
			q := queue.New()
			for _, s := range o.Stream {
				q.Set(s)
			}
			behind := !q.MayStart(tc.self.Name)
			if want := !tc.starts && tc.by == ""; behind != want && tc.by == "" {
				t.Errorf("%s\nblocked: %t, want %t", tc.reason, behind, want)
			}
		})
	}
}

// TestScheduleRunsAgain: a schedule tests a commit again that has a result, whatever its Trigger says about duplicates, but never beside a
// run of it, and once for each of its times.
func TestScheduleRunsAgain(t *testing.T) {
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{v1alpha1.AnnotationIdempotencyKey: k} }
	}
	a := commit("a")
	newer := []*v1alpha1.Suite{aSuite("newer", 3, commit("b"))}
	for name, tc := range map[string]struct {
		existing *v1alpha1.Suite
		want     bool
	}{
		"passed":                     {aSuite("run", 1, a, inState(v1alpha1.Passed(""))), true},
		"failed":                     {aSuite("run", 1, a, inState(v1alpha1.Failed(""))), true},
		"superseded":                 {aSuite("run", 1, a, inState(v1alpha1.Superseded(""))), true},
		"canceled":                   {aSuite("run", 1, a, inState(v1alpha1.Canceled(""))), true},
		"could not be run":           {aSuite("run", 1, a, inState(v1alpha1.Error(""))), true},
		"running":                    {aSuite("run", 1, a, inState(v1alpha1.Running(""))), false},
		"queued":                     {aSuite("run", 1, a), false},
		"being canceled":             {aSuite("run", 1, a, canceled), false},
		"being superseded":           {aSuite("run", 1, a, func(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" }), false},
		"being deleted":              {aSuite("run", 1, a, deleted), true},
		"the time before":            {aSuite("run", 1, a, key("schedule/1"), inState(v1alpha1.Passed(""))), true},
		"the time before, running":   {aSuite("run", 1, a, key("schedule/1")), false},
		"of this time":               {aSuite("run", 1, a, key("schedule/2")), false},
		"of this time, passed":       {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Passed(""))), false},
		"of this time, failed":       {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Failed(""))), false},
		"of this time, canceled":     {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Canceled(""))), false},
		"of this time, could not be": {aSuite("run", 1, a, key("schedule/2"), inState(v1alpha1.Error(""))), false},
	} {
		for _, policy := range []v1alpha1.DuplicatePolicy{v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment, v1alpha1.DuplicatesRerunUnsuccessful} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				r := rerun.Duplicate{Origin: v1alpha1.OriginSchedule, Policy: policy, Stream: newer, Ledger: aLedger(newer...)}
				if got := rerun.StartsAttempt(tc.existing, aSuite("next", 5, a, key("schedule/2")), r); got != tc.want {
					t.Errorf("got %t", got)
				}
			})
		}
	}
}

// TestScheduledSupersedesNothing, but is superseded, unless a deployment was notified while it continued.
func TestScheduledSupersedesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		run, other *v1alpha1.Suite
		want       bool // the run is superseded
	}{
		"a later one of a schedule":        {aSuite("run", 1, commit("a")), aSuite("nightly", 2, commit("b"), scheduled), false},
		"a later deployment":               {aSuite("nightly", 1, commit("a"), scheduled), aSuite("run", 2, commit("b")), true},
		"two of schedules":                 {aSuite("a", 1, commit("a"), scheduled), aSuite("b", 2, commit("b"), scheduled), false},
		"notified while it continued":      {aSuite("run", 1, commit("a")), aSuite("nightly", 2, commit("b"), scheduled, notifiedAgain(3)), true},
		"notified before the other one is": {aSuite("nightly", 1, commit("a"), scheduled, notifiedAgain(2)), aSuite("run", 3, commit("b")), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rerun.NoteSuperseded(tc.run.DeepCopy(), []*v1alpha1.Suite{tc.run, tc.other}); got != tc.want {
				t.Errorf("got %t", got)
			}
			o := lifecycle.Observation{Suite: tc.run, Stream: []*v1alpha1.Suite{tc.run, tc.other}, Definition: defined(aTrigger(), anEnvironment())}
			if got := decide(o, t0).Condition.Reason == v1alpha1.ReasonSuperseded; got != tc.want {
				t.Errorf("it is superseded: %t", got)
			}
		})
	}
}
