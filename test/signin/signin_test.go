package signin

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/poll"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

// scene is two replicas behind a sub-path, a provider, and a person in front of a browser.
type scene struct {
	*testing.T
	server    *apiserver.Server
	namespace string
	other     string // of a team that the person may not see
	first     string // where people reach the first replica, which has the public URL
	second    string
	file      string // that says who may sign in
	provider  *provider
	browser   *browser
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, server: apiserver.New(t), file: filepath.Join(t.TempDir(), "sign-in.yaml"), browser: newBrowser(t)}
	sessionSecret(t, s.server)
	s.namespace, s.other = newTeam(t, s.server), newTeam(t, s.server)
	addresses := []string{freeport.Address(t), freeport.Address(t)}
	s.first, s.second = "http://"+addresses[0]+"/ci", "http://"+addresses[1]+"/ci"
	s.provider = newProvider(t, s.first, "everyone", "shop-devs")
	s.grant("1h", "shop-devs")
	for _, address := range addresses {
		startManager(t, s.server, address, s.first, s.file)
	}
	return s
}

// grant lets a group of the provider act on the team. Recheck is how often the provider is asked for groups.
func (s *scene) grant(recheck, group string) {
	s.Helper()
	writeFile(s.T, s.file, fmt.Sprintf(`
oidc: {name: Example Inc., issuer: %q, clientID: %s, recheck: %s}
groups:
  - {group: %s, team: %s, act: true}
`, s.provider.url, clientID, recheck, group, s.namespace))
}

func (s *scene) runs(replica string) string { return replica + "/runs/" + s.namespace }

// signIn starts at the runs of the team, and comes back to them.
func (s *scene) signIn(page *tab) {
	s.Helper()
	page.visit(s.runs(s.first))
	page.await(`location.pathname === "/ci/sign-in"`)
	page.script(`document.querySelector('a[href*="/sign-in/provider"]').click()`)
	page.await(`document.title === "Example Inc." && location.hostname === "localhost"`)
	s.logIn(page, password)
	page.await(fmt.Sprintf(`location.pathname === "/ci/runs/%s" && document.querySelector("#run-smoke-1")`, s.namespace))
}

func (s *scene) logIn(page *tab, password string) {
	s.Helper()
	page.script(fmt.Sprintf(`document.querySelector("[name=user]").value = %q; document.querySelector("[name=password]").value = %q;
		document.querySelector("button").click()`, user, password))
}

func (s *scene) suite(name string) *v1alpha1.Suite {
	s.Helper()
	suite := &v1alpha1.Suite{}
	if err := s.server.Client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, suite); err != nil {
		s.Fatal(err)
	}
	return suite
}

const signedOut = `location.pathname === "/ci/sign-in"`

// TestActWithProvider: somebody signs in with the provider, sees the runs of the team, cancels one and repeats it.
func TestActWithProvider(t *testing.T) {
	s := newScene(t)
	page := s.browser.open(s.first + "/")
	page.visit(s.runs(s.first))
	page.script(`document.querySelector('a[href*="/sign-in/provider"]').click()`)
	page.await(`document.title === "Example Inc."`)
	s.logIn(page, "wrong")
	page.await(`document.body.innerText.includes("Wrong user or password.")`)
	s.signIn(page)
	page.visit(s.first + "/runs/" + s.other)
	page.await(`document.body.innerText.includes("There is nothing here")`)

	page.visit(s.runs(s.second) + "/smoke-1")
	page.await(`document.body.innerText.includes("` + email + `") || document.querySelector("#cancel")`)
	page.script(`document.querySelector("#cancel summary").click(); document.querySelector("#cancel .danger").click()`)
	page.await(`document.querySelector("h1")?.innerText.includes("Canceled")`)
	if got := s.suite("smoke-1"); !got.Spec.Cancel || got.Annotations[v1alpha1.AnnotationCanceledBy] != email {
		t.Errorf("canceled: %v, by %q, want %q", got.Spec.Cancel, got.Annotations[v1alpha1.AnnotationCanceledBy], email)
	}
	page.await(`document.querySelector('form[action$="/rerun"] button')`)
	page.script(`document.querySelector('form[action$="/rerun"] button').click()`)
	page.await(`location.pathname.startsWith("/ci/runs/` + s.namespace + `/") && !location.pathname.endsWith("/smoke-1") && document.querySelector("h1")`)
	var all v1alpha1.SuiteList
	if err := s.server.Client.List(t.Context(), &all, client.InNamespace(s.namespace)); err != nil || len(all.Items) != 2 {
		t.Fatalf("%d runs, want 2: %v", len(all.Items), err)
	}
	for _, suite := range all.Items {
		if suite.Name != "smoke-1" && suite.Annotations[v1alpha1.AnnotationRerunBy] != email {
			t.Errorf("%s was repeated by %q, want %q", suite.Name, suite.Annotations[v1alpha1.AnnotationRerunBy], email)
		}
	}
}

// TestSessionsEnd: pages that are open at two replicas end with what lets their reader see them.
func TestSessionsEnd(t *testing.T) {
	s := newScene(t)
	page := s.browser.open(s.first + "/")
	s.signIn(page)
	elsewhere := s.browser.open(s.runs(s.second))
	both := func() (slowest time.Duration) {
		began := time.Now()
		for _, p := range []*tab{page, elsewhere} {
			p.await(signedOut)
		}
		return time.Since(began)
	}
	back := func() { // each replica looks at the file by itself
		poll.True(t, "the runs are shown at the other replica", func() bool {
			elsewhere.visit(s.runs(s.second))
			return elsewhere.is(`document.querySelector("#run-smoke-1")`)
		})
		elsewhere.await(`document.querySelector("#run-smoke-1") && document.querySelector("[data-live]")?.innerText === "Live"`)
	}
	back()

	s.grant("1h", "nobody")
	t.Logf("SESSION_ENDS by=mapping milliseconds=%d", both().Milliseconds())
	s.grant("1h", "shop-devs")
	poll.True(t, "the runs are shown to the group again", func() bool {
		page.visit(s.runs(s.first))
		return page.is(`document.querySelector("#run-smoke-1")`)
	})
	back()

	if got := s.provider.sendLogout(forgedKey(t), s.provider.sessions[0]); got != http.StatusBadRequest {
		t.Errorf("a logout token that somebody else signed: %d, want 400", got)
	}
	if !page.is(`document.querySelector("#run-smoke-1")`) {
		t.Error("a forged logout token ended the session")
	}
	s.provider.end()
	t.Logf("SESSION_ENDS by=logout milliseconds=%d", both().Milliseconds())
	page.visit(s.runs(s.first))
	page.await(signedOut)

	s.signIn(page)
	back()
	s.grant("1s", "shop-devs")
	s.provider.setGroups("everyone")
	t.Logf("SESSION_ENDS by=recheck milliseconds=%d", both().Milliseconds())
}

func forgedKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
