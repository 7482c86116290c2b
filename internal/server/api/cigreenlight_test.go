package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const greenlightPath = "/api/v0/ci-greenlight/"

// aRun of the stream main/staging, received the given minutes after noon.
func aRun(name string, minutes int, conditions ...metav1.Condition) *v1alpha1.Suite {
	received := metav1.NewMicroTime(noon.Add(time.Duration(minutes) * time.Minute))
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			SupersedeKey: "main/staging", ReceivedAt: &received,
		},
		Status: v1alpha1.SuiteStatus{Conditions: conditions},
	}
}

func supersededBy(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.Superseded("Superseded by " + name + ".")}
		s.Status.SupersededBy = name
	}
}

func ask(id, query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, greenlightPath+url.PathEscape(id)+query, nil)
	r.Header.Set("Authorization", "Bearer "+goodKey)
	return r
}

func TestGreenlight(t *testing.T) {
	stopped := aRun("a", 0)
	supersededBy("c")(stopped)
	elsewhere := aRun("z", 9, v1alpha1.Passed(""))
	elsewhere.Spec.SupersedeKey = "other/staging"
	h := start(t, setup{
		objects: acme(stopped, aRun("b", 1, v1alpha1.Failed("Exit code 1.")), aRun("c", 2, v1alpha1.Passed("")), elsewhere, aRun("d", -1)),
		config:  func(c *Config) { c.PublicURL = "https://ci.example.com" },
	})
	cases := map[string]struct {
		relevant string
		stage    httpapi.Stage
		green    bool
	}{
		"a": {"c", httpapi.Completed, true},
		"b": {"b", httpapi.Completed, false},
		"c": {"c", httpapi.Completed, true},
		"d": {"d", httpapi.Initializing, false},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			w := h.exchange(ask(id, ""))
			got := decode[httpapi.Greenlight](t, w)
			if w.Code != http.StatusOK || got.RootRunID != id || got.RelevantRunID != tc.relevant || got.RunStage != tc.stage || got.Greenlight != tc.green {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if want := "https://ci.example.com/runs/acme/" + tc.relevant; got.RelevantRunURL != want {
				t.Errorf("relevantRunUrl %s, want %s", got.RelevantRunURL, want)
			}
		})
	}
}

// TestForeignRunIsUnknown: neither the body, nor the code, nor the look-ups, which stand for the time, distinguish
// another team's run from one that does not exist.
func TestForeignRunIsUnknown(t *testing.T) {
	foreign := aRun("globex-run", 0, v1alpha1.Passed(""))
	foreign.Namespace = "globex"
	var namespaces []string
	h := start(t, setup{
		objects: acme(team("globex"), foreign),
		faults: interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			namespaces = append(namespaces, key.Namespace)
			return c.Get(ctx, key, o, opts...)
		}},
	})
	want := map[string]any{}
	for _, id := range []string{"unknown", "globex-run", "Malformed", "globex.run", strings.Repeat("x", 3000), "naïve", " ", "a\x00b", "%2e",
		"..", ".", "../acme/unknown", "a/b", "a/", "unknown/../unknown"} {
		namespaces = nil
		r := ask(id, "?wait=5")
		r.Header.Set("X-Request-Id", "same")
		w := h.exchange(r)
		if w.Code != http.StatusNotFound || !cmp.Equal(namespaces, []string{namespace}) {
			t.Errorf("%.20q: status %d; the API server was read in %v, want once in %s", id, w.Code, namespaces, namespace)
		}
		got := map[string]any{"header": w.Header()}
		_ = json.Unmarshal(w.Body.Bytes(), &got)
		if id == "unknown" {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.20q differs from an unknown id:\n%s", id, diff)
		}
	}
}

func TestRunThatOnlyTheAPIServerKnows(t *testing.T) {
	h := start(t, setup{
		objects: acme(aRun("a", 0, v1alpha1.Passed(""))),
		config:  func(c *Config) { c.Cache = behind{c.Cache} },
	})
	if w := h.exchange(ask("a", "")); w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// behind is a cache that has no Suite yet.
type behind struct{ client.Reader }

func (c behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.Suite); ok {
		key.Name += "-not-yet"
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

func TestGreenlightWithoutAPIServer(t *testing.T) {
	h := start(t, setup{objects: acme(), faults: interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	}})
	if w := h.exchange(ask("a", "")); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, want 503 with Retry-After: %s", w.Code, w.Body)
	}
}

func TestWaitParameter(t *testing.T) {
	h := start(t, setup{objects: acme(aRun("a", 0, v1alpha1.Passed("")))})
	for query, want := range map[string]int{
		"": 200, "?wait=0": 200, "?wait=55": 200, "?other=1": 200,
		"?wait=56": 400, "?wait=-1": 400, "?wait=": 400, "?wait=1.5": 400, "?wait=x": 400, "?wait=1&wait=2": 400, "?wait=99999999999999999999": 400, "?%zz": 400,
	} {
		if w := h.exchange(ask("a", query)); w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", query, w.Code, want, w.Body)
		}
	}
}
