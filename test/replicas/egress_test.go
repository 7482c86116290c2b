package replicas

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
)

// egress records where a manager connects to, other than to this machine: it is the proxy of its environment, and
// connects nobody.
type egress struct {
	*httptest.Server
	mu    sync.Mutex
	hosts []string
}

func recordEgress(t *testing.T) *egress {
	t.Helper()
	e := &egress{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.hosts = append(e.hosts, r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *egress) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.hosts)
}

// startRecorded starts a manager with flags, whose requests leave the machine through the recorder only. It leads at
// once: a leader of an earlier test, which was killed, would hold its Lease for as long as this test waits.
func (e *egress) startRecorded(t *testing.T, s *apiserver.Server, kubeconfig string, flags ...string) *replica {
	t.Helper()
	freeLead(t, s)
	r := startWith(t, managers.Options{
		Kubeconfig: kubeconfig, Flags: flags, Env: []string{"HTTPS_PROXY=" + e.URL, "HTTP_PROXY=" + e.URL, "NO_PROXY="},
	})
	r.AwaitReady()
	r.AwaitLog("Successfully acquired lease")
	return r
}

const (
	goodCommit = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e"
	nextCommit = "0ddba11e0ddba11e0ddba11e0ddba11e0ddba11e"
)

// TestEgress: notifications that name other hosts, or repositories that lead out of a path, cause no request, and no
// host but the configured one ever sees a token.
func TestEgress(t *testing.T) {
	s := apiserver.Alone(t)
	kubeconfig := newProxy(t, s.Manager(t)).kubeconfig()
	tm, fake, other, out := newTeam(t, s), codehost.GitHub(t), codehost.GitLab(t), recordEgress(t)
	startCluster(t, s)
	tm.grantsToken(fake.Token())
	tm.setRepository("smoke", "acme/shop")
	systemNamespace(t, s)
	r := out.startRecorded(t, s, kubeconfig, "--github-url="+fake.URL, "--gitlab-url="+other.URL)
	tm.awaitKnown([]*replica{r})

	evil := `"commit_url":"https://evil.example.com/c","deployment_url":"https://evil.example.com","branch":"https://evil.example.com","hosting_service":"GitLab"`
	for i, tc := range []struct {
		body   string
		status int
	}{
		{`{"sha":"` + goodCommit + `","repository":"../../evil"}`, 400},
		{`{"sha":"` + goodCommit + `","repository":{"owner":"..","name":".."}}`, 400},
		{`{"sha":"` + goodCommit + `","repository":{"namespace":"a/../..","name":"evil"}}`, 400},
		{`{"sha":"` + goodCommit + `","repository":"acme/."}`, 400},
		{`{"sha":"` + goodCommit + `","repository":"https://evil.example.com/x"}`, 400},
		{`{"sha":"../../../evil",` + evil + `}`, 200},
		{`{"sha":"` + strings.Repeat("a", 40) + `","repository":"evil/other",` + evil + `}`, 200},
		{`{"sha":"` + strings.Repeat("b", 40) + `","repository":"acme/shop%2f..%2f..",` + evil + `}`, 200},
		{`{"sha":"` + goodCommit + `","repository":"acme/shop",` + evil + `}`, 200},
	} {
		a, err := notify(t.Context(), r.URL, tm.key, tc.body)
		if err != nil || a.Status != tc.status {
			t.Errorf("notification %d: got %d %s, %v, want %d", i, a.Status, a.Body, err, tc.status)
		}
	}
	poll.True(t, "the check of the good notification", func() bool { return len(fake.States(goodCommit)) > 0 })
	for _, request := range fake.Requests() {
		if !strings.HasPrefix(request, "POST /repos/acme/shop/statuses/"+goodCommit) && !strings.HasPrefix(request, "GET /repos/acme/shop/commits/"+goodCommit) {
			t.Errorf("GitHub got %s", request)
		}
	}
	if hosts, requests := out.seen(), other.Requests(); len(hosts) > 0 || len(requests) > 0 {
		t.Errorf("the manager connected to %q, and asked GitLab for %q", hosts, requests)
	}
	r.Stop()

	// The recorder would have seen it: without the flag, the manager asks the default host.
	r = out.startRecorded(t, s, kubeconfig)
	tm.awaitKnown([]*replica{r})
	if _, err := notify(t.Context(), r.URL, tm.key, `{"sha":"`+nextCommit+`"}`); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "a request to the default host", func() bool { return len(out.seen()) > 0 })
	for _, host := range out.seen() {
		if host != "api.github.com:443" {
			t.Errorf("the manager connected to %s", host)
		}
	}
}

// grantsToken lets the manager read a token, by the role that is shipped for this.
func (tm *team) grantsToken(token string) {
	tm.t.Helper()
	tm.create(&corev1.Secret{ObjectMeta: tm.meta("postflight-github"), Data: map[string][]byte{"token": []byte(token)}})
	tm.binds("postflight-credentials-reader")
}

// binds gives the manager a role that is shipped for this namespace.
func (tm *team) binds(role string) {
	tm.t.Helper()
	tm.create(&rbacv1.RoleBinding{
		ObjectMeta: tm.meta(role),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "postflight-manager"}},
	})
}

func (tm *team) setRepository(trigger, repository string) {
	tm.t.Helper()
	t := &v1alpha1.Trigger{ObjectMeta: tm.meta(trigger)}
	tm.update(t, func() {
		t.Spec.Repository = &v1alpha1.Repository{Name: repository, Credentials: &v1alpha1.RepositoryCredentials{
			SecretRef: v1alpha1.SecretReference{Name: "postflight-github"},
		}}
	})
}
