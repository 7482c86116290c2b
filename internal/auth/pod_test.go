package auth

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	r.most.Store(max(r.most.Load(), r.atOnce.Add(1)))
	defer r.atOnce.Add(-1)
	if r.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	review := o.(*authenticationv1.TokenReview)
	if len(review.Spec.Audiences) != 1 || review.Spec.Audiences[0] != "postflight" || review.Spec.Token != "a.b.c" {
		return errors.New("another question")
	}
	review.Status = r.status
	return r.err
}

// boundTo is what the API server says of a good token.
func boundTo(change ...func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
	s := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"postflight"},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:acme:default", Extra: map[string]authenticationv1.ExtraValue{
			extraPodName: {"smoke-1-x"}, extraPodUID: {"uid-pod"},
		}},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func bearerRequest(authorization string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {authorization}}}
}

func TestPod(t *testing.T) {
	type status = authenticationv1.TokenReviewStatus
	for name, tc := range map[string]struct {
		reason string
		header string
		says   status
		err    error
		want   int // HTTP status; 0: it is the pod
		asked  bool
	}{
		"Good":            {"bound to a pod", "Bearer a.b.c", boundTo(), nil, 0, true},
		"Missing":         {"no token", "", boundTo(), nil, 401, false},
		"APIKey":          {"a key costs no review", "Bearer pf_acme_0123456789", boundTo(), nil, 401, false},
		"EmptyPart":       {"it is no JWT", "Bearer a..c", boundTo(), nil, 401, false},
		"FourParts":       {"it is no JWT", "Bearer a.b.c.d", boundTo(), nil, 401, false},
		"Refused":         {"the API server does not know it", "Bearer a.b.c", status{Error: "invalid bearer token"}, nil, 401, true},
		"RefusedWithUser": {"what comes with a refusal does not count", "Bearer a.b.c", boundTo(func(s *status) { s.Authenticated = false }), nil, 401, true},
		"NoAudience":      {"an authenticator that knows no audiences", "Bearer a.b.c", boundTo(func(s *status) { s.Audiences = nil }), nil, 401, true},
		"OtherAudience":   {"it is for somebody else", "Bearer a.b.c", boundTo(func(s *status) { s.Audiences = []string{"vault"} }), nil, 401, true},
		"NotBound":        {"a ServiceAccount is no pod", "Bearer a.b.c", boundTo(func(s *status) { s.User.Extra = nil }), nil, 401, true},
		"TwoPods":         {"it is unclear which", "Bearer a.b.c", boundTo(func(s *status) { s.User.Extra[extraPodName] = authenticationv1.ExtraValue{"a", "b"} }), nil, 401, true},
		"Person":          {"people have no pods", "Bearer a.b.c", boundTo(func(s *status) { s.User.Username = "acme:default" }), nil, 401, true},
		"NoNamespace":     {"it is no ServiceAccount", "Bearer a.b.c", boundTo(func(s *status) { s.User.Username = "system:serviceaccount:acme" }), nil, 401, true},
		"Away":            {"the API server does not answer", "Bearer a.b.c", boundTo(), errors.New("refused"), 503, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{status: tc.says, err: tc.err}
			pod, err := NewPodAuthenticator(r).Authenticate(t.Context(), bearerRequest(tc.header))
			got := 0
			if err != nil {
				got = err.(*Error).HTTPStatus()
			}
			if got != tc.want || (r.reviews.Load() == 1) != tc.asked {
				t.Errorf("%s: %d after %d reviews, %v", tc.reason, got, r.reviews.Load(), err)
			}
			if want := (Pod{"acme", "smoke-1-x", "uid-pod"}); (pod == want) != (tc.want == 0) {
				t.Errorf("%s: %+v", tc.reason, pod)
			}
		})
	}
}

// TestReviewsAreBounded: while the API server hangs, few requests are sent to it, and all others end as well.
func TestReviewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{hangs: true}
		a := NewPodAuthenticator(r)
		failures := make(chan error)
		for range 5 * maxReviews {
			go func() {
				_, err := a.Authenticate(t.Context(), bearerRequest("Bearer a.b.c"))
				failures <- err
			}()
		}
		for range 5 * maxReviews {
			if err := <-failures; err == nil || err.(*Error).HTTPStatus() != http.StatusServiceUnavailable {
				t.Errorf("got %v, want 503", err)
			}
		}
		if r.most.Load() != maxReviews {
			t.Errorf("%d at once, want %d", r.most.Load(), maxReviews)
		}
	})
}
