package serviceaccount_test

import (
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

var ci = authenticationv1.UserInfo{
	Username: "system:serviceaccount:acme:ci", UID: "uid", Groups: []string{"system:serviceaccounts"},
	Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/pod-name": {"hook"}},
}

func TestRecognized(t *testing.T) {
	good := authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"postflight"}, User: ci}
	for name, tc := range map[string]struct {
		reason string
		change func(*authenticationv1.TokenReviewStatus)
		want   bool
	}{
		"good":              {"the API server knows it", func(*authenticationv1.TokenReviewStatus) {}, true},
		"not authenticated": {"what comes with a refusal does not count", func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }, false},
		"no audience":       {"an authenticator that knows no audiences", func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }, false},
		"another audience":  {"it is for somebody else", func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"postflight-collect"} }, false},
		"a person":          {"only ServiceAccounts have such tokens", func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "acme:ci" }, false},
		"no namespace":      {"it is no ServiceAccount", func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "system:serviceaccount:ci" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			tc.change(&s)
			got, ok := serviceaccount.Recognized(s, "postflight")
			if ok != tc.want || ok && got.String() != "acme/ci" {
				t.Errorf("%s: %v, %s", tc.reason, ok, got)
			}
		})
	}
}

func TestCountsUntil(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		expires time.Duration
		want    time.Duration
	}{
		"a long one":  {"an account that is deleted is noticed", time.Hour, 2 * time.Minute},
		"a short one": {"it never counts for longer than the token", time.Minute, time.Minute},
		"an old one":  {"the API server's clock is behind, and accepts it: it counts once", -time.Second, -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := serviceaccount.CountsUntil(noon, noon.Add(tc.expires)); !got.Equal(noon.Add(tc.want)) {
				t.Errorf("%s: %s", tc.reason, got)
			}
		})
	}
}
