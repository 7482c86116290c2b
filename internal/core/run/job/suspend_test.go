package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestInitialSuspend(t *testing.T) {
	cases := map[string]struct {
		reason string
		queue  string
		own    *bool
		want   *bool
	}{
		"suspended, with a queue":      {"Kueue resumes the Job.", "tests", new(true), new(true)},
		"suspended, without a queue":   {"Nobody would resume it.", "", new(true), nil},
		"not suspended, with a queue":  {"Kueue suspends the Job itself.", "tests", nil, nil},
		"explicitly not, with a queue": {"Kueue suspends the Job itself.", "tests", new(false), new(false)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trigger := newTrigger(func(t *v1alpha1.Trigger) {
				t.Spec.JobTemplate.Spec.Suspend = tc.own
				if tc.queue != "" {
					t.Spec.JobTemplate.Labels = map[string]string{QueueLabel: tc.queue}
				}
			})
			if diff := cmp.Diff(tc.want, Build(newSuite(), trigger, newEnvironment()).Spec.Suspend); diff != "" {
				t.Errorf("%s suspend: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
