package grant_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

func TestAllows(t *testing.T) {
	cases := map[string]struct {
		grant grant.Grant
		want  []grant.Action
	}{
		"nothing": {},
		"notify":  {grant.Grant{Actions: []grant.Action{grant.Notify}}, []grant.Action{grant.Notify}},
		"read":    {grant.Grant{Actions: []grant.Action{grant.Read}}, []grant.Action{grant.Outcome, grant.Read}},
		"outcome": {grant.Grant{Actions: []grant.Action{grant.Outcome}}, []grant.Action{grant.Outcome}},
		"all":     {grant.All(), grant.Actions},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, action := range grant.Actions {
				want := strings.Contains(join(tc.want), string(action))
				if got := tc.grant.Allows(action); got != want {
					t.Errorf("%s: %v, want %v", action, got, want)
				}
			}
		})
	}
}

func join(actions []grant.Action) (text string) {
	for _, a := range actions {
		text += string(a) + " "
	}
	return text
}

const (
	commit = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
	other  = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
)

func TestNotificationProblem(t *testing.T) {
	job := grant.Grant{Commit: commit, Repositories: []string{"acme/shop"}, Branches: []string{"main"}}
	cases := map[string]struct {
		grant grant.Grant
		sent  notification.Notification
		want  string // part of it; empty: none
	}{
		"no bounds":         {sent: notification.Notification{DeploymentType: "any", SHA: other}},
		"type":              {grant: grant.Grant{DeploymentTypes: []string{"preview", "staging"}}, sent: notification.Notification{DeploymentType: "staging"}},
		"another type":      {grant: grant.Grant{DeploymentTypes: []string{"staging"}}, sent: notification.Notification{DeploymentType: "staging2"}, want: "staging only"},
		"type by beginning": {grant: grant.Grant{DeploymentTypes: []string{"pr-*"}}, sent: notification.Notification{DeploymentType: "pr-7"}},
		"no beginning":      {grant: grant.Grant{DeploymentTypes: []string{"pr-*"}}, sent: notification.Notification{DeploymentType: "production"}, want: "pr-* only"},
		"no type":           {grant: grant.Grant{DeploymentTypes: []string{"staging"}}, want: `has ""`},
		"any type":          {grant: grant.Grant{DeploymentTypes: []string{"*"}}},
		"commit":            {grant: grant.Grant{Commit: commit}, sent: notification.Notification{SHA: commit}},
		"upper case":        {grant: grant.Grant{Commit: strings.ToUpper(commit)}, sent: notification.Notification{SHA: commit}},
		"another commit":    {grant: grant.Grant{Commit: commit}, sent: notification.Notification{SHA: other}, want: "issued for the commit " + commit},
		"no commit":         {grant: grant.Grant{Commit: commit}},

		"no commit, which the token has not, either": {grant: grant.Grant{Commit: "HEAD"}, want: "names no commit"},

		"its repository":     {grant: job, sent: notification.Notification{SHA: commit, Repository: "Acme/Shop"}},
		"another repository": {grant: job, sent: notification.Notification{SHA: commit, Repository: "acme/other"}, want: "issued for a job of acme/shop"},
		"another one, alone": {grant: job, sent: notification.Notification{Repository: "acme/other"}, want: "issued for a job of acme/shop"},
		"a part of its name": {grant: job, sent: notification.Notification{SHA: commit, Repository: "acme/sho"}, want: "issued for a job of acme/shop"},
		"no repository":      {grant: job, sent: notification.Notification{SHA: commit}},
		"its branch":         {grant: job, sent: notification.Notification{SHA: commit, Branch: "main"}},
		"its ref":            {grant: job, sent: notification.Notification{SHA: commit, Branch: "refs/heads/main"}},
		"another branch":     {grant: job, sent: notification.Notification{SHA: commit, Branch: "release"}, want: "issued for the branch main"},
		"another case":       {grant: job, sent: notification.Notification{SHA: commit, Branch: "Main"}, want: "issued for the branch main"},
		"a branch of any":    {grant: grant.Grant{Commit: commit}, sent: notification.Notification{SHA: commit, Branch: "x", Repository: "x/y"}},
		"version":            {grant: grant.Grant{Commit: "v1.0-RC1"}, sent: notification.Notification{SHA: "v1.0-RC1", Repository: "acme/shop"}},
		"version's case":     {grant: grant.Grant{Commit: "v1.0-RC1"}, sent: notification.Notification{SHA: "v1.0-rc1"}, want: "another one"},
		"part of a commit":   {grant: grant.Grant{Commit: commit}, sent: notification.Notification{SHA: commit[:12]}, want: "another one"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.grant.NotificationProblem(&tc.sent)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestComplete: a notification without a commit gets that of the token, and no other one is changed.
func TestComplete(t *testing.T) {
	for name, tc := range map[string]struct {
		claim, sent, want string
	}{
		"none":             {commit, "", commit},
		"in upper case":    {strings.ToUpper(commit), "", commit},
		"its own":          {commit, commit, commit},
		"nothing is bound": {"", "", ""},
		"a version":        {"", "v1.0", "v1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &notification.Notification{SHA: tc.sent, Branch: "main"}
			grant.Grant{Commit: tc.claim}.Complete(n)
			if n.SHA != tc.want || n.Branch != "main" || n.Repository != "" {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestEnvironmentProblem(t *testing.T) {
	cases := map[string]struct {
		allowed []string
		name    string
		ok      bool
	}{
		"no bounds": {name: "production", ok: true},
		"allowed":   {allowed: []string{"staging", "preview-*"}, name: "preview-eu", ok: true},
		"another":   {allowed: []string{"staging", "preview-*"}, name: "production"},
		"longer":    {allowed: []string{"staging"}, name: "staging-eu"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (grant.Grant{Environments: tc.allowed}).EnvironmentProblem(tc.name); (got == "") != tc.ok {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestTerminationProblem(t *testing.T) {
	previews := []string{"preview", "pr-*"}
	cases := map[string]struct {
		grant grant.Grant
		types []string // of the runs of the Environment pr-7, which is made of staging
		want  string   // part of it; empty: none
	}{
		"no bounds":             {types: []string{"any"}},
		"no bounds, no run":     {},
		"types":                 {grant.Grant{DeploymentTypes: previews}, []string{"preview", "pr-7"}, ""},
		"another type":          {grant.Grant{DeploymentTypes: previews}, []string{"preview", "qa"}, `preview, pr-* only, and the Environment pr-7 has a run of "qa"`},
		"no type":               {grant.Grant{DeploymentTypes: previews}, []string{""}, `a run of ""`},
		"no run":                {grant.Grant{DeploymentTypes: previews}, nil, "no run says"},
		"Environment, no run":   {grant.Grant{DeploymentTypes: previews, Environments: []string{"staging"}}, nil, ""},
		"Environment, not type": {grant.Grant{DeploymentTypes: previews, Environments: []string{"staging"}}, []string{"qa"}, `a run of "qa"`},
		"another Environment":   {grant.Grant{Environments: []string{"production"}}, []string{"preview"}, "reaches the Environment staging"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.grant.TerminationProblem("pr-7", "staging", tc.types)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestRunProblem: the bounds of notifications are none of commands.
func TestRunProblem(t *testing.T) {
	cases := map[string]struct {
		acts grant.Bounds
		want string // part of it; empty: none
	}{
		"no bounds":           {},
		"allowed":             {grant.Bounds{DeploymentTypes: []string{"pre*"}, Environments: []string{"stag*"}}, ""},
		"another type":        {grant.Bounds{DeploymentTypes: []string{"qa"}}, `qa only, and this run has "preview"`},
		"another Environment": {grant.Bounds{Environments: []string{"production"}}, "production only, and this reaches the Environment staging"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := grant.Grant{Acts: tc.acts, DeploymentTypes: []string{"x"}, Environments: []string{"x"}}.RunProblem("staging", "preview")
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
