package rerun_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

func TestRunsAgain(t *testing.T) {
	sha := func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "b776998" }
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{"postflight.dev/idempotency-key": k} }
	}
	stopping := func(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" }
	newer := []*v1alpha1.Suite{aSuite("newer", 3)}
	ended := func(c metav1.Condition) *v1alpha1.Suite { return aSuite("run", 1, sha, inState(c)) }
	const reject, unsuccessful = v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesRerunUnsuccessful
	for name, tc := range map[string]struct {
		existing *v1alpha1.Suite
		key      string // of the notification
		stream   []*v1alpha1.Suite
		policy   v1alpha1.DuplicatePolicy
		want     bool
	}{
		"a run that goes on is the run":              {existing: aSuite("run", 1, sha), policy: reject},
		"also where its Trigger repeats what failed": {existing: aSuite("run", 1, sha), policy: unsuccessful},
		"passed": {existing: ended(v1alpha1.Passed("")), policy: reject},
		"passed before something newer was deployed": {existing: ended(v1alpha1.Passed("")), stream: newer, policy: unsuccessful},
		"failed":                                      {existing: ended(v1alpha1.Failed("")), policy: reject},
		"timed out":                                   {existing: ended(v1alpha1.TimedOut("")), policy: reject},
		"failed, and the Trigger repeats that":        {existing: ended(v1alpha1.Failed("")), policy: unsuccessful, want: true},
		"superseded":                                  {existing: ended(v1alpha1.Superseded("")), policy: reject, want: true},
		"canceled":                                    {existing: ended(v1alpha1.Canceled("")), policy: reject, want: true},
		"could not be run":                            {existing: ended(v1alpha1.Error("")), policy: reject, want: true},
		"about to be superseded":                      {existing: aSuite("run", 1, sha), stream: newer, policy: reject, want: true},
		"notified again, as the cache knows":          {existing: aSuite("run", 1, sha), stream: []*v1alpha1.Suite{aSuite("run", 1, sha, notifiedAgain(3))}, policy: reject},
		"without a SHA, notified again":               {existing: aSuite("run", 1, key("k")), key: "l", stream: []*v1alpha1.Suite{aSuite("run", 1, key("k"), notifiedAgain(3))}, policy: v1alpha1.DuplicatesDeployment},
		"passed while it was superseded":              {existing: aSuite("run", 1, sha, stopping, inState(v1alpha1.Passed(""))), policy: reject, want: true},
		"passed while superseded, and sent again":     {existing: aSuite("run", 1, sha, stopping, key("k"), inState(v1alpha1.Passed(""))), key: "k", policy: reject},
		"failed while superseded, and sent again":     {existing: aSuite("run", 1, sha, stopping, key("k"), inState(v1alpha1.Failed(""))), key: "k", policy: unsuccessful},
		"being superseded, by a run that is not seen": {existing: aSuite("run", 1, sha, stopping), policy: reject, want: true},
		"being canceled":                              {existing: aSuite("run", 1, sha, canceled), policy: reject, want: true},
		"being deleted":                               {existing: aSuite("run", 1, sha, deleted), policy: reject, want: true},
		"superseded, and sent again":                  {existing: aSuite("run", 1, key("k"), inState(v1alpha1.Superseded(""))), key: "k", stream: newer, policy: reject},
		"superseded, and sent again with its SHA":     {existing: aSuite("run", 1, sha, key("k"), inState(v1alpha1.Superseded(""))), key: "k", policy: reject},
		"about to be superseded, and sent again":      {existing: aSuite("run", 1, sha, key("k")), key: "k", stream: newer, policy: reject},
		"superseded, and notified anew":               {existing: aSuite("run", 1, sha, key("k"), inState(v1alpha1.Superseded(""))), key: "l", policy: reject, want: true},
		"canceled, and sent again":                    {existing: aSuite("run", 1, key("k"), inState(v1alpha1.Canceled(""))), key: "k", policy: reject, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rerun.StartsAttempt(tc.existing, aSuite("next", 5, key(tc.key)), rerun.Duplicate{Origin: v1alpha1.OriginNotification, Stream: tc.stream, Policy: tc.policy, Ledger: aLedger(tc.stream...)}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestOtherDeploymentRunsAgain: what each policy says about a result that another notification finds.
func TestOtherDeploymentRunsAgain(t *testing.T) {
	const commitOnly, deployment, unsuccessful = v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment, v1alpha1.DuplicatesRerunUnsuccessful
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{"postflight.dev/idempotency-key": k} }
	}
	a := commit("a")
	passed, running := aSuite("run", 1, a, inState(v1alpha1.Passed(""))), aSuite("run", 1, a) // it ended at 61
	other, same := []*v1alpha1.Suite{passed, aSuite("newer", 2, commit("b"))}, []*v1alpha1.Suite{passed, aSuite("newer", 2, a, ofTrigger("checkout"))}
	differs := []v1alpha1.Difference{v1alpha1.DifferentURL}
	for name, tc := range map[string]struct {
		existing *v1alpha1.Suite
		r        rerun.Duplicate
		key      string // of both notifications
		want     bool
	}{
		"another URL":                             {existing: passed, r: rerun.Duplicate{Policy: commitOnly, Differences: differs}},
		"another URL, which counts":               {existing: passed, r: rerun.Duplicate{Policy: deployment, Differences: differs}, want: true},
		"another URL, after a failure":            {existing: passed, r: rerun.Duplicate{Policy: unsuccessful, Differences: differs}},
		"another URL while it runs":               {existing: running, r: rerun.Duplicate{Policy: commitOnly, Differences: differs}},
		"another URL while it runs, which counts": {existing: running, r: rerun.Duplicate{Policy: deployment, Differences: differs}, want: true},
		"the same deployment":                     {existing: passed, r: rerun.Duplicate{Policy: deployment}},
		"the same deployment while it runs":       {existing: running, r: rerun.Duplicate{Policy: deployment}},
		"rollback":                                {existing: passed, r: rerun.Duplicate{Policy: commitOnly, Stream: other}},
		"rollback, after a failure":               {existing: passed, r: rerun.Duplicate{Policy: unsuccessful, Stream: other}},
		"rollback, which counts":                  {existing: passed, r: rerun.Duplicate{Policy: deployment, Stream: other}, want: true},
		"rollback in another stream":              {existing: passed, r: rerun.Duplicate{Policy: deployment, Ledger: aLedger(other...)}, want: true},
		"the commit, of another Trigger":          {existing: passed, r: rerun.Duplicate{Policy: deployment, Ledger: aLedger(same...)}},
		"rollback, sent again":                    {existing: passed, r: rerun.Duplicate{Policy: deployment, Stream: other}, key: "k"},
		"a rerun":                                 {existing: passed, r: rerun.Duplicate{Policy: commitOnly, Rerun: true}, want: true},
		"a rerun, sent again":                     {existing: passed, r: rerun.Duplicate{Policy: commitOnly, Rerun: true}, key: "k"},
		"a rerun while it runs":                   {existing: running, r: rerun.Duplicate{Policy: commitOnly, Rerun: true}},
		"of an age":                               {existing: passed, r: rerun.Duplicate{MaxAge: time.Hour, ReceivedAt: t0.Add(time.Hour + 61*time.Second)}},
		"too old":                                 {existing: passed, r: rerun.Duplicate{MaxAge: time.Hour, ReceivedAt: t0.Add(time.Hour + 62*time.Second)}, want: true},
		"too old, and the key is an old one":      {existing: passed, r: rerun.Duplicate{MaxAge: time.Hour, ReceivedAt: t0.Add(time.Hour + 62*time.Second)}, key: "k"},
		"running for long":                        {existing: running, r: rerun.Duplicate{MaxAge: time.Second, ReceivedAt: t0.Add(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			existing, desired := tc.existing.DeepCopy(), aSuite("next", 5, a)
			if tc.key != "" {
				key(tc.key)(existing)
				key(tc.key)(desired)
			}
			if tc.r.Origin = v1alpha1.OriginNotification; tc.r.Ledger == nil {
				tc.r.Ledger = aLedger(tc.r.Stream...)
			}
			if got := rerun.StartsAttempt(existing, desired, tc.r); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestRolloutRunsAgain: a rollout starts a run if that of its commit was notified before another commit was deployed, whatever its Trigger
// says about duplicates, and only once.
func TestRolloutRunsAgain(t *testing.T) {
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{"postflight.dev/idempotency-key": k} }
	}
	again := func(by string, seconds int) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { notifiedAgain(seconds)(s); s.Status.NotifiedAgainBy = by }
	}
	run := func(seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		return aSuite("run", seconds, append(change, commit("a"))...)
	}
	passed, failed, running := inState(v1alpha1.Passed("")), inState(v1alpha1.Failed("")), inState(v1alpha1.Running(""))
	superseded, stopped, broken := inState(v1alpha1.Superseded("")), inState(v1alpha1.Canceled("")), inState(v1alpha1.Error(""))
	const before, after = 9, 11 // another commit was deployed at 10, and this one is rolled out at 20
	for name, tc := range map[string]struct {
		existing *v1alpha1.Suite
		policy   v1alpha1.DuplicatePolicy
		want     bool
	}{
		"passed before":                       {existing: run(before, passed), want: true},
		"passed after":                        {existing: run(after, passed)},
		"passed, notified when the other was": {existing: run(10, passed)},
		"failed before":                       {existing: run(before, failed), want: true},
		"failed after":                        {existing: run(after, failed)},
		"failed after, which repeats":         {existing: run(after, failed), policy: v1alpha1.DuplicatesRerunUnsuccessful, want: true},
		"running since before":                {existing: run(before, running), want: true},
		"running since after":                 {existing: run(after, running)},
		"superseded before":                   {existing: run(before, superseded), want: true},
		"superseded after":                    {existing: run(after, superseded), want: true},
		"canceled before":                     {existing: run(before, stopped), want: true},
		"canceled after":                      {existing: run(after, stopped), want: true},
		"could not be run, before":            {existing: run(before, broken), want: true},
		"could not be run, after":             {existing: run(after, broken), want: true},
		"notified again after":                {existing: run(before, running, again("ci", after))},
		"notified again after, passed":        {existing: run(before, passed, again("ci", after))},
		"notified again before":               {existing: run(1, passed, again("ci", before)), want: true},
		"passed before, of each deployment":   {existing: run(before, passed), policy: v1alpha1.DuplicatesDeployment, want: true},
		"passed after, of each deployment":    {existing: run(after, passed), policy: v1alpha1.DuplicatesDeployment},

		"sent again":                    {existing: run(20, key("k"))},
		"sent again, running":           {existing: run(20, key("k"), running)},
		"sent again, passed":            {existing: run(20, key("k"), passed)},
		"sent again, failed":            {existing: run(20, key("k"), failed), policy: v1alpha1.DuplicatesRerunUnsuccessful},
		"sent again, superseded":        {existing: run(20, key("k"), superseded)},
		"sent again, canceled":          {existing: run(20, key("k"), stopped)},
		"sent again, being canceled":    {existing: run(20, key("k"), canceled)},
		"sent again, could not be run":  {existing: run(20, key("k"), broken)},
		"sent again, found and failed":  {existing: run(after, failed, again("k", 20)), policy: v1alpha1.DuplicatesRerunUnsuccessful},
		"sent again, found and stopped": {existing: run(after, stopped, again("k", 20))},
		"sent again, by a slow clock":   {existing: run(before, key("k"), passed)},
	} {
		t.Run(name, func(t *testing.T) {
			r := rerun.Duplicate{Origin: v1alpha1.OriginRollout, Policy: tc.policy, ReceivedAt: t0.Add(20 * time.Second), Ledger: ledgerOfRollout(t0.Add(10 * time.Second))}
			desired := aSuite("next", 20, commit("a"), key("k"))
			if got := rerun.StartsAttempt(tc.existing, desired, r); got != tc.want {
				t.Errorf("got %t", got)
			}
			r.Ledger = aLedger()
			if again := rerun.NotifiedBy(tc.existing, "k") && rerun.StartsAttempt(tc.existing, desired, r); again {
				t.Error("it runs again if nobody knows what was deployed before")
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	url := func(u string) func(*v1alpha1.Suite) { return func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = u } }
	variables := func(v map[string]string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Variables = v }
	}
	run := aSuite("run", 1, url("https://a"), variables(map[string]string{"A": "1"}))
	for name, tc := range map[string]struct {
		desired *v1alpha1.Suite
		want    []v1alpha1.Difference
	}{
		"the same":        {aSuite("run", 5, url("https://a"), variables(map[string]string{"A": "1"}), branch("x")), nil},
		"another URL":     {aSuite("run", 5, url("https://b"), variables(map[string]string{"A": "1"})), []v1alpha1.Difference{"DeploymentURL"}},
		"no URL":          {aSuite("run", 5, variables(map[string]string{"A": "1"})), []v1alpha1.Difference{"DeploymentURL"}},
		"another value":   {aSuite("run", 5, url("https://a"), variables(map[string]string{"A": "2"})), []v1alpha1.Difference{"Variables"}},
		"another name":    {aSuite("run", 5, url("https://a"), variables(map[string]string{"B": "1"})), []v1alpha1.Difference{"Variables"}},
		"one more, empty": {aSuite("run", 5, url("https://a"), variables(map[string]string{"A": "1", "B": ""})), []v1alpha1.Difference{"Variables"}},
		"both":            {aSuite("run", 5), []v1alpha1.Difference{"DeploymentURL", "Variables"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rerun.Differences(run, tc.desired)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatal(diff)
			}
			existing := run.DeepCopy()
			if noted := rerun.NoteDuplicate(existing, tc.desired, rerun.Duplicate{Differences: got, Ledger: aLedger()}) && existing.Status.AnsweredOther != nil; noted != (len(got) > 0) {
				t.Errorf("noted: %+v", existing.Status.AnsweredOther)
			}
			if again := existing.DeepCopy(); rerun.NoteDuplicate(again, tc.desired, rerun.Duplicate{Differences: got, Ledger: aLedger()}) {
				t.Errorf("an equal notification is noted again: %+v", again.Status)
			}
		})
	}
	if empty, none := (aSuite("run", 1, variables(map[string]string{}))), aSuite("run", 5); len(rerun.Differences(empty, none)) > 0 {
		t.Error("no variables differ from none")
	}
}

// TestVariablesDigest: the digest is that of jq -cSj . | sha256sum.
func TestVariablesDigest(t *testing.T) {
	for want, variables := range map[string]map[string]string{
		"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a": nil,
		"sha256:%x": {"B": "<&>", "A": "ü"},
	} {
		if strings.Contains(want, "%x") {
			want = fmt.Sprintf(want, sha256.Sum256([]byte(`{"A":"ü","B":"<&>"}`)))
		}
		if got := suite.VariablesDigest(variables); got != want {
			t.Errorf("%v: %s, want %s", variables, got, want)
		}
	}
}

func TestNotifyAgain(t *testing.T) {
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{"postflight.dev/idempotency-key": k} }
	}
	for name, tc := range map[string]struct {
		reason   string
		existing *v1alpha1.Suite
		key      string // of the notification, which is received at 5
		want     bool
	}{
		"running":            {"It is the newest deployment again.", aSuite("run", 1), "", true},
		"with another key":   {"Another notification has another key.", aSuite("run", 1, key("k")), "l", true},
		"with the same key":  {"The client repeats a notification that it had no answer to.", aSuite("run", 1, key("k")), "k", false},
		"noted with its key": {"The client repeats a notification that was noted.", aSuite("run", 1, key("k"), notifiedAgain(3), func(s *v1alpha1.Suite) { s.Status.NotifiedAgainBy = "l" }), "l", false},
		"noted before":       {"A third notification counts as the second did.", aSuite("run", 1, notifiedAgain(3)), "", true},
		"noted later":        {"The two overlapped, and the later one counts.", aSuite("run", 1, notifiedAgain(6)), "", false},
		"received later":     {"The existing run is of a later notification.", aSuite("run", 6), "", false},
		"ended":              {"The end of a run never changes, and nothing supersedes it.", aSuite("run", 1, inState(v1alpha1.Passed(""))), "", false},
		"without a stream":   {"It is deployed again, also if nothing supersedes it.", aSuite("run", 1, withPolicy(v1alpha1.SupersedeNone)), "", true},
		"in an Environment":  {"Others may supersede it.", aSuite("run", 1, withPolicy(v1alpha1.SupersedeEnvironment)), "", true},
		"about to be queued": {"It is as good as running.", aSuite("run", 1, inState(v1alpha1.Queued(""))), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			desired := aSuite("run", 5, key(tc.key))
			desired.CreationTimestamp = metav1.Time{}
			newer := aSuite("newer", 4)
			if got := rerun.NoteDuplicate(tc.existing, desired, rerun.Duplicate{Origin: v1alpha1.OriginNotification, Ledger: aLedger()}); got != tc.want {
				t.Fatalf("%s got %t", tc.reason, got)
			}
			if tc.want && tc.key != "" && !rerun.NotifiedBy(tc.existing, tc.key) {
				t.Errorf("the key %q is not noted", tc.key)
			}
			if tc.want && ledger.Compare(tc.existing, newer) <= 0 {
				t.Errorf("a run of an older notification counts as newer")
			}
		})
	}
}

// TestNotifiedBy: keys that are sent again find their run. A bound keeps its status small.
func TestNotifiedBy(t *testing.T) {
	s := aSuite("run", 0, func(s *v1alpha1.Suite) {
		s.Annotations = map[string]string{v1alpha1.AnnotationIdempotencyKey: "created"}
		s.Status.NotifiedAgainBy = "of an earlier version"
	})
	sends := func(key string) {
		desired := aSuite("run", 1, func(s *v1alpha1.Suite) { s.Annotations = map[string]string{v1alpha1.AnnotationIdempotencyKey: key} })
		rerun.NoteDuplicate(s, desired, rerun.Duplicate{Origin: v1alpha1.OriginNotification, Ledger: aLedger()})
	}
	if !rerun.NotifiedBy(s, "of an earlier version") {
		t.Error("what an earlier version noted is forgotten")
	}
	for i := range 70 {
		sends("created")
		sends(fmt.Sprint(i))
		sends(fmt.Sprint(i / 2))
	}
	for key, want := range map[string]bool{"created": true, "69": true, "20": true, "0": false, "70": false, "": false} {
		if got := rerun.NotifiedBy(s, key); got != want {
			t.Errorf("%q: %t", key, got)
		}
	}
	if len(s.Status.FoundBy) != 64 {
		t.Errorf("%d digests", len(s.Status.FoundBy))
	}
}

// ledgerOfRollout is the ledger of an Environment whose workloads had another commit since a time, and have the commit a now.
func ledgerOfRollout(other time.Time) *ledger.Ledger {
	e := anEnvironment()
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "shop"}}
	e.Status.Deployed = []v1alpha1.Deployed{{
		SHA: "a", Since: new(metav1.NewTime(t0.Add(20 * time.Second))), Workloads: []v1alpha1.DeployedWorkload{{Name: "shop"}},
		Previous: &v1alpha1.PreviousDeployment{SHA: "b", Since: new(metav1.NewTime(other))},
	}}
	return ledger.Of(e, nil)
}
