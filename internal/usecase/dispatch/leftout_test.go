package dispatch

import (
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

func leavingOut(left match.LeftOut) func(*Config) {
	return func(c *Config) {
		c.LeftOut = func(of string) match.LeftOut {
			if of != namespace {
				return match.LeftOut{}
			}
			return left
		}
	}
}

// TestTriggersThatAreLeftOut: a gate is not green without the tests of a Trigger that is too large to be known, whatever else matches.
func TestTriggersThatAreLeftOut(t *testing.T) {
	elsewhere := trigger("elsewhere", onBranch("other"))
	for reason, tc := range map[string]struct {
		left match.LeftOut
		of   string // the Trigger of the index
		want string // decisions by Trigger
		says string
	}{
		"none":                   {match.LeftOut{}, "smoke", "smoke created", ""},
		"one of two":             {match.LeftOut{Names: []string{"large"}}, "smoke", "smoke created, large failed", "not known whether it matches"},
		"what to do":             {match.LeftOut{Names: []string{"large"}}, "smoke", "smoke created, large failed", "has the reason TooLarge, do what it says"},
		"the only one":           {match.LeftOut{Names: []string{"large"}}, "elsewhere", "large failed", "not known whether it matches"},
		"more than are named":    {match.LeftOut{Names: []string{"a", "b"}, Others: 9998}, "elsewhere", "a failed, b failed", "9998 other Triggers"},
		"more than can be named": {match.LeftOut{Names: []string{"a"}, Others: 9, Unknown: true}, "elsewhere", "a failed", "than this server can name"},
	} {
		t.Run(reason, func(t *testing.T) {
			objects := acme(trigger("smoke"))
			if tc.of == "elsewhere" {
				objects = acme(elsewhere.DeepCopy())
			}
			h := start(t, setup{objects: objects, config: leavingOut(tc.left)})
			result := h.notify(withSHA)
			var got []string
			for _, r := range result.Triggers {
				got = append(got, r.Trigger+" "+string(r.Decision))
			}
			if joined := strings.Join(got, ", "); joined != tc.want || !strings.Contains(says(result, nil), tc.says) {
				t.Errorf("got %s: %s, want %s with %q", joined, says(result, nil), tc.want, tc.says)
			}
			if want := strings.Count(tc.want, "created"); len(h.suites()) != want {
				t.Errorf("%d Suites, want %d", len(h.suites()), want)
			}
		})
	}
}

// TestExplainsWhatIsLeftOut: a dry run names these Triggers, too.
func TestExplainsWhatIsLeftOut(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), config: leavingOut(match.LeftOut{Names: []string{"large"}})})
	result := h.notify(withSHA, dryRun)
	explanations := slices.Collect(result.Explanations)
	if len(explanations) != 2 || len(result.Triggers) != 2 {
		t.Fatalf("%d explanations and %d results, want 2 of each", len(explanations), len(result.Triggers))
	}
	last := explanations[1]
	if last.Trigger.Name != "large" || last.Matched || last.Criteria[0].Held || !strings.Contains(last.Criteria[0].Message, "too much memory") {
		t.Errorf("the explanation is %+v", last)
	}
}

// TestLeftOutIsNotGuessed: where no result can say what is left out, the notification fails as a whole, and starts nothing.
func TestLeftOutIsNotGuessed(t *testing.T) {
	some := match.LeftOut{Names: []string{"large"}}
	restricted := func(r *Request) { r.Grant = grant.Grant{Environments: []string{"staging"}} }
	for reason, tc := range map[string]struct {
		left   match.LeftOut
		sender func(*Request)
		want   string
	}{
		"not even names are known":                     {match.LeftOut{Unknown: true}, createMode, "overloaded: The server has not read all Triggers"},
		"the sender may reach some Environments":       {some, restricted, "forbidden: You may notify the Environments staging only"},
		"the sender may reach them, and all are known": {match.LeftOut{}, restricted, "created: "},
	} {
		t.Run(reason, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke")), config: leavingOut(tc.left)})
			got := says(h.dispatch(withSHA, tc.sender))
			if !strings.HasPrefix(got, tc.want) || strings.Contains(got, "large") {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if created := len(h.suites()); created != strings.Count(tc.want, "created") {
				t.Errorf("%d Suites", created)
			}
		})
	}
}

// TestScheduleNeedsNoOthers: a schedule concerns one Trigger, which is known.
func TestScheduleNeedsNoOthers(t *testing.T) {
	scheduled := trigger("smoke")
	h := start(t, setup{objects: acme(scheduled), config: leavingOut(match.LeftOut{Names: []string{"large"}})})
	result := h.notify(withSHA, func(r *Request) { r.Origin = FromSchedule(scheduled, noon, noon) })
	if len(result.Triggers) != 1 || result.Triggers[0].Trigger != "smoke" {
		t.Errorf("got %+v", result.Triggers)
	}
}
