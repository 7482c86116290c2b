package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/auth/bearer"
	"github.com/postflight-dev/postflight/internal/job"
)

const (
	// maxReviews is how many tokens the API server checks at once for this replica. Anybody can send what looks like
	// a token: this is what they can make the API server do. A check takes a millisecond or two, so that the pods of
	// many runs are through in a second; the others wait.
	maxReviews = 8

	// reviewTimeout bounds a check, and the wait for it.
	reviewTimeout = 5 * time.Second
)

// Pod is a pod that makes a request.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// TokenReviewer asks the API server about tokens. A client without a cache is one.
type TokenReviewer interface {
	Create(ctx context.Context, review client.Object, options ...client.CreateOption) error
}

// PodAuthenticator finds the pod that a request comes from, by the token of a ServiceAccount that is bound to the pod.
type PodAuthenticator struct {
	reviewer TokenReviewer
	slots    chan struct{}
}

// NewPodAuthenticator returns a PodAuthenticator.
func NewPodAuthenticator(r TokenReviewer) *PodAuthenticator {
	return &PodAuthenticator{reviewer: r, slots: make(chan struct{}, maxReviews)}
}

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

// Authenticate finds the pod of the request's bearer token. The error is an *Error.
func (a *PodAuthenticator) Authenticate(ctx context.Context, r *http.Request) (Pod, error) {
	token, wellFormed := bearer.Token(r.Header)
	if !wellFormed || !looksSigned(token) {
		return Pod{}, ErrUnauthenticated
	}
	status, err := a.review(ctx, token)
	if err != nil {
		return Pod{}, unavailable(err)
	}
	pod, ok := podOf(status)
	if !ok {
		return Pod{}, ErrUnauthenticated
	}
	return pod, nil
}

// looksSigned reports whether a token has the three parts of a JWT. An API key has not, and costs no review.
func looksSigned(token string) bool {
	parts := strings.Split(token, ".")
	return len(parts) == 3 && !slices.Contains(parts, "")
}

func (a *PodAuthenticator) review(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return authenticationv1.TokenReviewStatus{}, errors.New("as many tokens are being checked as the API server is asked about at once")
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{job.TokenAudience}}}
	err := a.reviewer.Create(ctx, review)
	return review.Status, err
}

// The extra fields that the API server adds to the user of a token that is bound to a pod.
const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
)

// podOf is the pod that a good token is bound to. The audience is checked here as well: an authenticator of the API
// server that knows no audiences leaves them out.
func podOf(s authenticationv1.TokenReviewStatus) (Pod, bool) {
	account, isAccount := strings.CutPrefix(s.User.Username, "system:serviceaccount:")
	namespace, _, hasNamespace := strings.Cut(account, ":")
	names, uids := s.User.Extra[extraPodName], s.User.Extra[extraPodUID]
	if !s.Authenticated || !slices.Contains(s.Audiences, job.TokenAudience) || !isAccount || !hasNamespace || len(names) != 1 || len(uids) != 1 {
		return Pod{}, false
	}
	return Pod{Namespace: namespace, Name: names[0], UID: types.UID(uids[0])}, true
}
