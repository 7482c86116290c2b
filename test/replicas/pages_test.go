package replicas

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestSessionOnEveryReplica: who signs in at one replica is signed in at the other, acts there if the team lets keys act,
// and is signed out of both when the key ends. In test-all, that takes a second at most.
func TestSessionOnEveryReplica(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	all := replicas(t, s, p.kubeconfig(), 2)
	tm.awaitKnown(all)
	run := tm.notified(all[0], "pages").Results[0].Created
	b := &pageReader{t: t, tm: tm}
	b.signIn(all[0])
	for _, r := range all {
		poll.True(t, "the page of the run", func() bool { return b.get(r, "/runs/"+tm.namespace+"/"+run) == http.StatusOK })
		if got := b.get(r, "/runs/elsewhere"); got != http.StatusNotFound {
			t.Errorf("another team's runs on %s: %d", r.URL, got)
		}
	}

	cancel := "/runs/" + tm.namespace + "/" + run + "/cancel"
	if got := b.post(all[1], cancel, nil); got != http.StatusForbidden {
		t.Errorf("a key that only reads: %d", got)
	}
	owner := &v1alpha1.Team{}
	owner.Name = tm.namespace
	tm.update(owner, func() { owner.Spec.KeysMayAct = true })
	poll.True(t, "the right to cancel", func() bool { return b.post(all[1], cancel, nil) == http.StatusSeeOther })
	suite := &v1alpha1.Suite{}
	suite.Name, suite.Namespace = run, tm.namespace
	tm.get(suite)
	if !suite.Spec.Cancel || suite.Annotations[v1alpha1.AnnotationCanceledBy] != "the API key ci" {
		t.Errorf("canceled: %v, by %q", suite.Spec.Cancel, suite.Annotations[v1alpha1.AnnotationCanceledBy])
	}

	endSession := func() time.Duration {
		tm.remove(tm.apiKey("ci", tm.key))
		ended := time.Now()
		for _, r := range all {
			poll.True(t, "the session has ended", func() bool { return b.get(r, "/runs/"+tm.namespace) == http.StatusSeeOther })
		}
		return time.Since(ended)
	}
	if tier.Gate() {
		endSession()
		return
	}
	tier.AtMost(t, "the end of the session", time.Second, func() time.Duration {
		defer tm.create(tm.apiKey("ci", tm.key))
		tm.awaitKnown(all)
		b.signIn(all[0])
		return endSession()
	})
}

// pageReader is a browser, without a page.
type pageReader struct {
	t      *testing.T
	tm     *team
	client *http.Client
}

func (b *pageReader) signIn(r *replica) {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if got := b.post(r, "/sign-in", url.Values{"key": {b.tm.key}}); got != http.StatusSeeOther {
		b.t.Fatalf("sign in: %d", got)
	}
}

func (b *pageReader) get(r *replica, path string) int {
	resp, err := b.client.Get(r.URL + path) // cookies know no ports
	return b.status(resp, err)
}

func (b *pageReader) post(r *replica, path string, form url.Values) int {
	resp, err := b.client.PostForm(r.URL+path, form)
	return b.status(resp, err)
}

func (b *pageReader) status(resp *http.Response, err error) int {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
