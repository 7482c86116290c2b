package verdict_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// TestRelevant: which run counts for a pipeline that waits for another one.
func TestRelevant(t *testing.T) {
	newer, newest := run("b", 1, superseded), run("c", 2, running)
	otherNewer, otherNewest := run("b2", 1, superseded, of("checkout")), run("d", 3, passed, of("checkout"))
	cases := map[string]struct {
		reason string
		root   *v1alpha1.Suite
		stream []*v1alpha1.Suite
		want   string
	}{
		"alone":                  {root: run("a", 0, running), want: "a"},
		"repeated":               {root: run("a", 0, inconclusive, repeatedBy("b")), stream: []*v1alpha1.Suite{run("b", 1, passed)}, want: "b"},
		"its repetition is gone": {reason: "there is no result", root: run("a", 0, inconclusive, repeatedBy("b")), want: "a"},
		"its repetition was superseded": {reason: "as the run would have been", root: run("a", 0, inconclusive, repeatedBy("b")),
			stream: []*v1alpha1.Suite{newer, newest}, want: "c"},
		"superseded":            {root: run("a", 0, superseded), stream: []*v1alpha1.Suite{newest, newer}, want: "c"},
		"about to be":           {reason: "it may still pass", root: run("a", 0, running), stream: []*v1alpha1.Suite{newer, newest}, want: "a"},
		"passed before":         {reason: "it has an outcome of its own", root: run("a", 0, passed), stream: []*v1alpha1.Suite{newest}, want: "a"},
		"canceled":              {root: run("a", 0, canceled), stream: []*v1alpha1.Suite{newest}, want: "a"},
		"its successor is gone": {root: run("b", 1, superseded), stream: []*v1alpha1.Suite{run("a", 0, passed), newer}, want: "b"},
		"superseded by another Trigger's run": {reason: "a gate never borrows what other tests found", root: run("a", 0, superseded),
			stream: []*v1alpha1.Suite{otherNewest, otherNewer}, want: "a"},
		"superseded by both Triggers' runs": {reason: "its own tests ran on the newer deployment", root: run("a", 0, superseded),
			stream: []*v1alpha1.Suite{newest, otherNewer}, want: "c"},
		"another Trigger's run is newer still": {reason: "the newest of its own Trigger counts, however it ends", root: run("a", 0, superseded),
			stream: []*v1alpha1.Suite{otherNewest, newer, otherNewer}, want: "b"},
		"a schedule's run is newer still": {reason: "it superseded nothing", root: run("a", 0, superseded),
			stream: []*v1alpha1.Suite{newest, run("d", 3, passed, by(v1alpha1.OriginSchedule))}, want: "c"},
		"its own Trigger's run is older": {reason: "it tested an earlier deployment", root: run("b", 1, superseded),
			stream: []*v1alpha1.Suite{run("a", 0, passed), otherNewest}, want: "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := verdict.Relevant(tc.root, tc.stream); got.Name != tc.want {
				t.Errorf("%s: relevant is %s, want %s", tc.reason, got.Name, tc.want)
			}
		})
	}
}
