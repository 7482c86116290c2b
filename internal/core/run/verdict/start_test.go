package verdict_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// TestStarts: what is missing or stale is started, unless that could not change the verdict.
func TestStarts(t *testing.T) {
	both, e2e := triggers(trigger("smoke"), trigger("e2e")), of("e2e")
	other := answeredOther(5, v1alpha1.DifferentVariables)
	for name, tc := range map[string]struct {
		reason string
		q      verdict.Question
		want   string
	}{
		"passed":                 {q: question(run("a", 0, passed))},
		"failed":                 {reason: "a gate that repeats until tests pass proves nothing", q: question(run("a", 0, failed))},
		"withdrawn":              {q: question(run("a", 0, passed), run("b", 5, failed))},
		"running":                {q: question(run("a", 0, running))},
		"without a result":       {q: question(run("a", 0, canceled)), want: "smoke reruns a"},
		"too old":                {q: asked(question(run("a", 0, passed)), maxAge(1)), want: "smoke reruns a"},
		"too old, then canceled": {reason: "only the last attempt can be repeated", q: asked(question(run("a", 0, passed), run("b", 5, canceled)), maxAge(1)), want: "smoke reruns b"},
		"another deployment":     {reason: "a rerun has the variables of before", q: question(run("a", 0, passed, other)), want: "smoke !"},
		"another one, canceled":  {q: question(run("a", 0, canceled, other)), want: "smoke !"},
		"another one has a run":  {reason: "which has its variables", q: question(run("a", 0, passed, variables("firefox")), run("b", 5, canceled, variables("chrome"))), want: "smoke reruns b"},
		"a sibling without one":  {q: asked(question(run("a", 0, passed, siblings("e2e")), run("b", 5, passed)), both), want: "e2e tests a"},
		"a sibling of a service": {q: asked(question(run("a", 0, passed, service("api"), siblings("e2e")), run("b", 5, passed, service("web"), siblings("e2e")), run("c", 5, passed, e2e, service("web"))), both), want: "e2e api tests a"},
		"one that is required":   {q: asked(question(run("a", 0, passed)), both, requires("smoke", "e2e")), want: "e2e tests a"},
		"an unknown one":         {q: asked(question(run("a", 0, passed)), requires("smok")), want: "smok !"},
		"one that is not Ready":  {q: asked(question(run("a", 0, passed)), triggers(trigger("smoke"), trigger("e2e", notReady("")))), want: "e2e !"},
		"nothing was deployed":   {q: asked(question(), requires("smoke")), want: "smoke !"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range verdict.Of(tc.q).Starts() {
				text := v1alpha1.TestName(s.Trigger, s.Service)
				switch {
				case s.Problem != "":
					text += " !"
				case s.Rerun != "":
					text += " reruns " + s.Rerun
				default:
					text += " tests " + s.Tests
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
