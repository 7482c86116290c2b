package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestGreenlight(t *testing.T) {
	stopped := apitest.ARun("a", 0)
	apitest.SupersededBy("c")(stopped)
	elsewhere := apitest.ARun("z", 9, v1alpha1.Passed(""))
	elsewhere.Spec.SupersedeKey = "other/staging"
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(stopped, apitest.ARun("b", 1, v1alpha1.Failed("Exit code 1.")), apitest.ARun("c", 2, v1alpha1.Passed("")),
			elsewhere, apitest.ARun("d", -1)),
		Config: func(c *api.Config) { c.PublicURL = "https://ci.example.com" },
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
			w := h.Exchange(apitest.Ask(id, ""))
			got := apitest.Decode[httpapi.Greenlight](t, w)
			if w.Code != http.StatusOK || got.RootRunID != id || got.RelevantRunID != tc.relevant || got.RunStage != tc.stage ||
				got.Greenlight != tc.green {
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
	foreign := apitest.ARun("globex-run", 0, v1alpha1.Passed(""))
	foreign.Namespace = "globex"
	var namespaces []string
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Team("globex"), foreign),
		Faults: interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			namespaces = append(namespaces, key.Namespace)
			return c.Get(ctx, key, o, opts...)
		}},
	})
	want := map[string]any{}
	for _, id := range []string{"unknown", "globex-run", "Malformed", "globex.run", strings.Repeat("x", 3000), "naïve", " ", "a\x00b", "%2e",
		"..", ".", "../acme/unknown", "a/b", "a/", "unknown/../unknown"} {
		namespaces = nil
		r := apitest.Ask(id, "?wait=5")
		r.Header.Set("X-Request-Id", "same")
		w := h.Exchange(r)
		if w.Code != http.StatusNotFound || !cmp.Equal(namespaces, []string{apitest.Namespace}) {
			t.Errorf("%.20q: status %d; the API server was read in %v, want once in %s", id, w.Code, namespaces, apitest.Namespace)
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
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.ARun("a", 0, v1alpha1.Passed(""))),
		Config:  func(c *api.Config) { c.Cache = behind{c.Cache} },
	})
	if w := h.Exchange(apitest.Ask("a", "")); w.Code != http.StatusOK {
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
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Faults: interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	}})
	if w := h.Exchange(apitest.Ask("a", "")); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, want 503 with Retry-After: %s", w.Code, w.Body)
	}
}

func TestWaitParameter(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0, v1alpha1.Passed("")))})
	for query, want := range map[string]int{
		"": 200, "?wait=0": 200, "?wait=55": 200, "?other=1": 200,
		"?wait=56": 400, "?wait=-1": 400, "?wait=": 400, "?wait=1.5": 400, "?wait=x": 400, "?wait=1&wait=2": 400,
		"?wait=99999999999999999999": 400, "?%zz": 400,
	} {
		if w := h.Exchange(apitest.Ask("a", query)); w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", query, w.Code, want, w.Body)
		}
	}
}
