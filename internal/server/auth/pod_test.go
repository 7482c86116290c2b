package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

// reviewer answers as the API server would.
type reviewer struct {
	status authenticationv1.TokenReviewStatus
	err    error
	hangs  bool

	reviews, atOnce, most atomic.Int32
}

func (r *reviewer) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	r.reviews.Add(1)
	now := r.atOnce.Add(1)
	for most := r.most.Load(); now > most && !r.most.CompareAndSwap(most, now); most = r.most.Load() {
	}
	defer r.atOnce.Add(-1)
	if r.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	review := o.(*authenticationv1.TokenReview)
	if !slices.Equal(review.Spec.Audiences, []string{"postflight-collect", "postflight"}) ||
		!strings.HasSuffix(review.Spec.Token, ".signature") {
		return errors.New("another question")
	}
	review.Status = r.status
	return r.err
}

// boundTo is what the API server says of a good token.
func boundTo(change ...func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
	s := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"postflight-collect"},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:acme:default", Extra: map[string]authenticationv1.ExtraValue{
			extraPodName: {"smoke-1-x"}, extraPodUID: {"uid-pod"},
		}},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// tokenSaying is an unsigned token with the claims.
func tokenSaying(header, claims string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
}

// plausible is what the API server has to check.
func plausible() string {
	return "Bearer " + tokenSaying(`{"alg":"RS256"}`, fmt.Sprintf(`{"aud":["postflight-collect"],"exp":%d}`, time.Now().Add(time.Hour).Unix()))
}

func bearerRequest(authorization string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {authorization}}}
}

func TestPod(t *testing.T) {
	type status = authenticationv1.TokenReviewStatus
	good, algorithm := plausible(), `{"alg":"ES256"}`
	for name, tc := range map[string]struct {
		reason string
		header string
		says   status
		err    error
		want   int // HTTP status; 0: it is the pod
		asked  bool
	}{
		"Good":      {"bound to a pod", good, boundTo(), nil, 0, true},
		"Missing":   {"no token", "", boundTo(), nil, 401, false},
		"APIKey":    {"a key costs no review", "Bearer pf_acme_0123456789", boundTo(), nil, 401, false},
		"EmptyPart": {"it is no JWT", "Bearer a..c", boundTo(), nil, 401, false},
		"FourParts": {"it is no JWT", "Bearer a.b.c.d", boundTo(), nil, 401, false},
		"Noise":     {"it is no JSON", "Bearer eyJhbGciOiJSUzI1NiJ9.eyJhbGciOiJSUzI1NiJ9eyJh.signature", boundTo(), nil, 401, false},
		"EarlierVersion": {"pods that started before an upgrade", good, boundTo(func(s *status) { s.Audiences = []string{"postflight"} }),
			nil, 0, true},
		"OneAudience": {"a text is a list of one", "Bearer " + tokenSaying(algorithm, `{"aud":"postflight-collect","exp":9e9}`), boundTo(),
			nil, 0, true},
		"ForOthers": {"it says so itself", "Bearer " + tokenSaying(algorithm, `{"aud":["vault"],"exp":9e9}`), boundTo(), nil, 401, false},
		"ForNobody": {"it says so itself", "Bearer " + tokenSaying(algorithm, `{"exp":9e9}`), boundTo(), nil, 401, false},
		"Expired": {"it says so itself", "Bearer " + tokenSaying(algorithm, `{"aud":["postflight-collect"],"exp":1e9}`), boundTo(),
			nil, 401, false},
		"NoEnd": {"those of pods expire", "Bearer " + tokenSaying(algorithm, `{"aud":["postflight-collect"]}`), boundTo(), nil, 401,
			false},
		"NotSigned": {"it says so itself", "Bearer " + tokenSaying(`{"alg":"none"}`, `{"aud":["postflight-collect"],"exp":9e9}`), boundTo(),
			nil, 401, false},
		"Refused": {"the API server does not know it", good, status{Error: "invalid bearer token"}, nil, 401, true},
		"RefusedWithUser": {"what comes with a refusal does not count", good, boundTo(func(s *status) { s.Authenticated = false }), nil, 401,
			true},
		"NoAudience":    {"an authenticator that knows no audiences", good, boundTo(func(s *status) { s.Audiences = nil }), nil, 401, true},
		"OtherAudience": {"it is for somebody else", good, boundTo(func(s *status) { s.Audiences = []string{"vault"} }), nil, 401, true},
		"NotBound":      {"a ServiceAccount is no pod", good, boundTo(func(s *status) { s.User.Extra = nil }), nil, 401, true},
		"TwoPods": {"it is unclear which", good,
			boundTo(func(s *status) { s.User.Extra[extraPodName] = authenticationv1.ExtraValue{"a", "b"} }), nil, 401, true},
		"Person": {"people have no pods", good, boundTo(func(s *status) { s.User.Username = "acme:default" }), nil, 401, true},
		"NoNamespace": {"it is no ServiceAccount", good, boundTo(func(s *status) { s.User.Username = "system:serviceaccount:acme" }), nil,
			401, true},
		"Away": {"the API server does not answer", good, boundTo(), errors.New("refused"), 503, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{status: tc.says, err: tc.err}
			pod, err := NewPodAuthenticator(r, nil, clock.RealClock{}).Authenticate(t.Context(), bearerRequest(tc.header))
			got := statusOf(err)
			if got != tc.want || (r.reviews.Load() == 1) != tc.asked {
				t.Errorf("%s: %d after %d reviews, %v", tc.reason, got, r.reviews.Load(), err)
			}
			if want := (Pod{"acme", "smoke-1-x", "uid-pod"}); (pod == want) != (tc.want == 0) {
				t.Errorf("%s: %+v", tc.reason, pod)
			}
		})
	}
}

// TestReviewsAreBounded: while the API server hangs, few requests are sent to it, some wait, and all others are turned
// away at once.
func TestReviewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{hangs: true}
		a := NewPodAuthenticator(r, nil, clock.RealClock{})
		began := time.Now()
		took := make(chan time.Duration)
		const all = 2 * (maxReviews + maxWaiting)
		for range all {
			go func() {
				_, err := a.Authenticate(t.Context(), bearerRequest(plausible()))
				if statusOf(err) != http.StatusServiceUnavailable {
					t.Errorf("got %v, want 503", err)
				}
				took <- time.Since(began)
			}()
		}
		waited := 0
		for range all {
			if <-took > 0 {
				waited++
			}
		}
		if r.most.Load() != maxReviews || waited != maxReviews+maxWaiting {
			t.Errorf("%d at once, and %d waited, want %d and %d", r.most.Load(), waited, maxReviews, maxReviews+maxWaiting)
		}
	})
}

// TestReviewsPerSecond: a sender of token after token makes the API server check a bounded number of them.
func TestReviewsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{status: authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}}
		a := NewPodAuthenticator(r, nil, clock.RealClock{})
		const seconds = 3
		began := time.Now()
		for i := 0; time.Since(began) < seconds*time.Second; i++ {
			claims := fmt.Sprintf(`{"aud":["postflight-collect"],"exp":9e9,"jti":"%d"}`, i)
			if _, err := a.Authenticate(t.Context(), bearerRequest("Bearer "+tokenSaying(`{"alg":"RS256"}`, claims))); statusOf(
				err) != http.StatusUnauthorized {
				t.Fatal(err)
			}
		}
		if got, most := int(r.reviews.Load()), reviewBurst+seconds*reviewsPerSecond+1; got > most || got < reviewBurst {
			t.Errorf("%d reviews, want at most %d", got, most)
		}
	})
}

// TestRefusedTokenIsRemembered: the same wrong token costs one review, and a while later another.
func TestRefusedTokenIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{status: authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}}
		a, token := NewPodAuthenticator(r, nil, clock.RealClock{}), plausible()
		for _, want := range []int32{1, 1, 2} {
			if _, err := a.Authenticate(t.Context(), bearerRequest(token)); statusOf(err) != http.StatusUnauthorized || r.reviews.Load() != want {
				t.Errorf("%v after %d reviews, want 401 after %d", err, r.reviews.Load(), want)
			}
			time.Sleep(serviceaccount.RefusedFor/2 + time.Second)
		}
	})
}

// statusOf is the HTTP status of an error; 0 without an error, and for an error without a status.
func statusOf(err error) int {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.HTTPStatus()
}
