package api_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/auth/issuer"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/tokens"
)

// strangers are everybody who can reach the API, and what they cost.
type strangers struct {
	*apitest.World
	ci      *tokens.Issuer
	steady  *clocktesting.FakePassiveClock
	cluster atomic.Int64 // requests for the API server's keys
	reviews atomic.Int64
	keysLog *apitest.LockedBuffer
}

// Create implements auth.Reviewer.
func (s *strangers) Create(context.Context, client.Object, ...client.CreateOption) error {
	s.reviews.Add(1)
	return nil
}

// publicKey is one of the API server.
func publicKey(t *testing.T) []byte {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "own"}}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func startStrangers(t *testing.T) *strangers {
	t.Helper()
	s := &strangers{ci: tokens.NewIssuer(t), steady: clocktesting.NewFakePassiveClock(apitest.Noon), keysLog: &apitest.LockedBuffer{}}
	log := funcr.NewJSON(func(line string) { s.keysLog.WriteString(line + "\n") }, funcr.Options{})
	set := publicKey(t)
	keys := auth.NewClusterKeys(func(context.Context) ([]byte, error) {
		s.cluster.Add(1)
		return set, nil
	}, s.steady, log)
	issuers := issuer.New(issuer.Config{
		Issuers: []issuer.Issuer{{Name: "ci", URL: s.ci.URL, Audiences: []string{"postflight"},
			Algorithms: []jose.SignatureAlgorithm{jose.RS256}}},
		Client: func(*x509.CertPool) *http.Client { return http.DefaultClient }, Clock: clocktesting.NewFakePassiveClock(apitest.Noon),
		Steady: s.steady, Log: log,
	})
	accounts := auth.NewServiceAccounts(auth.ServiceAccountConfig{Reviewer: s, Keys: keys,
		Clock: clocktesting.NewFakePassiveClock(apitest.Noon)})
	pods := auth.NewPodAuthenticator(s, keys, s.steady)
	s.World = apitest.Start(t,
		apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke")), Ways: []auth.Way{accounts, issuers}, Config: func(c *api.Config) {
			c.Artifacts = &apitest.ArtifactStore{}
			c.AuthenticatePod = func(r *http.Request) (podfiles.Pod, error) {
				p, err := pods.Authenticate(r.Context(), r)
				return podfiles.Pod(p), err
			}
			c.Log = funcr.NewJSON(func(line string) { s.Log.WriteString(line + "\n") }, funcr.Options{}) // as much as the manager logs
		}})
	return s
}

// forged is a token whose key nobody has.
func forged(n int, claims any) string {
	payload, _ := json.Marshal(claims)
	part := base64.RawURLEncoding.EncodeToString
	return part(fmt.Appendf(nil, `{"alg":"RS256","kid":"forged-%d"}`, n)) + "." + part(payload) + "." + part(make([]byte, 256))
}

func (s *strangers) counts() (failed, refused float64) {
	s.T.Helper()
	families, err := s.Registry.Gather()
	if err != nil {
		s.T.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "postflight_http_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "code" && strings.HasPrefix(l.GetValue(), "5") {
					failed += m.GetCounter().GetValue()
				} else if l.GetName() == "code" && l.GetValue() == "401" {
					refused += m.GetCounter().GetValue()
				}
			}
		}
	}
	return failed, refused
}

// TestForgedKeys: whoever sends tokens with keys that nobody has fires no alert, fills no log, and makes nobody be asked at each of them. A
// token with a new key is answered in a way that makes its sender try again.
func TestForgedKeys(t *testing.T) {
	account := map[string]any{"iss": "https://kubernetes", "sub": "system:serviceaccount:acme:ci", "aud": []string{"postflight"}, "exp": 9e9,
		"kubernetes.io": map[string]any{}}
	for name, send := range map[string]func(*strangers) (*http.Request, any){
		"of an issuer": func(s *strangers) (*http.Request, any) {
			return apitest.Post("{}"), tokens.GitHub(s.ci.URL, apitest.Noon)
		},
		"of a ServiceAccount": func(*strangers) (*http.Request, any) { return apitest.Post("{}"), account },
		"of a pod": func(*strangers) (*http.Request, any) {
			return apitest.CollectRequest("{}"), account
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startStrangers(t)
			const all = 1000
			again := 0
			for n := range all {
				r, claims := send(s)
				r.Header.Set("Authorization", "Bearer "+forged(n, claims))
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				switch w.Code {
				case http.StatusServiceUnavailable:
					again++
					if w.Header().Get("Retry-After") == "" {
						t.Fatal("a 503 does not say when to try again")
					}
				case http.StatusUnauthorized:
				default:
					t.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
			failed, refused := s.counts()
			if again != all-1 || failed != 0 || refused != all {
				t.Errorf("%d are to try again, and the metrics have %v failed and %v refused, want %d, none and all", again, failed, refused, all-1)
			}
			if s.Log.String() != "" || s.keysLog.String() != "" {
				t.Errorf("the log has %.500s%.500s", s.Log, s.keysLog)
			}
			if asked := s.cluster.Load() + int64(s.ci.Requests()); asked > 2 || s.reviews.Load() > 0 {
				t.Errorf("%d requests for keys, %d reviews", asked, s.reviews.Load())
			}
		})
	}
}

// TestKeysCannotBeRead: an issuer that is down is a failure, which alerts see and the log has once in a while.
func TestKeysCannotBeRead(t *testing.T) {
	s := startStrangers(t)
	s.ci.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	const hour = int(time.Hour / time.Minute)
	for n := range hour {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, apitest.Post("{}", func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+s.ci.Sign(tokens.GitHub(s.ci.URL, apitest.Noon)))
		}))
		if w.Code != http.StatusServiceUnavailable {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		s.steady.SetTime(apitest.Noon.Add(time.Duration(n+1) * time.Minute))
	}
	if failed, _ := s.counts(); failed != float64(hour) {
		t.Errorf("the metrics have %v failed requests, want %d", failed, hour)
	}
	lines := strings.Split(strings.TrimSpace(s.keysLog.String()), "\n")
	if len(lines) != 6 || !strings.Contains(lines[0], "cannot be read") || !strings.Contains(lines[0], `"issuer":"ci"`) ||
		!strings.Contains(lines[0], "502") {
		t.Errorf("the log of an hour has %d lines, want 6:\n%s", len(lines), s.keysLog)
	}
}
