package announce_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// ended is a run that ended a number of minutes after noon.
func ended(name, state string, minutes int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := aRun(state, change...)
	s.Name, s.Status.CompletionTime = name, new(at(minutes))
	return s
}

func in(environment string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Environment = environment }
}

func created(minutes int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.CreationTimestamp = at(minutes) }
}

func TestPrevious(t *testing.T) {
	now := ended("now", "Passed", 10)
	for name, tc := range map[string]struct {
		runs       []*v1alpha1.Suite
		remembered []v1alpha1.EnvironmentOutcome
		want       string
	}{
		"the first run":                    {nil, nil, ""},
		"itself is not before itself":      {[]*v1alpha1.Suite{now}, nil, ""},
		"one that passed":                  {[]*v1alpha1.Suite{ended("a", "Passed", 1)}, nil, "Passed"},
		"one that failed":                  {[]*v1alpha1.Suite{ended("a", "Failed", 1), now}, nil, "Failed"},
		"the last of several":              {[]*v1alpha1.Suite{ended("b", "Passed", 2), ended("a", "Failed", 1), ended("c", "Error", 3)}, nil, "Error"},
		"the last to end, not to begin":    {[]*v1alpha1.Suite{ended("a", "Passed", 2), ended("b", "Failed", 9)}, nil, "Failed"},
		"one that ended later":             {[]*v1alpha1.Suite{ended("a", "Passed", 1), ended("b", "Failed", 11)}, nil, "Passed"},
		"one that was canceled":            {[]*v1alpha1.Suite{ended("a", "Failed", 1), ended("b", "Canceled", 2)}, nil, "Failed"},
		"one that was superseded":          {[]*v1alpha1.Suite{ended("a", "Passed", 1), ended("b", "Superseded", 2)}, nil, "Passed"},
		"one that is Inconclusive":         {[]*v1alpha1.Suite{ended("a", "Failed", 1), ended("b", "Inconclusive", 2)}, nil, "Failed"},
		"a retry that failed":              {[]*v1alpha1.Suite{ended("a", "Passed", 1), ended("b", "Error", 2, isRetried), ended("c", "Failed", 3)}, nil, "Failed"},
		"a rerun of failed tests":          {[]*v1alpha1.Suite{ended("a", "Failed", 1), ended("b", "Passed", 2, onlyFailedOf("a"))}, nil, "Passed"},
		"one that goes on":                 {[]*v1alpha1.Suite{aRun("Running")}, nil, ""},
		"one that was retried":             {[]*v1alpha1.Suite{ended("a", "Passed", 1), ended("b", "Error", 2, isRetried)}, nil, "Passed"},
		"one elsewhere":                    {[]*v1alpha1.Suite{ended("a", "Failed", 1, in("production"))}, nil, ""},
		"in the same second":               {[]*v1alpha1.Suite{ended("a", "Failed", 10), ended("z", "Passed", 10)}, nil, "Failed"},
		"in the same second, by receipt":   {[]*v1alpha1.Suite{ended("z", "Passed", 10, created(-2)), ended("y", "Failed", 10, created(-1))}, nil, "Failed"},
		"deleted, and not counted yet":     {nil, []v1alpha1.EnvironmentOutcome{outcome("staging", "a", "Failed", 1, "")}, "Failed"},
		"deleted, and counted":             {[]*v1alpha1.Suite{now}, []v1alpha1.EnvironmentOutcome{outcome("staging", "now", "Passed", 10, "Failed")}, "Failed"},
		"deleted, and an older one exists": {[]*v1alpha1.Suite{ended("a", "Passed", 1), now}, []v1alpha1.EnvironmentOutcome{outcome("staging", "now", "Passed", 10, "Failed")}, "Failed"},
		"one of another service":           {[]*v1alpha1.Suite{ended("a", "Failed", 1, ofService("cart"))}, nil, ""},
		"another service, deleted":         {nil, []v1alpha1.EnvironmentOutcome{{Environment: "staging", Service: "cart", Suite: "a", State: "Failed", CompletionTime: outcome("staging", "a", "Failed", 1, "").CompletionTime}}, ""},
		"deleted elsewhere":                {nil, []v1alpha1.EnvironmentOutcome{outcome("production", "a", "Failed", 1, "")}, ""},
		"remembered, and a newer exists":   {[]*v1alpha1.Suite{ended("b", "Passed", 2)}, []v1alpha1.EnvironmentOutcome{outcome("staging", "a", "Failed", 1, "")}, "Passed"},
		"remembered from after it":         {[]*v1alpha1.Suite{ended("a", "Passed", 1)}, []v1alpha1.EnvironmentOutcome{outcome("staging", "b", "Failed", 11, "Passed")}, "Passed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := announce.Previous(now, tc.runs, tc.remembered); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func outcome(environment, suite, state string, minutes int, previous string) v1alpha1.EnvironmentOutcome {
	return v1alpha1.EnvironmentOutcome{Environment: environment, Suite: suite, State: state, CompletionTime: at(minutes), PreviousState: previous}
}

func TestOutcomes(t *testing.T) {
	runs := []*v1alpha1.Suite{
		ended("b", "Passed", 2), ended("a", "Failed", 1), ended("x", "TimedOut", 5, in("production")), ended("c", "Canceled", 9), aRun("Running"),
	}
	want := []v1alpha1.EnvironmentOutcome{outcome("production", "x", "TimedOut", 5, ""), outcome("staging", "b", "Passed", 2, "Failed")}
	got := announce.Outcomes(nil, runs)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the first time (-want +got):\n%s", diff)
	}
	slices.Reverse(runs)
	if diff := cmp.Diff(want, announce.Outcomes(got, runs)); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, announce.Outcomes(got, nil)); diff != "" {
		t.Errorf("after all runs were deleted (-want +got):\n%s", diff)
	}
	want = []v1alpha1.EnvironmentOutcome{want[0], outcome("staging", "d", "Failed", 12, "Passed")}
	if diff := cmp.Diff(want, announce.Outcomes(got, []*v1alpha1.Suite{ended("d", "Failed", 12)})); diff != "" {
		t.Errorf("after another run (-want +got):\n%s", diff)
	}
}

// TestOutcomesOfServices: a service that passes recovers from nothing that happened to another one.
func TestOutcomesOfServices(t *testing.T) {
	got := announce.Outcomes(nil, []*v1alpha1.Suite{ended("a", "Failed", 1, ofService("cart")), ended("b", "Passed", 2, ofService("mail")), ended("c", "Passed", 3)})
	var lines []string
	for _, o := range got {
		lines = append(lines, o.Service+" "+o.State+" "+o.PreviousState)
	}
	if want := []string{" Passed ", "cart Failed ", "mail Passed "}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

func ofService(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name }
}

// TestOutcomesAreBounded: the environments of pull requests come and go, and those that had a run last are kept.
func TestOutcomesAreBounded(t *testing.T) {
	var all []v1alpha1.EnvironmentOutcome
	for i := range 100 {
		name := string(rune('a'+i/10)) + string(rune('a'+i%10))
		all = announce.Outcomes(all, []*v1alpha1.Suite{ended(name, "Failed", i, in(name))})
	}
	if len(all) != 64 || all[0].Environment != "dg" || all[63].Environment != "jj" {
		t.Errorf("%d are kept, from %s to %s", len(all), all[0].Environment, all[len(all)-1].Environment)
	}
}
