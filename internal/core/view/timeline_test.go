package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// jobAt is a Job that was created and ended so long after the receipt of its run. An end of 0: it has not ended.
func jobAt(created, ended time.Duration) *batchv1.Job {
	received := now.Add(-10 * time.Minute)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(received.Add(created))}}
	if ended > 0 {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, LastTransitionTime: metav1.NewTime(received.Add(ended))}}
	}
	return j
}

func TestTimeline(t *testing.T) {
	cases := map[string]struct {
		reason string
		suite  *v1alpha1.Suite
		job    *batchv1.Job
		want   []string
	}{
		"Waiting":         {"It has only waited.", run("a", v1alpha1.Queued("")), nil, []string{"queued 10m 00s now"}},
		"Starting":        {"The Job is there, and the tests are not.", run("a", v1alpha1.Starting("")), jobAt(8*time.Second, 0), []string{"queued 8s", "starting 9m 52s now"}},
		"Running":         {"The tests go on.", run("a", running, started(13*time.Second)), jobAt(8*time.Second, 0), []string{"queued 8s", "starting 5s", "tests 9m 47s now"}},
		"Ended":           {"All phases are known.", run("a", passed, ran(13*time.Second, 4*time.Minute)), jobAt(8*time.Second, 4*time.Minute+9*time.Second), []string{"queued 8s", "starting 5s", "tests 3m 56s", "saving 4s"}},
		"Job gone":        {"What was before the tests is one wait.", run("a", passed, ran(13*time.Second, 4*time.Minute)), nil, []string{"queued 13s", "tests 4m 00s"}},
		"At once":         {"A phase of no time says nothing.", run("a", passed, ran(0, time.Minute)), jobAt(0, time.Minute), []string{"tests 1m 00s"}},
		"Never started":   {"It ended while it waited.", run("a", canceled, func(s *v1alpha1.Suite) { s.Status.CompletionTime = new(metav1.NewTime(s.Received().Add(time.Minute))) }), nil, []string{"queued 1m 00s"}},
		"Clocks disagree": {"No phase is negative.", run("a", passed, ran(2*time.Second, time.Minute)), jobAt(5*time.Second, time.Minute), []string{"queued 5s", "tests 55s", "saving 2s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			width := 0.0
			for _, p := range view.Timeline(tc.suite, tc.job, now) {
				text := p.Label + " " + p.Duration
				if p.Current {
					text += " now"
				}
				got = append(got, text)
				width += p.Width
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if width < 99.9 || width > 100.1 {
				t.Errorf("the parts of the bar are %.1f%% of it", width)
			}
		})
	}
}
