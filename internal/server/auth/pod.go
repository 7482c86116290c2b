package auth

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/server/auth/keyset"
)

// Pod identifies the pod that sent a request.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// podAudiences are of the tokens of collectors. Pods of an earlier version of Postflight have the second one.
var podAudiences = []string{job.TokenAudience, serviceaccount.Audience}

// PodAuthenticator finds the pod of a request by a ServiceAccount token that is bound to it.
type PodAuthenticator struct {
	reviews *reviews
	clock   clock.PassiveClock
	refused refusedTokens
	keys    *ClusterKeys
}

// NewPodAuthenticator takes the API server's keys, or nil. The clock may differ from the API server's.
func NewPodAuthenticator(r Reviewer, keys *ClusterKeys, c clock.PassiveClock) *PodAuthenticator {
	return &PodAuthenticator{reviews: newReviews(r, podReviews), clock: c, refused: newRefusedTokens(), keys: keys}
}

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

// Authenticate finds the pod of the bearer token. The error is an *Error.
func (a *PodAuthenticator) Authenticate(ctx context.Context, r *http.Request) (Pod, error) {
	token, wellFormed := bearerToken(r.Header)
	claims, isToken := serviceaccount.Unverified(token)
	if now := a.clock.Now(); !wellFormed || !isToken || !claims.MayBeGood(now, podAudiences...) || a.refused.has(token, now) {
		return Pod{}, ErrUnauthenticated
	}
	switch a.keys.check(ctx, token) {
	case forgedSignature:
		return Pod{}, ErrUnauthenticated
	case unclearSignature:
		return Pod{}, Unclear(keyset.ErrUnclear)
	}
	review := serviceaccount.TokenReview(token, podAudiences...)
	if err := a.reviews.ask(ctx, "", review); err != nil {
		return Pod{}, Unavailable(err)
	}
	pod, ok := podOf(review.Status)
	if !ok {
		a.refused.add(token, a.clock.Now())
		return Pod{}, ErrUnauthenticated
	}
	return pod, nil
}

const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
)

func podOf(s authenticationv1.TokenReviewStatus) (Pod, bool) {
	account, ok := serviceaccount.Recognized(s, podAudiences...)
	names, uids := s.User.Extra[extraPodName], s.User.Extra[extraPodUID]
	if !ok || len(names) != 1 || len(uids) != 1 {
		return Pod{}, false
	}
	return Pod{Namespace: account.Namespace, Name: names[0], UID: types.UID(uids[0])}, true
}
