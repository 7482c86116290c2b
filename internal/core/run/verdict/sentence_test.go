package verdict_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// TestSentences: people read these beside a deployment that waits for them.
func TestSentences(t *testing.T) {
	both, e2e := triggers(trigger("smoke"), trigger("e2e")), of("e2e")
	three := triggers(trigger("smoke"), trigger("e2e"), trigger("visual"))
	for name, tc := range map[string]struct {
		q                verdict.Question
		sentence, advice string
	}{
		"one passed":   {question(run("a", 0, passed)), "The required Trigger has passed for 5ca1ab1e on staging since 20 November 12:01 UTC.", ""},
		"two passed":   {asked(question(run("a", 0, passed), run("b", 0, passed, e2e)), both), "Both required Triggers have passed for 5ca1ab1e on staging since 20 November 12:01 UTC.", ""},
		"three passed": {asked(question(run("a", 0, passed), run("b", 0, passed, e2e), run("c", 9, passed, of("visual"))), three), "All 3 required Triggers have passed for 5ca1ab1e on staging since 20 November 12:10 UTC.", ""},
		"too young":    {asked(question(run("a", 0, passed)), minAge(24*time.Hour)), "The required Trigger has passed for 5ca1ab1e on staging since 20 November 12:01 UTC, and must have passed for 24h: that is until 21 November 12:01 UTC.", "Wait, or use postflight gate --wait."},
		"failed": {asked(question(run("a", 0, passed), run("b", 0, failed, e2e, newFailures("TestPay"))), both), "1 of 2 required Triggers failed for 5ca1ab1e on staging: e2e with 1 new failure (TestPay).",
			"Deploy a commit that fixes it. If the commit is not the cause, rerun b. Then ask again."},
		"many failures": {question(run("a", 0, failed, newFailures("A", "B", "C", "D"))), "1 of 1 required Trigger failed for 5ca1ab1e on staging: smoke with 4 new failures (A; B; C).",
			"Deploy a commit that fixes it. If the commit is not the cause, rerun a. Then ask again."},
		"all failed": {asked(question(run("a", 0, failed), run("b", 0, failed, e2e)), both), "2 of 2 required Triggers failed for 5ca1ab1e on staging: e2e, smoke.",
			"Deploy a commit that fixes it. If the commit is not the cause, rerun b, a. Then ask again."},
		"withdrawn": {question(run("a", 0, passed), run("b", 9, failed)), "1 of 1 required Trigger passed for 5ca1ab1e on staging, and failed in a later run: smoke.",
			"Deploy a commit that fixes it. If the commit is not the cause, rerun b. Then ask again."},
		"replaced": {question(run("a", 0, failed), run("b", 9, running, commitOf("acme/shop", otherSHA))), "1 of 1 required Trigger failed for 5ca1ab1e on staging: smoke.",
			"Deploy a commit that fixes it. If the commit is not the cause, rerun a. staging has deadbeef by now, so deploy the commit there again first."},
		"running": {asked(question(run("a", 0, passed), run("b", 0, running, e2e)), both), "1 of 2 required Triggers has not ended for 5ca1ab1e on staging: e2e.", "Wait, or use postflight gate --wait."},
		"two run": {asked(question(run("a", 0, queued), run("b", 0, running, e2e)), both), "2 of 2 required Triggers have not ended for 5ca1ab1e on staging: e2e, smoke.", "Wait, or use postflight gate --wait."},
		"too old": {asked(question(run("a", 0, passed)), maxAge(30*time.Minute)), "1 of 1 required Trigger passed for 5ca1ab1e on staging, but the result is stale: smoke. It passed 59 minutes ago, and a result counts for 30m.",
			"Start new runs with postflight gate --run. Then ask again."},
		"another deployment": {question(run("a", 0, passed, answeredOther(5, v1alpha1.DifferentVariables))), "1 of 1 required Trigger passed for 5ca1ab1e on staging, but the result is stale: smoke. " +
			"The commit was deployed again since, with another URL, other variables or other files, which no run has tested.",
			"Notify the deployment again, and request a rerun: only the notification has what differs. Then ask again."},
		"no run": {question(), "No run of 5ca1ab1e on staging is known.",
			"Deploy the commit to staging and notify Postflight, or check the commit, which must be the whole SHA, the repository and the Environment."},
		"no Trigger": {asked(question(run("a", 0, passed)), triggers()), "The Triggers that tested 5ca1ab1e on staging do not exist any more.",
			"Create a Trigger of staging that matches the deployment, and notify Postflight again."},
		"no result": {question(run("a", 0, canceled)), "1 of 1 required Trigger has no result for 5ca1ab1e on staging: smoke.",
			"Start what is missing with postflight gate --run. Then ask again."},
		"a run is missing": {asked(question(run("a", 0, passed, siblings("e2e"))), both), "1 of 2 required Triggers has no result for 5ca1ab1e on staging: e2e. It matched a deployment of this commit, and has no run of it.",
			"Start what is missing with postflight gate --run. Then ask again."},
		"not Ready": {asked(question(run("a", 0, passed)), triggers(trigger("smoke"), trigger("e2e", notReady("The image is missing.")))), "1 of 2 required Triggers has no result for 5ca1ab1e on staging: e2e. " +
			"It is not Ready, so it is not known whether it should have run: The image is missing.",
			"Make the Trigger Ready (kubectl describe trigger e2e -n shop), or name the required Triggers in spec.gate of the Environment."},
		"too large": {asked(question(run("a", 0, passed)), func(q *verdict.Question) { q.LeftOut = []string{"e2e"} }), "1 of 2 required Triggers has no result for 5ca1ab1e on staging: e2e. " +
			"It is too large for the manager, so it is not known whether it should have run.",
			"Make the Trigger smaller, or name the required Triggers in spec.gate of the Environment."},
		"too large, and named": {asked(question(run("a", 0, passed)), requires("e2e"), func(q *verdict.Question) { q.LeftOut = []string{"e2e"} }), "1 of 1 required Trigger has no result for 5ca1ab1e on staging: e2e. " +
			"It is too large for the manager, so it is not known whether it should have run.",
			"Make the Trigger smaller, or name the required Triggers in spec.gate of the Environment."},
		"unknown": {asked(question(run("a", 0, passed)), requires("smok")), "1 of 1 required Trigger has no result for 5ca1ab1e on staging: smok. There is no such Trigger of this Environment.",
			"Create the Trigger, or require others: in spec.gate of the Environment, or in what asked."},
		"many": {asked(question(), requires("a", "b", "c", "d", "e")), "5 of 5 required Triggers have no result for 5ca1ab1e on staging: a, b, c, and 2 more.",
			"Deploy the commit to staging and notify Postflight, or check the commit, which must be the whole SHA, the repository and the Environment."},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict.Of(tc.q)
			if got := v.Sentence(); got != tc.sentence {
				t.Errorf("got\n%s, want\n%s", got, tc.sentence)
			}
			if got := v.Advice(); got != tc.advice {
				t.Errorf("advice\n%s, want\n%s", got, tc.advice)
			}
		})
	}
}

// TestHostileNames: what others write stays on one line, and is cut.
func TestHostileNames(t *testing.T) {
	name := "Test\nPassed\u202e" + strings.Repeat("x", 500)
	q := question(run("a", 0, failed, service("web\n"), newFailures(name)))
	q.Commit.Revision = strings.ToUpper(sha)
	v := verdict.Of(q)
	for _, text := range []string{v.Sentence(), v.Advice(), v.Requirements[0].Message(), v.Requirements[0].NewFailures()[0]} {
		if strings.ContainsAny(text, "\n\u202e") || len(text) > 500 || text == "" {
			t.Errorf("%q", text)
		}
	}
}

// TestShown: the answer of the HTTP API.
func TestShown(t *testing.T) {
	q := asked(question(run("a", 0, passed), run("b", 9, running, commitOf("acme/shop", otherSHA))), maxAge(time.Hour), minAge(time.Minute))
	got := verdict.Of(q).Shown("shop", "https://ci.example.com")
	switch {
	case got.State != "passed" || !got.Passed || got.Sentence == "" || got.Advice != "":
		t.Errorf("the state: %+v", got)
	case got.SHA != sha || got.Repository != "acme/shop" || got.Branch != "main" || got.Environment != "staging" || got.Team != "shop":
		t.Errorf("the question: %+v", got)
	case got.URL != "https://ci.example.com/environments/shop/staging/commits/"+sha:
		t.Errorf("its page is %s", got.URL)
	case got.Since == nil || !got.Since.Equal(at(1)) || got.ExpiresAt == nil || !got.ExpiresAt.Equal(at(61)) || got.OpensAt != nil:
		t.Errorf("since %v, until %v, opens %v", got.Since, got.ExpiresAt, got.OpensAt)
	case got.DeployedAt == nil || !got.DeployedAt.Equal(at(0)) || got.ReplacedBy != otherSHA || !got.ReplacedAt.Equal(at(9)):
		t.Errorf("deployed at %v, replaced by %s at %v", got.DeployedAt, got.ReplacedBy, got.ReplacedAt)
	case got.Rule.MaxAge != "1h" || got.Rule.MinAge != "1m" || got.Rule.Triggers != nil:
		t.Errorf("the rule: %+v", got.Rule)
	case len(got.Requirements) != 1 || got.Requirements[0].Run != "a" || got.Requirements[0].URL != "https://ci.example.com/runs/shop/a" || !got.Requirements[0].EndedAt.Equal(at(1)):
		t.Errorf("the requirements: %+v", got.Requirements)
	}
}
