package spoke

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/outbound"
)

// world has a hub with Clusters.
type world struct {
	*Clients
	specs     map[string]v1alpha1.ClusterSpec
	audiences []string // of the tokens that were asked for
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{specs: map[string]v1alpha1.ClusterSpec{}}
	w.Clients = New(Config{
		Cluster: func(_ context.Context, name string) (*v1alpha1.Cluster, error) {
			spec, ok := w.specs[name]
			if !ok {
				return nil, nil
			}
			return &v1alpha1.Cluster{Spec: spec}, nil
		},
		Token: func(_ context.Context, audience string) (string, error) {
			w.audiences = append(w.audiences, audience)
			return "token-for-" + audience, nil
		},
		Keys: t.TempDir(), Hub: "https://ci.example.com", HTTP: outbound.Streaming,
	})
	return w
}

// serve makes a Cluster of a server that has the certificate of an authority of its own.
func (w *world) serve(t *testing.T, name string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	w.specs[name] = v1alpha1.ClusterSpec{URL: s.URL + "/postflight", CA: string(authority), Teams: []string{"shop", "pay-*"}, Audience: name}
	return s
}

func command(team string) delegation.Command {
	return delegation.Command{
		Team: &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: team}}, RequestID: "r1",
		Delegation: delegation.Delegation{For: "the API key ci", Environments: []string{"prod"}},
	}
}

func get(path string) *http.Request {
	return &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: "wait=5"}, Header: http.Header{}}
}

// TestRequest: the cluster learns who the hub is, and for whom it asks.
func TestRequest(t *testing.T) {
	w := newWorld(t)
	var got *http.Request
	w.serve(t, "eu", func(_ http.ResponseWriter, r *http.Request) { got = r })
	resp, err := w.Do(t.Context(), "eu", command("shop"), get("/api/v0/runs/a"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got.URL.String() != "/postflight/api/v0/runs/a?wait=5" {
		t.Errorf("it asked for %s", got.URL)
	}
	for name, want := range map[string]string{"Authorization": "Bearer token-for-eu", "Postflight-Team": "shop", "X-Request-Id": "r1"} {
		if values := got.Header.Values(name); len(values) != 1 || values[0] != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
	d, err := delegation.Decode(got.Header.Get(delegation.Header))
	if err != nil {
		t.Fatal(err)
	}
	want := &delegation.Delegation{Hub: "https://ci.example.com", For: "the API key ci", Environments: []string{"prod"}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

// TestAudiences: a cluster cannot use the token that it is shown at another one, because no two share an audience.
func TestAudiences(t *testing.T) {
	w := newWorld(t)
	seen := map[string]string{}
	for _, name := range []string{"eu", "us", "ap"} {
		w.serve(t, name, func(_ http.ResponseWriter, r *http.Request) { seen[name] = r.Header.Get("Authorization") })
	}
	ap := w.specs["ap"]
	ap.Audience = ""
	w.specs["ap"] = ap
	for name := range w.specs {
		resp, err := w.Do(t.Context(), name, command("shop"), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	want := map[string]string{"eu": "Bearer token-for-eu", "us": "Bearer token-for-us", "ap": "Bearer token-for-" + ap.URL}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the tokens that clusters have seen:\n%s", diff)
	}
}

// TestKeysOfClusters: each Team has a key of its own, which is read again for each request.
func TestKeysOfClusters(t *testing.T) {
	w := newWorld(t)
	var got string
	w.serve(t, "eu", func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })
	spec := w.specs["eu"]
	spec.Credential = v1alpha1.ClusterKey
	w.specs["eu"] = spec
	ask := func(team string) error {
		resp, err := w.Do(t.Context(), "eu", command(team), get("/"))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for _, key := range []string{"pf_first", "pf_second"} {
		if err := os.WriteFile(filepath.Join(w.Keys, "eu.shop"), []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ask("shop"); err != nil || got != "Bearer "+key {
			t.Errorf("sent %q, %v", got, err)
		}
	}
	if err := ask("pay-eu"); err == nil || !strings.Contains(err.Error(), "no file eu.pay-eu") || strings.Contains(err.Error(), "pf_") {
		t.Errorf("the key of another Team: %v", err)
	}
	if err := os.WriteFile(filepath.Join(w.Keys, "eu.shop"), make([]byte, maxKey+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ask("shop"); err == nil {
		t.Error("a file that is no key is sent")
	}
	if len(w.audiences) > 0 {
		t.Errorf("tokens were asked for: %q", w.audiences)
	}
}

// TestWhoUsesACluster: what the operator of the hub decides, before a credential leaves it.
func TestWhoUsesACluster(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ClusterSpec)
		team   string
		want   string
	}{
		"listed":          {"by its name", nil, "shop", ""},
		"by beginning":    {"pay-*", nil, "pay-eu", ""},
		"not listed":      {"an Environment is not enough", nil, "shop-2", "is not for the Team shop-2"},
		"in the clear":    {"others could read the token", func(s *v1alpha1.ClusterSpec) { s.URL = "http://eu.example.com" }, "shop", "must be an https URL"},
		"with a password": {"it would end up in logs", func(s *v1alpha1.ClusterSpec) { s.URL = "https://u:p@eu.example.com" }, "shop", "must have no user"},
		"no certificate":  {"trusting all would be worse", func(s *v1alpha1.ClusterSpec) { s.CA = "x" }, "shop", "no certificate in PEM"},
		"another CA":      {"anyone could be in its place", func(s *v1alpha1.ClusterSpec) { s.CA = "" }, "shop", "does not answer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			asked := 0
			w.serve(t, "eu", func(http.ResponseWriter, *http.Request) { asked++ })
			spec := w.specs["eu"]
			if tc.change != nil {
				tc.change(&spec)
			}
			w.specs["eu"] = spec
			resp, err := w.Do(t.Context(), "eu", command(tc.team), get("/"))
			if err == nil {
				resp.Body.Close()
			}
			failed, _ := errors.AsType[*delegation.Error](err)
			if (failed == nil) != (tc.want == "") || failed != nil && !strings.Contains(failed.Message, tc.want) || (asked > 0) != (tc.want == "") {
				t.Errorf("%s: %d requests, %v; want %q", tc.reason, asked, err, tc.want)
			}
		})
	}
	w := newWorld(t)
	if _, err := w.Do(t.Context(), "eu", command("shop"), get("/")); err == nil || !strings.Contains(err.Error(), "there is no Cluster of that name") {
		t.Errorf("an unknown Cluster: %v", err)
	}
}

// TestChangedCluster: once it has another address or authority, no request goes to the old one.
func TestChangedCluster(t *testing.T) {
	w := newWorld(t)
	asked := map[string]int{}
	w.serve(t, "eu", func(http.ResponseWriter, *http.Request) { asked["old"]++ })
	ask := func() {
		t.Helper()
		resp, err := w.Do(t.Context(), "eu", command("shop"), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	ask()
	w.serve(t, "eu", func(http.ResponseWriter, *http.Request) { asked["new"]++ })
	ask()
	changed := w.specs["eu"]
	changed.CA = "no certificate"
	w.specs["eu"] = changed
	if resp, err := w.Do(t.Context(), "eu", command("shop"), get("/")); err == nil {
		resp.Body.Close()
		t.Error("the authority of before is still trusted")
	}
	if asked["old"] != 1 || asked["new"] != 1 {
		t.Errorf("asked %v, want each once", asked)
	}
}

// TestAnswersOfClusters: what an answer means, whatever is in the cluster's place.
func TestAnswersOfClusters(t *testing.T) {
	problem := func(status int, code, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"failureCode":"`+code+`","failureMessage":"`+message+`"}`)
		}
	}
	plain := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	cases := map[string]struct {
		reason  string
		answer  http.HandlerFunc
		refused bool
		want    string
	}{
		"a run":              {"it was created", plain(200, `{"results":[]}`), false, ""},
		"not let in":         {"the operator has to act", problem(401, "unauthenticated", "x."), true, "list the issuer of this hub's tokens with the audience eu"},
		"refused":            {"its sentence says why", problem(403, "forbidden", "You may not notify."), true, "refused: You may not notify"},
		"failed":             {"it may have done it", problem(503, "unavailable", "The API server does not answer."), false, "failed: The API server does not answer"},
		"a proxy":            {"the cluster is behind it", plain(502, "<html>"), false, "does not answer"},
		"a slow proxy":       {"it may have done it", plain(504, "<html>"), false, "does not answer"},
		"a page":             {"something else is in its place", plain(404, "<html>Not here</html>"), false, "something in its place answers 404"},
		"a page with 200":    {"this is no answer to a notification", plain(200, "<html>Sign in</html>"), false, "cannot be read"},
		"half of an answer":  {"the rest never came", plain(200, `{"results":[`), false, "cannot be read"},
		"much too long":      {"it would fill the memory", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"results":[]}`); flood(w) }, false, "cannot be read"},
		"a long refusal":     {"of it 64 KiB are read", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403); flood(w) }, false, "does not answer"},
		"hostile text":       {"it is shown to people, in logs too", problem(403, "forbidden", `a\u001b[2J\u202eb`), true, "refused: a"},
		"a hung connection":  {"the answer breaks off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, "does not answer"},
		"headers beyond all": {"they would fill the memory", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 100<<10)) }, false, "does not answer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.serve(t, "eu", tc.answer)
			_, err := w.Notify(t.Context(), "eu", delegation.Notification{Command: command("shop"), Notification: &notification.Notification{}})
			failed, _ := errors.AsType[*delegation.Error](err)
			if failed == nil {
				failed = &delegation.Error{}
			}
			if (err == nil) != (tc.want == "") || failed.Refused != tc.refused || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: refused %v, %v; want %q", tc.reason, failed.Refused, err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), s.URL) || strings.Contains(err.Error(), "token-for") || strings.ContainsAny(failed.Message, "\x1b\u202e") ||
				len(failed.Message) > 2*maxShown) {
				t.Errorf("%s: it says too much: %q", tc.reason, err)
			}
		})
	}
}

// flood sends more than any answer has, until the other side hangs up.
func flood(w http.ResponseWriter) {
	line := []byte(strings.Repeat(" ", 64<<10))
	for range 2 * maxAnswer / len(line) {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// TestRedirects: credentials go nowhere but to the address of the Cluster.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := newWorld(t)
		elsewhere := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		t.Cleanup(other.Close)
		w.serve(t, "eu", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, other.URL, status) })
		_, err := w.WhoAmI(t.Context(), "eu", command("shop"))
		if failed, _ := errors.AsType[*delegation.Error](err); failed == nil || !failed.Refused || !strings.Contains(failed.Message, "redirect") || elsewhere > 0 {
			t.Errorf("%d: %d requests elsewhere, %v", status, elsewhere, err)
		}
	}
}

// TestSlowCluster: it answers nothing, so the question ends when the asker's time is over, and others go on.
func TestSlowCluster(t *testing.T) {
	w := newWorld(t)
	asked, leave := make(chan struct{}), make(chan struct{})
	w.serve(t, "slow", func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-leave:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(leave) })
	w.serve(t, "eu", func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"team":"shop"}`) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := w.WhoAmI(ctx, "slow", command("shop"))
		ended <- err
	}()
	<-asked
	if who, err := w.WhoAmI(t.Context(), "eu", command("shop")); err != nil || who.Team != "shop" {
		t.Errorf("another cluster: %+v, %v", who, err)
	}
	cancel()
	if failed, _ := errors.AsType[*delegation.Error](<-ended); failed == nil || failed.Refused || failed.Message != "does not answer" {
		t.Errorf("got %v", failed)
	}
}

// TestTerminateOfClusters: an Environment that the cluster does not have is no failure.
func TestTerminateOfClusters(t *testing.T) {
	w := newWorld(t)
	status, body := 200, `{"results":[{"environmentAlias":"preview-1"}]}`
	w.serve(t, "eu", func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if want := `"deploymentUrl":"https://pr-1.example.com"`; !strings.Contains(string(text), want) {
			t.Errorf("it sent %s, want %s", text, want)
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	})
	terminate := func() (*httpapi.TerminationResult, error) {
		return w.Terminate(t.Context(), "eu", command("shop"), &notification.Termination{DeploymentURL: "https://pr-1.example.com"})
	}
	if got, err := terminate(); err != nil || len(got.Results) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	status, body = 404, `{"failureCode":"environment_not_found","failureMessage":"none."}`
	if got, err := terminate(); err != nil || got != nil {
		t.Errorf("without the Environment: %+v, %v", got, err)
	}
	body = `{"failureCode":"not_found","failureMessage":"Another server."}`
	if _, err := terminate(); err == nil {
		t.Error("a server that does not know the route has no say about Environments")
	}
}
