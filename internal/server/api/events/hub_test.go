package events_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/flux"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/build"
)

const (
	eventSecret = "a secret of more than 16 bytes"
	appSecret   = "the secret of the App of the manager"
	sourcePath  = "/api/events/acme/github"
	appPath     = "/api/events/github"
)

// hub is the Receiver of a harness, and what it was told.
type hub struct {
	*apitest.World
	used []string
}

func startHub(t *testing.T, objects ...client.Object) *hub {
	t.Helper()
	return startHubWith(t, interceptor.Funcs{}, objects...)
}

func startHubWith(t *testing.T, faults interceptor.Funcs, objects ...client.Object) *hub {
	t.Helper()
	u := &hub{}
	objects = append(apitest.Acme(), objects...)
	u.World = apitest.Start(t, apitest.Setup{Objects: objects, Faults: faults, Config: func(c *api.Config) {
		receiver, err := events.New(events.Config{
			Dispatcher: c.Dispatcher, Cache: c.Cache, Live: c.Live, Clock: c.Clock, ServerTime: func(t time.Time) time.Time { return t },
			Formats: map[v1alpha1.EventSourceType]event.Format{
				v1alpha1.EventsOfGitHub: github.Format(), v1alpha1.EventsOfGitLab: gitlab.Format(), v1alpha1.EventsOfFlux: flux.Format(),
			},
			App:     events.App{Secret: func() ([]byte, error) { return []byte(appSecret), nil }, ID: 88001, Host: "github.com"},
			Reports: report.Options{PublicURL: "https://postflight.example.com"},
			Used:    func(s *v1alpha1.EventSource) { u.used = append(u.used, s.Namespace+"/"+s.Name) },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Events = receiver
	}})
	return u
}

func source(change ...func(*v1alpha1.EventSource)) *v1alpha1.EventSource {
	return build.With(&v1alpha1.EventSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "github"},
		Spec: v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitHub,
			Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "github"}},
	}, change...)
}

func clientUID(uid string) types.UID { return types.UID(uid) }

func ofApp(s *v1alpha1.EventSource) { s.Spec.Secret = nil }

func eventSecretOf(value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "postflight-events"},
		Data: map[string][]byte{"github": []byte(value)}}
}

// payload is a recorded body with other values.
func payload(t *testing.T, file string, changes ...string) []byte {
	t.Helper()
	body, err := os.ReadFile("../../../core/deployment/event/github/testdata/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		if !bytes.Contains(body, []byte(changes[0])) {
			t.Fatalf("%s has no %s", file, changes[0])
		}
		body = []byte(strings.NewReplacer(changes...).Replace(string(body)))
	}
	return body
}

func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver is a good delivery of an event to the EventSource, as GitHub sends it.
func deliver(kind string, body []byte, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, sourcePath, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "GitHub-Hookshot/044aadd")
	r.Header.Set("X-GitHub-Event", kind)
	r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	r.Header.Set("X-Hub-Signature-256", signature(eventSecret, body))
	return build.With(r, change...)
}

func toApp(body []byte) func(*http.Request) {
	return func(r *http.Request) {
		r.URL.Path = appPath
		r.Header.Set("X-Hub-Signature-256", signature(appSecret, body))
	}
}

func (u *hub) take(r *http.Request) httpapi.EventResult {
	u.T.Helper()
	w := u.Exchange(r)
	if w.Code != http.StatusOK {
		u.T.Fatalf("status %d, want 200: %s", w.Code, w.Body)
	}
	return apitest.Decode[httpapi.EventResult](u.T, w)
}

func production(t *v1alpha1.Trigger) { t.Spec.Match.DeploymentTypes = []string{"production"} }

func renamed(s *v1alpha1.EventSource) {
	s.Spec.Environments = []v1alpha1.EventEnvironment{{Event: "Production", DeploymentType: "production"}}
}
