package deploymentgate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/deploymentgate"
	reportcontroller "github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

const (
	repository   = "acme/shop"
	eventSecret  = "postflight-events"
	gitHubSecret = "postflight-github"
	gitLabSecret = "postflight-gitlab"
	approved     = "approved"
	rejected     = "rejected"
)

// gateWorld has a gate for the environment "production" of each code host. It requires that a commit has passed in "staging".
type gateWorld struct {
	*world.World
	gitHub, gitLab *codehost.Host
	runs           int64
}

func newGateWorld(t *testing.T, change ...func(*gateWorld)) *gateWorld {
	t.Helper()
	w := &gateWorld{World: world.Empty(t), gitHub: codehost.GitHub(t), gitLab: codehost.GitLab(t)}
	hosts := map[v1alpha1.HostingService]deploymentgate.CodeHostConfig{
		v1alpha1.GitHub: {CodeHost: github.New(w.gitHub.URL, outbound.New()), Name: report.HostOf(v1alpha1.GitHub, w.gitHub.URL), Limits: report.LimitsOf(v1alpha1.GitHub)},
		v1alpha1.GitLab: {CodeHost: gitlab.New(w.gitLab.URL, outbound.New()), Name: report.HostOf(v1alpha1.GitLab, w.gitLab.URL), Limits: report.LimitsOf(v1alpha1.GitLab)},
	}
	w.Approvers, w.CodeHosts = hosts, reportcontroller.Config{Options: report.Options{PublicURL: "https://ci.example.com"}}
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	w.Create(build.Secret(gitHubSecret, codehost.Secret()), build.Secret(gitLabSecret, build.Token(w.gitLab.Token())),
		build.Secret(eventSecret, map[string][]byte{"key": []byte(strings.Repeat("s", 32))}))
	w.Grant("ClusterRole", "postflight-credentials-reader")
	for _, c := range change {
		c(w)
	}
	w.Create(source("github", v1alpha1.EventsOfGitHub), source("gitlab", v1alpha1.EventsOfGitLab))
	w.Create(gateOf("production", "github", gitHubSecret), gateOf("lab", "gitlab", gitLabSecret))
	w.StartManager()
	for _, name := range []string{"production", "lab"} {
		w.HasCondition(&v1alpha1.DeploymentGate{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}, v1alpha1.ConditionReady, "Reviewing", "")
	}
	return w
}

func source(name string, kind v1alpha1.EventSourceType) *v1alpha1.EventSource {
	return &v1alpha1.EventSource{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.EventSourceSpec{
			Type: kind, Secret: &v1alpha1.SecretKeyReference{Name: eventSecret, Key: "key"}, Repositories: []string{repository},
		},
	}
}

func gateOf(name, source, secret string, change ...func(*v1alpha1.DeploymentGate)) *v1alpha1.DeploymentGate {
	return build.With(&v1alpha1.DeploymentGate{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.DeploymentGateSpec{
			Source: source, Environments: v1alpha1.NamePatterns{"production"},
			Requires:    []v1alpha1.GateRequirement{{Environment: "staging"}},
			Credentials: &v1alpha1.RepositoryCredentials{SecretRef: v1alpha1.SecretReference{Name: secret}},
		},
	}, change...)
}

// question is a deployment of a commit that waits on a code host.
type question struct {
	codehost.Waiting
	host *codehost.Host
	id   int64 // of what the host takes one decision about
	kind v1alpha1.HostingService
}

func (w *gateWorld) waits(kind v1alpha1.HostingService, sha string, change ...func(*codehost.Waiting)) question {
	w.T.Helper()
	q := question{kind: kind, host: w.gitLab}
	waiting := codehost.Waiting{Repository: repository, Environment: "production", SHA: sha}
	if kind == v1alpha1.GitHub {
		w.runs++
		q.host, waiting.RunID = w.gitHub, w.runs
	}
	for _, c := range change {
		c(&waiting)
	}
	q.Waiting = q.host.Wait(waiting)
	q.id = max(q.RunID, 0)
	if kind == v1alpha1.GitLab {
		q.id = q.DeploymentID
	}
	return q
}

func (q question) review() event.Review {
	return event.Review{Environment: q.Environment, SHA: q.SHA, Ref: q.Ref, RunID: q.RunID, DeploymentID: q.DeploymentID}
}

// asks hands a question to as many replicas at once, as often.
func (w *gateWorld) asks(q question, replicas, times int) string {
	w.T.Helper()
	name := strings.ToLower(string(q.kind))
	s, team := &v1alpha1.EventSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}, &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: w.NS}}
	w.Read(s)
	w.Read(team)
	var all sync.WaitGroup
	for range replicas {
		replica := events.Reviews{Cache: w.Client, Writer: w.Client}
		for range times {
			all.Go(func() {
				if err := replica.Open(context.Background(), s, team, q.Repository, q.review()); err != nil {
					w.T.Error(err)
				}
			})
		}
	}
	all.Wait()
	return gate.Name(s.UID, q.kind, q.Repository, q.review(), "")
}

func (w *gateWorld) reviewNamed(name string) *v1alpha1.DeploymentReview {
	w.T.Helper()
	r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	w.Read(r)
	return r
}

// ends waits until a review has ended, and returns it with what the host was told.
func (w *gateWorld) ends(name string) *v1alpha1.DeploymentReview {
	w.T.Helper()
	r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	w.Await("the review ends", r, func() bool { return r.Ended() })
	return r
}

// isTold waits until a host has one decision, and a message for people that has a text.
func (w *gateWorld) isTold(q question, name, state, message string) *v1alpha1.DeploymentReview {
	w.T.Helper()
	r := w.ends(name)
	var states []string
	for _, d := range q.host.Decisions(q.id) {
		states = append(states, d.State)
	}
	if diff := cmp.Diff([]string{state}, states); diff != "" {
		w.T.Fatalf("the host has other decisions (-want +got):\n%s\n%+v", diff, r.Status)
	}
	if d := r.Status.Decision; d == nil || strings.ToLower(string(d.State)) != state || !strings.Contains(d.Message, message) {
		w.T.Fatalf("want %q, got %+v", message, r.Status)
	}
	return r
}

// waitsFor waits until a review has a condition with a text.
func (w *gateWorld) waitsFor(name, condition, reason, message string) {
	w.T.Helper()
	w.HasCondition(&v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}, condition, reason, message)
}

// wakes makes the manager look at all reviews, as after a change of a gate.
func (w *gateWorld) wakes() {
	w.T.Helper()
	for _, name := range []string{"production", "lab"} {
		w.Change(&v1alpha1.DeploymentGate{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}, func(o client.Object) {
			g := o.(*v1alpha1.DeploymentGate)
			g.Annotations = map[string]string{"woken": fmt.Sprint(len(g.Annotations["woken"]), w.Clock.Now())}
		})
	}
}

// run starts one of a commit in staging.
func (w *gateWorld) run(name, sha string, change ...func(*v1alpha1.Suite)) {
	w.T.Helper()
	w.Start(build.Suite(name, 0, append(change, func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.Spec.Deployment.Repository = sha, repository
		s.Spec.Deployment.URL = "https://" + name + ".example.com"
	})...))
}

func (w *gateWorld) passed(name, sha string, change ...func(*v1alpha1.Suite)) {
	w.T.Helper()
	w.run(name, sha, change...)
	w.Passes(name)
	w.Reaches(name, v1alpha1.ReasonPassed, "")
}

func (w *gateWorld) failed(name, sha string, change ...func(*v1alpha1.Suite)) {
	w.T.Helper()
	w.run(name, sha, change...)
	w.Exits(name, 1)
	w.Reaches(name, v1alpha1.ReasonFailed, "")
}
