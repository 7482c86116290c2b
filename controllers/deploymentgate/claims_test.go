package deploymentgate_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
)

// TestAnotherTeam: with the manager's own credentials, a team with an EventSource and a green of its own does not answer for the team whose
// repository it is, not even with a rejection. It sends its events itself, so nothing that an event went through can tell.
func TestAnotherTeam(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		theirs    []string // what the Team of the others lists
		suspended bool
		want      string // empty: nothing is sent
		message   string
	}{
		"the others list it by its name": {theirs: []string{repository}, message: "another team"},
		"and are suspended":              {theirs: []string{repository}, suspended: true, message: "another team"},
		"both list it with others":       {theirs: []string{"acme/*"}, want: rejected, message: "several teams"},
		"the others do not list it":      {theirs: []string{"acme/docs"}, want: approved, message: "passed"},
	} {
		for _, kind := range onBoth {
			t.Run(name+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				w := newGateWorld(t, ownCredentials)
				w.Stop()
				for name, source := range map[string]string{"production": "github", "lab": "gitlab"} {
					w.Change(gateOf(name, source, ""), func(o client.Object) { o.(*v1alpha1.DeploymentGate).Spec.Credentials = nil })
				}
				others := w.Namespace(t)
				w.Create(build.Team(others, "", func(t *v1alpha1.Team) {
					t.Spec.Repositories, t.Spec.Suspended = w.listed(tc.theirs...), tc.suspended
				}), build.In(others, build.Environment("staging")), build.In(others, build.Secret(eventSecret, nil)))
				for _, s := range []*v1alpha1.EventSource{source("github", v1alpha1.EventsOfGitHub), source("gitlab", v1alpha1.EventsOfGitLab)} {
					g := gateOf(s.Name, s.Name, "")
					g.Spec.Credentials = nil
					w.Create(build.In(others, s), build.In(others, g))
				}
				w.StartManager(others)
				w.passed("a", build.Commit(1))
				q := w.waits(kind, build.Commit(1))
				name := w.asks(q, 1, 1)
				if tc.want != "" {
					w.isTold(q, name, tc.want, tc.message)
					return
				}
				r := w.ends(name)
				// The others look at their repository on GitLab themselves, and have no Trigger.
				decided := slices.ContainsFunc(q.host.Decisions(q.id), func(d codehost.Decision) bool {
					return !strings.Contains(d.Comment, "which the gate gitlab requires")
				})
				if told := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionDelivered); r.Status.Decision != nil || decided ||
					len(q.host.Progress(q.id)) > 0 || told == nil || !strings.Contains(told.Message, tc.message) {
					t.Errorf("the host has %+v, and the review %+v", q.host.Decisions(q.id), r.Status)
				}
			})
		}
	}
}

// listed are entries of a Team for a repository on both hosts.
func (w *gateWorld) listed(names ...string) (entries []string) {
	for _, name := range names {
		for _, host := range w.Approvers {
			entries = append(entries, host.Name+"/"+name)
		}
	}
	return entries
}

// ownCredentials gives the manager some, which the team may use for all repositories of acme, and its gates name none.
func ownCredentials(w *gateWorld) {
	for kind, data := range map[v1alpha1.HostingService]map[string][]byte{v1alpha1.GitHub: codehost.Secret(), v1alpha1.GitLab: build.Token(w.gitLab.Token())} {
		c, problem := report.ParseSecret(kind, data)
		if problem != "" {
			w.T.Fatal(problem)
		}
		host := w.Approvers[kind]
		host.Own = func() (report.Credentials, error) { return c, nil }
		w.Approvers[kind] = host
	}
	w.Change(build.Team(w.NS, ""), func(o client.Object) { o.(*v1alpha1.Team).Spec.Repositories = w.listed("acme/*") })
}
