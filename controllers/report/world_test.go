package report_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	reportcontroller "github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

const gitHubSecret, gitLabSecret = "postflight-github", "postflight-gitlab"

// reportWorld has both code hosts, their Secrets, and the grant that a team makes. The Trigger "smoke" posts to GitHub
// as an App, "token" with a token, and "lab" to GitLab.
type reportWorld struct {
	*world.World
	gitHub, gitLab *codehost.Host
}

func newReportWorld(t testing.TB, change ...func(*reportWorld)) *reportWorld {
	t.Helper()
	w := &reportWorld{World: world.Empty(t), gitHub: codehost.GitHub(t), gitLab: codehost.GitLab(t)}
	w.CodeHosts = reportcontroller.Config{
		Options: report.Options{PublicURL: "https://ci.example.com"},
		Hosts: map[v1alpha1.HostingService]reportcontroller.CodeHostConfig{
			v1alpha1.GitHub: {CodeHost: github.New(w.gitHub.URL, outbound.New()), Name: report.HostOf(v1alpha1.GitHub, w.gitHub.URL), Limits: report.LimitsOf(v1alpha1.GitHub)},
			v1alpha1.GitLab: {CodeHost: gitlab.New(w.gitLab.URL, outbound.New()), Name: report.HostOf(v1alpha1.GitLab, w.gitLab.URL), Limits: report.LimitsOf(v1alpha1.GitLab)},
		},
	}
	for _, c := range change {
		c(w)
	}
	w.HasTeam()
	w.Create(build.Environment("staging"))
	w.Create(build.Trigger("smoke", reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret)))
	w.Create(build.Trigger("token", reportsTo(v1alpha1.GitHub, "acme/shop", "github-token")))
	w.Create(build.Trigger("lab", reportsTo(v1alpha1.GitLab, "group/sub/project", gitLabSecret)))
	w.Create(build.Secret(gitHubSecret, codehost.Secret()), build.Secret("github-token", build.Token(w.gitHub.Token())), build.Secret(gitLabSecret, build.Token(w.gitLab.Token())))
	w.Grant("ClusterRole", "postflight-credentials-reader")
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "github-token"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"github-token", "lost"}, Verbs: []string{"get"}},
	}})
	w.Grant("Role", "github-token")
	w.StartManager()
	return w
}

func reportsTo(service v1alpha1.HostingService, repository, secret string) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		t.Spec.Repository = &v1alpha1.Repository{HostingService: service, Name: repository}
		if secret != "" {
			t.Spec.Repository.Credentials = &v1alpha1.RepositoryCredentials{SecretRef: v1alpha1.SecretReference{Name: secret}}
		}
	}
}

// tests is of a commit that is deployed to a URL of its own, where none of the others replaces it.
func tests(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.Spec.Deployment.URL = sha, "https://"+sha[len(sha)-12:]+".example.com"
	}
}

func attempt(n int32) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Attempt = n }
}

// reports waits until the condition Reported of a run has a reason, and its message a text.
func (w *reportWorld) reports(name, reason, message string) *v1alpha1.Suite {
	w.T.Helper()
	return w.SuiteHas(name, v1alpha1.ConditionReported, reason, message)
}

// shows waits until a host shows the states of a commit, and no others.
func (w *reportWorld) shows(host *codehost.Host, sha string, states ...string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the host shows %q", states), func() string { return cmp.Diff(states, host.States(sha)) })
}

func (w *reportWorld) patchTrigger(name string, change func(*v1alpha1.Trigger)) {
	w.T.Helper()
	w.Change(build.Trigger(name), func(o client.Object) { change(o.(*v1alpha1.Trigger)) })
}
