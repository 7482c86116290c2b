package events_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apitest"
)

const (
	signingToken = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	gitLabID     = "b2eecd3a-3ac9-489b-81d6-462ec4881ea5"
)

// aFormat is how a service other than GitHub sends an event.
type aFormat struct {
	kind   v1alpha1.EventSourceType
	secret string
	file   string
	sign   func(h http.Header, body []byte, at time.Time)
}

var formats = map[string]aFormat{
	"GitLab, signed": {v1alpha1.EventsOfGitLab, signingToken, "gitlab/testdata/deployment.json",
		func(h http.Header, body []byte, at time.Time) {
			key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(signingToken, "whsec_"))
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(gitLabID + "." + strconv.FormatInt(at.Unix(), 10) + "." + string(body)))
			h.Set("Webhook-Id", gitLabID)
			h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
			h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}},
	"GitLab, by token": {v1alpha1.EventsOfGitLab, eventSecret, "gitlab/testdata/deployment.json", func(h http.Header, _ []byte, _ time.Time) {
		h.Set("X-Gitlab-Token", eventSecret)
		h.Set("Idempotency-Key", gitLabID)
	}},
	"Flux": {v1alpha1.EventsOfFlux, eventSecret, "flux/testdata/kustomization.json", func(h http.Header, body []byte, _ time.Time) {
		h.Set("X-Signature", signature(eventSecret, body))
	}},
}

func (f aFormat) payload(t *testing.T, changes ...string) []byte {
	t.Helper()
	body, err := os.ReadFile("../../../core/deployment/event/" + f.file)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 && !bytes.Contains(body, []byte(changes[0])) {
		t.Fatalf("%s has no %s", f.file, changes[0])
	}
	return []byte(strings.NewReplacer(changes...).Replace(string(body)))
}

func (f aFormat) deliver(body []byte, at time.Time) *http.Request {
	r := httptest.NewRequest(http.MethodPost, sourcePath, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	f.sign(r.Header, body, at)
	return r
}

func (f aFormat) hub(t *testing.T) *hub {
	of := source(func(s *v1alpha1.EventSource) { s.Spec.Type = f.kind })
	u := startHub(t, of, eventSecretOf(f.secret), apitest.Trigger("smoke", func(t *v1alpha1.Trigger) {
		t.Spec.Match.DeploymentTypes, t.Spec.Duplicates = []string{"staging"}, v1alpha1.DuplicatesDeployment
	}))
	u.Clock.Time = apitest.Noon
	return u
}

// TestFormats: an event of each service becomes the Suite that a notification with the same values would start, once, also if each
// deployment of a commit is tested.
func TestFormats(t *testing.T) {
	want := map[v1alpha1.EventSourceType]v1alpha1.Deployment{
		v1alpha1.EventsOfGitLab: {
			Branch: "main", SHA: apitest.SHA, Type: "staging", URL: "https://staging.example.com", HostingService: v1alpha1.GitLab,
			CommitMessage: "Add a basket",
			CommitURL:     "https://gitlab.example.com/acme/web/shop/-/commit/" + apitest.SHA, Repository: "acme/web/shop",
		},
		v1alpha1.EventsOfFlux: {Branch: "main", SHA: apitest.SHA, Type: "staging", HostingService: v1alpha1.GitHub},
	}
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			u := f.hub(t)
			body := f.payload(t)
			got := u.take(f.deliver(body, apitest.Noon))
			suites := u.Suites()
			if len(got.Results) != 1 || len(suites) != 1 || got.Results[0].CreatedSuiteID != suites[0].Name {
				t.Fatalf("got %+v and %d Suites", got, len(suites))
			}
			if got := suites[0].Spec.Deployment; got != want[f.kind] {
				t.Errorf("the deployment is %+v, want %+v", got, want[f.kind])
			}
			u.take(f.deliver(body, apitest.Noon))
			u.end(v1alpha1.Failed("Exit code 1."))
			u.take(f.deliver(body, apitest.Noon))
			if n := len(u.Suites()); n != 1 {
				t.Errorf("%d Suites after the event was delivered again", n)
			}
		})
	}
}

// TestIntervalsOfFlux: a Kustomization says at each interval that it was reconciled, which is no other deployment.
func TestIntervalsOfFlux(t *testing.T) {
	f := formats["Flux"]
	u := f.hub(t)
	u.take(f.deliver(f.payload(t), apitest.Noon))
	u.end(v1alpha1.Passed("Exit code 0."))
	u.Clock.Time = apitest.Noon.Add(10 * time.Minute)
	u.take(f.deliver(f.payload(t, "2026-11-20T12:00:00Z", "2026-11-20T12:10:00Z", "1.234567890s", "2s"), u.Clock.Time))
	if n := len(u.Suites()); n != 1 {
		t.Errorf("%d Suites after another interval", n)
	}
	const other = "0ddba115ca1ab1e0ddba115ca1ab1e0d5ca1ab1e"
	u.take(f.deliver(f.payload(t, "2026-11-20T12:00:00Z", "2026-11-20T12:10:01Z", apitest.SHA, other), u.Clock.Time))
	if n := len(u.Suites()); n != 2 {
		t.Errorf("%d Suites after another commit", n)
	}
}

// TestIgnoredEventOfFluxComesAgain: it counts once the EventSource allows it.
func TestIgnoredEventOfFluxComesAgain(t *testing.T) {
	f := formats["Flux"]
	u := f.hub(t)
	var of v1alpha1.EventSource
	change := func(repositories ...string) {
		if err := u.Cluster.Get(t.Context(), client.ObjectKey{Namespace: apitest.Namespace, Name: "github"}, &of); err != nil {
			t.Fatal(err)
		}
		of.Spec.Repositories = repositories
		if err := u.Cluster.Update(t.Context(), &of); err != nil {
			t.Fatal(err)
		}
	}
	change("acme/other")
	if got := u.take(f.deliver(f.payload(t), apitest.Noon)); !strings.Contains(got.Ignored, "does not list") {
		t.Errorf("of another repository: %+v", got)
	}
	change()
	for _, want := range []int{1, 0} {
		if got := u.take(f.deliver(f.payload(t), apitest.Noon)); len(got.Results) != want || len(u.Suites()) != 1 {
			t.Errorf("got %+v, want %d results", got, want)
		}
	}
}

// TestUnusableSigningToken: the answer is that of the status of the EventSource, which is not Ready.
func TestUnusableSigningToken(t *testing.T) {
	f := formats["GitLab, signed"]
	body := f.payload(t)
	f.secret = signingToken[:20]
	if w := f.hub(t).Exchange(f.deliver(body, apitest.Noon)); w.Code != http.StatusNotFound {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestRefusedFormats(t *testing.T) {
	for name, f := range formats {
		body := f.payload(t)
		for what, tc := range map[string]struct {
			body   []byte
			change func(*http.Request)
			later  time.Duration
			status int
		}{
			"nothing changed": {body, func(*http.Request) {}, 0, http.StatusOK},
			"not signed": {body, func(r *http.Request) { r.Header = http.Header{"Content-Type": {"application/json"}} }, 0,
				http.StatusUnauthorized},
			"another body":     {body, func(r *http.Request) { r.Body = http.NoBody }, 0, http.StatusUnauthorized},
			"sent again later": {body, func(*http.Request) {}, 6 * time.Minute, http.StatusUnauthorized},
			"no event":         {[]byte("[]"), func(*http.Request) {}, 0, http.StatusBadRequest},
			"oversized":        {bytes.Repeat([]byte(" "), 1<<20), func(*http.Request) {}, 0, http.StatusRequestEntityTooLarge},
		} {
			if name == "GitLab, by token" && (what == "another body" || what == "sent again later") {
				continue // a token signs nothing
			}
			u := f.hub(t)
			r := f.deliver(tc.body, apitest.Noon)
			tc.change(r)
			u.Clock.Time = apitest.Noon.Add(tc.later)
			w := u.Exchange(r)
			if w.Code != tc.status || (len(u.Suites()) > 0) != (tc.status == http.StatusOK) {
				t.Errorf("%s, %s: status %d and %d Suites: %s", name, what, w.Code, len(u.Suites()), w.Body)
			}
		}
	}
}

// TestEventsSetNoVariables: an event says what was deployed, and nothing that its sender adds reaches a pod as a variable of its own.
func TestEventsSetNoVariables(t *testing.T) {
	more := func(body []byte) []byte {
		return append([]byte(`{"variables":{"URL":"https://evil.example.com","LD_PRELOAD":"x"},"inputs":["x"],"payload":{"variables":{"A":"1"}},`), body[1:]...)
	}
	check := func(t *testing.T, u *hub) {
		t.Helper()
		if runs := u.Suites(); len(runs) != 1 || len(runs[0].Spec.Variables) > 0 {
			t.Errorf("%d runs, %+v", len(runs), runs)
		}
	}
	t.Run("GitHub", func(t *testing.T) {
		u := startHub(t, source(renamed), eventSecretOf(eventSecret), apitest.Trigger("smoke", production))
		u.take(deliver("deployment_status", more(payload(t, "deployment_status"))))
		check(t, u)
	})
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			u := f.hub(t)
			u.take(f.deliver(more(f.payload(t)), apitest.Noon))
			check(t, u)
		})
	}
}
