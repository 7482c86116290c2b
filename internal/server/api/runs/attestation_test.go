package runs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

const keysPath = "/.well-known/postflight/attestation-keys.pem"

// TestAttestation: the bundle as it is stored, or why there is none.
func TestAttestation(t *testing.T) {
	const bundle, sha = `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`, "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	ended := func(c metav1.Condition, more ...metav1.Condition) *v1alpha1.Suite {
		s := stored("a", 1)
		s.Spec.Deployment.SHA, s.Status.Conditions = sha, append([]metav1.Condition{c}, more...)
		return s
	}
	passed, archived := ended(v1alpha1.Passed("")), ended(v1alpha1.Passed(""), v1alpha1.Saved())
	short := ended(v1alpha1.Passed(""))
	short.Spec.Deployment.SHA = "5ca1ab1e"
	past := record.New(apitest.Namespace, archived, nil)
	kept := &apitest.FakeArchive{Bundles: map[string][]byte{"a": []byte(bundle)}}
	for name, tc := range map[string]struct {
		suite   *v1alpha1.Suite // nil: it was deleted
		archive *apitest.FakeArchive
		key     string
		status  int
		says    string
	}{
		"signed":               {passed, kept, "KEY", 200, bundle},
		"signed long ago":      {nil, &apitest.FakeArchive{Records: []record.Record{past}, Bundles: kept.Bundles}, "KEY", 200, bundle},
		"the keys are gone":    {passed, kept, "", 200, bundle},
		"running":              {ended(v1alpha1.Running("")), kept, "KEY", 404, "The run has not ended yet."},
		"no verdict":           {ended(v1alpha1.Inconclusive("")), kept, "KEY", 404, "ended as Inconclusive, which is no verdict"},
		"nothing to name":      {short, kept, "KEY", 404, "not the full SHA of a commit"},
		"no store":             {passed, nil, "KEY", 404, "no object store"},
		"no key":               {passed, &apitest.FakeArchive{}, "", 404, "signs no verdicts"},
		"being archived":       {passed, &apitest.FakeArchive{}, "KEY", 404, "Ask again in a few seconds"},
		"never signed":         {archived, &apitest.FakeArchive{}, "KEY", 404, "before this server signed verdicts"},
		"deleted and unsigned": {nil, &apitest.FakeArchive{Records: []record.Record{past}}, "KEY", 404, "before this server signed verdicts"},
		"the store is off":     {passed, &apitest.FakeArchive{Err: errors.New("off")}, "KEY", 503, "cannot be read from the store"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := apitest.Acme()
			if tc.suite != nil {
				objects = apitest.Acme(tc.suite)
			}
			h := apitest.Start(t, apitest.Setup{Objects: objects, Config: func(c *api.Config) {
				if tc.archive != nil {
					c.Runs.Archive = tc.archive
				}
				c.AttestationKeys = func() []byte { return []byte(tc.key) }
			}})
			w := h.Exchange(apitest.Get(apitest.RunsPath + "/a/attestation"))
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d: %s, want %d: %s", w.Code, w.Body, tc.status, tc.says)
			}
			if pending := strings.Contains(w.Body.String(), "attestation_pending"); pending != (name == "being archived") {
				t.Errorf("clients ask again: %t: %s", pending, w.Body)
			}
			if w.Code == 200 && w.Header().Get("Content-Type") != "application/vnd.dev.sigstore.bundle.v0.3+json" {
				t.Errorf("%v", w.Header())
			}
		})
	}
}

// TestAttestationKeys: anyone may have the public keys.
func TestAttestationKeys(t *testing.T) {
	for key, status := range map[string]int{"-----BEGIN PUBLIC KEY-----": 200, "": 404} {
		h := apitest.Start(t, apitest.Setup{Config: func(c *api.Config) { c.AttestationKeys = func() []byte { return []byte(key) } }})
		w := h.Exchange(httptest.NewRequest(http.MethodGet, keysPath, nil))
		if w.Code != status || status == 200 && w.Body.String() != key || status == 404 && !strings.Contains(w.Body.String(), "--attestation-key-file") {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
	}
}
