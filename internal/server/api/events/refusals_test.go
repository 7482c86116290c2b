package events_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apitest"
)

func unsigned(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }

// TestWhyAnEventIsRefused: the log has it, the answer has not, and neither has a secret or a signature.
func TestWhyAnEventIsRefused(t *testing.T) {
	good := payload(t, "deployment_status")
	const other = "another secret of 26 bytes"
	old := func(r *http.Request) {
		r.Header.Set("Webhook-Id", "1")
		r.Header.Set("Webhook-Timestamp", "1")
		r.Header.Set("Webhook-Signature", "v1,S3CRET")
	}
	cases := map[string]struct {
		source v1alpha1.EventSourceType
		secret string
		change func(*http.Request)
		name   string // of the source in the log
		want   string
	}{
		"no signature": {v1alpha1.EventsOfGitHub, eventSecret, unsigned, "acme/github", "not exactly one header X-Hub-Signature-256"},
		"two signatures": {v1alpha1.EventsOfGitHub, eventSecret, func(r *http.Request) { r.Header.Add("X-Hub-Signature-256", "S3CRET") },
			"acme/github", "not exactly one header"},
		"no hexadecimals": {v1alpha1.EventsOfGitHub, eventSecret,
			func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha256=S3CRET\n") }, "acme/github", "64 hexadecimal digits"},
		"another secret": {v1alpha1.EventsOfGitHub, eventSecret, apitest.Header("X-Hub-Signature-256", signature(other, good)),
			"acme/github", "not that of the secret and the body"},
		"to the App": {v1alpha1.EventsOfGitHub, eventSecret, apitest.Path(appPath), "the GitHub App",
			"not that of the secret and the body"},
		"GitLab, no token": {v1alpha1.EventsOfGitLab, eventSecret, func(*http.Request) {}, "acme/github",
			"not exactly one header X-Gitlab-Token"},
		"GitLab, wrong token": {v1alpha1.EventsOfGitLab, eventSecret, apitest.Header("X-Gitlab-Token", "S3CRET"), "acme/github",
			"is not the secret"},
		"GitLab, signature": {v1alpha1.EventsOfGitLab, signingToken, old, "acme/github",
			"not that of the secret, the id, the time and the body"},
		"Flux, no signature": {v1alpha1.EventsOfFlux, eventSecret, func(*http.Request) {}, "acme/github", "not exactly one header X-Signature"},
		"Flux, old": {v1alpha1.EventsOfFlux, eventSecret, func(r *http.Request) { // its time is in the body, which has another one here
			r.Header.Set("X-Signature", signature(eventSecret, good))
		}, "acme/github", "more than 5 minutes ago"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := startHub(t, source(func(s *v1alpha1.EventSource) { s.Spec.Type = tc.source }), eventSecretOf(tc.secret))
			w := u.Exchange(deliver("deployment_status", good, tc.change))
			if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), tc.want) {
				t.Fatalf("%d %s, want 401 without the reason", w.Code, w.Body)
			}
			lines := u.Refusals()
			if len(lines) != 1 || lines[0].Source != tc.name || !strings.Contains(lines[0].Reason, tc.want) ||
				lines[0].RequestID != w.Header().Get("X-Request-Id") {
				t.Errorf("the log has %+v, want one line with %q", lines, tc.want)
			}
			for _, secret := range []string{eventSecret, "S3CRET", signature(other, good), signature(eventSecret, good)} {
				if strings.Contains(u.Log.String(), secret) {
					t.Errorf("the log has %s: %s", secret, u.Log)
				}
			}
			if u.Audit.String() != "" {
				t.Errorf("the audit log has %s, and nobody is known", u.Audit)
			}
		})
	}
}

// TestManyRefusedEvents: strangers make a line a minute of a source that they know, and ten a minute of all.
func TestManyRefusedEvents(t *testing.T) {
	good := payload(t, "deployment_status")
	objects := []client.Object{eventSecretOf(eventSecret)}
	for n := range 50 {
		objects = append(objects, source(func(s *v1alpha1.EventSource) { s.Name = fmt.Sprintf("source-%d", n) }))
	}
	u := startHub(t, objects...)
	u.Validate = false
	send := func(count int, source string) {
		for range count {
			if w := u.Exchange(deliver("deployment_status", good, unsigned,
				apitest.Path("/api/events/acme/"+source))); w.Code != http.StatusUnauthorized {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
	}
	send(1000, "source-0")
	send(3, "source-1")
	_ = u.Clock.Sleep(t.Context(), time.Minute)
	send(1, "source-0")
	lines := u.Refusals()
	if len(lines) != 3 || lines[0].RefusedBefore != 0 || lines[1].Source != "acme/source-1" || lines[2].RefusedBefore != 999 {
		t.Fatalf("%+v, want a line for each source, and after a minute one that counts 999", lines)
	}
	for range 10 {
		_ = u.Clock.Sleep(t.Context(), time.Minute)
		for n := range 50 {
			send(2, fmt.Sprintf("source-%d", n))
		}
	}
	if more := len(u.Refusals()) - len(lines); more != 100 {
		t.Errorf("%d lines in ten minutes, want ten a minute", more)
	}
}
