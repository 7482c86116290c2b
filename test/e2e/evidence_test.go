package e2e

import (
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestEvidence: the published client gets no green for a failed test behind exit code 0, and, where the Trigger tests each
// deployment, none for another one of the same commit.
func TestEvidence(t *testing.T) {
	tier.All(t, "TestResults counts failed tests, and what is a duplicate is decided in internal/core/run/rerun")
	t.Parallel()
	c := useCluster(t)
	npmClient(t)
	tm := newTeam(t, c)
	tm.trigger("commit", keeps(), runs(report))
	tm.trigger("deployment", keeps(), runs(report), func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesDeployment })
	m := tm.sharedManager()
	sent := sha()
	deployed := func(url, failed string) (commit, deployment result) {
		all := tm.notify(m, notification{"branch": "main", "sha": sent, "deployment_url": url, "variables": map[string]string{"FAILED": failed}})
		return all[0], all[1]
	}
	outcome := func(r result, want string) {
		t.Helper()
		got := tm.poll(t, map[string]any{"apiKey": tm.key, "serviceBase": m.url, "poll": map[string]any{"runId": r.Created}})["outcome"]
		if got != want {
			t.Errorf("%s ends as %v, want %s", r.Created, got, want)
		}
	}

	first, blue := deployed("https://blue.example.com", "")
	outcome(first, "success")
	outcome(blue, "success")
	if _, again := deployed("https://blue.example.com", ""); again.Duplicate != blue.Created || again.Differs != nil {
		t.Errorf("the same deployment: %+v, want a duplicate of %s", again, blue.Created)
	}
	commit, green := deployed("https://green.example.com", "5")
	if commit.Duplicate != first.Created || !slices.Equal(commit.Differs, []string{"deployment_url", "variables"}) {
		t.Errorf("another deployment, with duplicates: Commit: %+v, want a duplicate of %s that differs", commit, first.Created)
	}
	if green.Created == "" || green.Created == blue.Created {
		t.Fatalf("another deployment, with duplicates: Deployment: %+v", green)
	}
	outcome(green, "failed")
	s := tm.awaitState(green.Created, v1alpha1.ReasonFailed)
	story(t, "%s", message(s))
	tm.checkMessage(s, `Container "test" exited with 0, but 1 of 120 tests failed`, "test 005")
}
