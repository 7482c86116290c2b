package match

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func environments(names ...string) (all []v1alpha1.Environment) {
	for _, name := range names {
		all = append(all, v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	return all
}

// TestAnyTypeWarning: a Trigger that other deployments of its team match, too, names their Environments, and what to set.
func TestAnyTypeWarning(t *testing.T) {
	preview := environments("pr-7")
	preview[0].Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{DeploymentURL: "https://pr-7.example.com", ExpiresAt: metav1.NewTime(time.Unix(1e9, 0))}
	foreign := environments("staging")
	foreign[0].Namespace = "other"
	for name, tc := range map[string]struct {
		reason string
		change option
		others []v1alpha1.Environment
		want   string // the Environments; empty: no warning
	}{
		"no condition":       {"every notification matches", nil, environments("prod", "staging"), "to staging"},
		"branches":           {"a branch is deployed everywhere", branches("main"), environments("staging", "prod"), "to staging"},
		"repositories":       {"so is a repository", repositories("acme/shop"), environments("prod", "staging"), "to staging"},
		"another expression": {"it reads nothing of the place", expressionOf("notification.sha != ''"), environments("prod", "staging"), "to staging"},
		"several":            {"all are named, in order", nil, environments("qa", "prod", "nightly"), "to nightly, qa"},
		"many":               {"a message has a bound", nil, environments("a", "b", "c", "d", "e", "f", "g"), "to a, b, c, d, e and others"},
		"types":              {"it says which", deploymentTypes("prod"), environments("prod", "staging"), ""},
		"a type in CEL":      {"it may say which", expressionOf("notification.deployment_type.startsWith('prod')"), environments("prod", "staging"), ""},
		"a URL in CEL":       {"it may say which", expressionOf("notification.deployment_url.contains('prod')"), environments("prod", "staging"), ""},
		"pull requests only": {"they are previews", func(t *v1alpha1.Trigger) { t.Spec.Match.PullRequest = v1alpha1.PullRequestOnly },
			environments("prod", "staging"), ""},
		"paused": {"it matches nothing", func(t *v1alpha1.Trigger) { t.Spec.Paused = true }, environments("prod", "staging"), ""},
		"schedule only": {"it matches nothing", func(t *v1alpha1.Trigger) {
			t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "0 3 * * *", Only: true}
		}, environments("prod", "staging"), ""},
		"one Environment":   {"there is no other", nil, environments("prod"), ""},
		"previews":          {"they derive from it", nil, append(environments("prod"), preview...), ""},
		"of another team":   {"its notifications are not matched", nil, append(environments("prod"), foreign...), ""},
		"no Environment":    {"the Trigger is not ready", nil, nil, ""},
		"not its own alone": {"it is missing", nil, environments("staging"), "to staging"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := trigger("e2e", func(t *v1alpha1.Trigger) { t.Spec.Environment = "prod" })
			if tc.change != nil {
				tc.change(tr)
			}
			got := AnyTypeWarning(tr, tc.others)
			if tc.want == "" && got == "" {
				return
			}
			if tc.want == "" || !strings.Contains(got, "when a deployment "+tc.want+" is notified") || !strings.Contains(got, "match.deploymentTypes") {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
