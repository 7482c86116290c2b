package redeployed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/redeployed"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

const (
	here, there = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	previewURL  = "https://pr-1.example.com"
)

var since = time.Date(2026, 11, 26, 12, 0, 0, 123456000, time.UTC)

func aTrigger(name, environment string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{Spec: v1alpha1.TriggerSpec{Environment: environment, Match: v1alpha1.TriggerMatch{Branches: []string{"main"}}}}
	t.Name = name
	for _, c := range change {
		c(t)
	}
	return t
}

func paused(t *v1alpha1.Trigger) { t.Spec.Paused = true }

func takes(types, repositories []string) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		t.Spec.Match.DeploymentTypes, t.Spec.Match.Repositories = types, repositories
	}
}

func broken(t *v1alpha1.Trigger) { t.Spec.Match.Expression = "notification." }

func preview(name string) string {
	base := &v1alpha1.Environment{}
	base.Name = name
	return suite.EphemeralEnvironment(base, previewURL, time.Time{}).Name
}

// TestIsOther: what may have been deployed to the Environment makes a run that repeats failed tests no gate, and what was not does not.
func TestIsOther(t *testing.T) {
	shop := takes([]string{"staging"}, []string{"acme/shop"})
	smoke := aTrigger("smoke", "staging", shop)
	stops := aTrigger("visual", "staging", takes([]string{"hotfix"}, []string{"acme/shop"}), paused)
	stops.Spec.Match.Branches = nil
	pay := aTrigger("pay", "pay-staging", takes([]string{"staging"}, []string{"acme/pay"}))
	region := aTrigger("region", "staging", takes([]string{"eu"}, nil), paused, func(t *v1alpha1.Trigger) {
		t.Spec.Match.Branches, t.Spec.Match.Expression = nil, "notification.variables['REGION'] == 'eu'"
	})
	usual := []*v1alpha1.Trigger{smoke, stops, pay, region}
	for name, tc := range map[string]struct {
		reason string
		change func(*record.Notification)
		in     []*v1alpha1.Trigger // instead of the usual ones
		of     string              // instead of staging
		want   bool
	}{
		"same commit":              {"it is that of the run", func(n *record.Notification) { n.SHA = here }, nil, "", false},
		"same, another repository": {"a commit is one of a repository", func(n *record.Notification) { n.SHA, n.Repository = here, "acme/fork"; n.Matched = []string{"smoke"} }, nil, "", true},
		"before":                   {"the run is of a later one", func(n *record.Notification) { n.At = since.Add(-time.Second); n.Matched = []string{"smoke"} }, nil, "", false},
		"in the same second":       {"not all times are more exact", func(n *record.Notification) { n.At = since.Truncate(time.Second); n.Matched = []string{"smoke"} }, nil, "", true},
		"no commit":                {"nobody knows which", func(n *record.Notification) { n.SHA = "" }, nil, "", true},

		"matched here":          {"its Suite was deleted", func(n *record.Notification) { n.Branch, n.Matched = "main", []string{"smoke"} }, nil, "", true},
		"matched, and changed":  {"the Trigger matched then", func(n *record.Notification) { n.Matched = []string{"smoke"} }, nil, "", true},
		"matched elsewhere":     {"another Environment has it", func(n *record.Notification) { n.Repository, n.Matched = "acme/pay", []string{"pay"} }, nil, "", false},
		"both":                  {"one Trigger of each matched", func(n *record.Notification) { n.Matched = []string{"pay", "smoke"} }, nil, "", true},
		"too many matched":      {"this Trigger may be one of those left out", func(n *record.Notification) { n.Matched, n.MoreMatched = []string{"pay"}, 1 }, nil, "", true},
		"paused":                {"the Trigger says that it is here", func(n *record.Notification) { n.DeploymentType = "hotfix" }, nil, "", true},
		"paused, and elsewhere": {"the paused one would match as well", func(n *record.Notification) { n.DeploymentType, n.Matched = "hotfix", []string{"pay"} }, nil, "", true},
		"paused, elsewhere":     {"nothing says that it is here", func(n *record.Notification) { n.DeploymentType, n.Repository = "pay", "acme/pay" }, nil, "", false},
		"a value is withheld": {"the paused Trigger may match", func(n *record.Notification) {
			n.DeploymentType, n.Matched, n.Withheld = "eu", []string{"pay"}, []string{"REGION"}
		}, nil, "", true},
		"a value is another": {"it does not match, and another one does", func(n *record.Notification) {
			n.DeploymentType, n.Matched = "eu", []string{"pay"}
			n.Variables = map[string]string{"REGION": "us"}
		}, nil, "", false},

		"no match":                {"the branch is none that is tested", func(n *record.Notification) {}, nil, "", true},
		"no match, another type":  {"it is of another place", func(n *record.Notification) { n.DeploymentType = "production" }, nil, "", false},
		"no type":                 {"it is of no place that is tested", func(n *record.Notification) { n.DeploymentType = "" }, nil, "", false},
		"another repository":      {"the Triggers of the Environment name theirs", func(n *record.Notification) { n.Repository = "acme/docs" }, []*v1alpha1.Trigger{smoke, pay}, "", false},
		"any repository":          {"a Trigger of the Environment takes all", func(n *record.Notification) { n.Repository = "acme/docs" }, nil, "", true},
		"no repository":           {"it may be this one", func(n *record.Notification) { n.Repository = "" }, []*v1alpha1.Trigger{smoke, pay}, "", true},
		"its Trigger was deleted": {"as if nothing had matched", func(n *record.Notification) { n.Matched = []string{"gone"} }, nil, "", true},
		"deleted, another type":   {"as if nothing had matched", func(n *record.Notification) { n.DeploymentType, n.Matched = "production", []string{"gone"} }, nil, "", false},
		"recreated elsewhere": {"that of then may have been here", func(n *record.Notification) { n.Matched = []string{"pay"} }, []*v1alpha1.Trigger{smoke, aTrigger("pay", "pay-staging", func(t *v1alpha1.Trigger) {
			t.CreationTimestamp.Time = since.Add(time.Hour)
		})}, "", true},
		"a broken Trigger":   {"it matches nothing, and its type is known", func(n *record.Notification) { n.DeploymentType = "b" }, []*v1alpha1.Trigger{smoke, aTrigger("b", "staging", takes([]string{"b"}, nil), broken)}, "", true},
		"no Trigger is left": {"nobody knows its Environment", func(n *record.Notification) {}, []*v1alpha1.Trigger{pay}, "", true},

		"a rollout":           {"it names the Environment", func(n *record.Notification) { n.Way, n.Environment = record.WayWorkload, "staging" }, nil, "", true},
		"a rollout elsewhere": {"it names another", func(n *record.Notification) { n.Way, n.Environment = record.WayWorkload, "pay-staging" }, nil, "", false},

		"a preview":       {"that is another Environment", func(n *record.Notification) { n.EphemeralEnvironment, n.DeploymentURL = true, previewURL }, nil, "", false},
		"of this preview": {"the URL is the same", func(n *record.Notification) { n.EphemeralEnvironment, n.DeploymentURL = true, previewURL }, nil, preview("staging"), true},
		"of another preview": {"the URL is another", func(n *record.Notification) {
			n.EphemeralEnvironment, n.DeploymentURL = true, "https://pr-2.example.com"
		}, nil, preview("staging"), false},
		"static, not of preview": {"no preview was deployed", func(n *record.Notification) { n.DeploymentURL = previewURL }, nil, preview("staging"), false},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.Suite{Spec: v1alpha1.SuiteSpec{
				Environment: "staging", Trigger: v1alpha1.TriggerReference{Name: "smoke"},
				Deployment: v1alpha1.Deployment{SHA: here, Repository: "acme/shop", Type: "staging"},
			}}
			if tc.of != "" {
				run.Spec.Environment = tc.of
			}
			triggers := usual
			if tc.in != nil {
				triggers = tc.in
			}
			n := record.Notification{At: since.Add(time.Minute), Way: record.WayAPI, Branch: "hotfix/1", SHA: there, Repository: "acme/shop", DeploymentType: "staging"}
			tc.change(&n)
			if got := redeployed.New(run, since, triggers).IsOther(&n); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	for name, tc := range map[string]struct {
		n    *record.Notification
		want string
	}{
		"nothing": {nil, ""},
		"all": {
			&record.Notification{SHA: there, Repository: "acme/shop", DeploymentType: "staging"},
			`After the run e2e-1, the commit 22222222 of acme/shop was notified with the deployment type "staging", so that it may have been deployed to the Environment.`,
		},
		"as little as there is": {&record.Notification{}, "After the run e2e-1, a deployment without a commit was notified, so that it may have been deployed to the Environment."},
		"hostile": {
			&record.Notification{SHA: "\x1b[31m\nred", DeploymentType: strings.Repeat("x", 1000)},
			`After the run e2e-1, the commit red was notified with the deployment type "` + plaintext.Line(strings.Repeat("x", 1000), 100) + `", so that it may have been deployed to the Environment.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := redeployed.Describe(tc.n, "e2e-1"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestTooLongAgo(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		ago, kept time.Duration
		says      string
	}{
		"a week less a second":     {7*day - time.Second, 30 * day, ""},
		"a week":                   {7 * day, 30 * day, "The commit of the run e2e-1 was notified more than 168h ago"},
		"a day, of which is known": {day - time.Second, day, ""},
		"a day, of which is less":  {day, day, "more than 24h ago, which is too long to know what was deployed since."},
	} {
		t.Run(name, func(t *testing.T) {
			got := redeployed.TooLongAgo("e2e-1", since, since.Add(tc.ago), tc.kept)
			if !strings.Contains(got, tc.says) || tc.says == "" && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}
