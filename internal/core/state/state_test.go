package state_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// onlySome are the fields that some ends lack, and which do.
var onlySome = map[string]func(state.Row) bool{
	"WhyNoVerdict": func(r state.Row) bool { return !r.NoVerdict },
	"Gate":         func(r state.Row) bool { return !r.NoVerdict },
	"DecidedBy":    func(r state.Row) bool { return r.TestsDecided },
}

// TestRows: each state of the API has a row, and no row lacks a word. Most readers would show an empty one, and no other test would fail.
func TestRows(t *testing.T) {
	var reasons, ends []string
	for _, r := range state.All() {
		reasons = append(reasons, r.Reason)
		if r.Ended() {
			ends = append(ends, r.Reason)
		}
		if r.Open() == r.Ended() {
			t.Errorf("%s has the phase %q", r.Reason, r.Phase)
		}
		if r.Key != strings.ToLower(r.Reason) {
			t.Errorf("%s has the key %q", r.Reason, r.Key)
		}
		fields := reflect.ValueOf(r)
		aboutEnds := false
		for i := range fields.NumField() {
			name := fields.Type().Field(i).Name
			aboutEnds = aboutEnds || name == "Bad"
			if fields.Field(i).Kind() != reflect.String {
				continue
			}
			empty := aboutEnds && !r.Ended()
			if lacks := onlySome[name]; lacks != nil {
				empty = empty || lacks(r)
			}
			if (fields.Field(i).Len() == 0) != empty {
				t.Errorf("%s of %s is %q", name, r.Reason, fields.Field(i))
			}
		}
	}
	if diff := cmp.Diff(v1alpha1.States(), reasons); diff != "" {
		t.Errorf("states of the API, and rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(v1alpha1.Ends(), ends); diff != "" {
		t.Errorf("ends of the API, and rows (-want +got):\n%s", diff)
	}
}

// TestLooks: each icon has its own shape, and each state all colours.
func TestLooks(t *testing.T) {
	color, seen := regexp.MustCompile(`^#[0-9a-f]{6}$`), map[string]bool{}
	for _, r := range append(state.All(), state.Of("Later")) {
		if seen[r.Icon] || seen[r.Label] {
			t.Errorf("%s looks like another state", r.Reason)
		}
		seen[r.Icon], seen[r.Label] = true, true
		if r.Ended() || r.Open() {
			for _, c := range []string{r.Colors.Light, r.Colors.LightSoft, r.Colors.Dark, r.Colors.DarkSoft} {
				if !color.MatchString(c) {
					t.Errorf("%s has the color %q", r.Reason, c)
				}
			}
		}
	}
}

// TestGreen: only Passed is green. A state that only a later version knows is not.
func TestGreen(t *testing.T) {
	for _, r := range append(state.All(), state.Of("Later")) {
		passed := r.Reason == v1alpha1.ReasonPassed
		for _, shown := range []string{r.CDEvent, r.Trace} {
			if (shown == "success") != passed {
				t.Errorf("%s is shown as %q", r.Reason, shown)
			}
		}
		if r.Green != passed {
			t.Errorf("%s is green: %v", r.Reason, r.Green)
		}
		if (r.Conclusion == state.Success) != passed || (r.Conclusion == state.Pending) != r.Open() {
			t.Errorf("%s has the conclusion %d", r.Reason, r.Conclusion)
		}
		if (r.Weight == 0) != passed {
			t.Errorf("%s weighs %d", r.Reason, r.Weight)
		}
		if r.Ended() && (passed == (r.Bad || r.NoVerdict) || r.Bad && r.NoVerdict || (r.Figure == nil) != r.NoVerdict) {
			t.Errorf("%s is bad: %v, without a verdict: %v, and has a figure: %v", r.Reason, r.Bad, r.NoVerdict, r.Figure != nil)
		}
	}
}
