package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/job"
)

// Anyone can forge what looks like a pod's token. These limits bound what that costs the API server.
const (
	maxReviews       = 8 // tokens are checked at once, in 1 or 2 ms each, and maxWaiting more wait, each holding a connection
	maxWaiting       = 128
	reviewsPerSecond = 200 // bounds the checks over a longer time, of which reviewBurst may come at once
	reviewBurst      = 400
	reviewTimeout    = 5 * time.Second // bounds a check, and the wait for it
	// refusedFor is how long a refused token is not checked again, and maxRefused how many are remembered.
	refusedFor = 10 * time.Second
	maxRefused = 4096
)

var errNewKey = errors.New("the token names a key that the API server has not published, or not yet")

var errManyReviews = errors.New("as many tokens are being checked as the API server is asked about at once")

// Pod identifies the pod that sent a request.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// TokenReviewer asks the API server about a token, as a client without a cache can.
type TokenReviewer interface {
	Create(ctx context.Context, review client.Object, options ...client.CreateOption) error
}

// PodAuthenticator finds the pod of a request by a ServiceAccount token that is bound to it.
type PodAuthenticator struct {
	reviewer TokenReviewer
	clock    clock.PassiveClock
	slots    chan struct{}
	waiting  chan struct{}
	rate     *rate.Limiter
	refused  refusedTokens
	keys     clusterKeys
}

// NewPodAuthenticator takes the API server's keys as a JSON Web Key Set, or nil. The clock may differ from the API server's.
func NewPodAuthenticator(r TokenReviewer, keys func(context.Context) ([]byte, error), c clock.PassiveClock) *PodAuthenticator {
	return &PodAuthenticator{
		reviewer: r, clock: c, slots: make(chan struct{}, maxReviews), waiting: make(chan struct{}, maxReviews+maxWaiting),
		rate: rate.NewLimiter(reviewsPerSecond, reviewBurst), refused: refusedTokens{until: map[[sha256.Size]byte]time.Time{}},
		keys: clusterKeys{read: keys, clock: c},
	}
}

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

// Authenticate finds the pod of the bearer token. The error is an *Error.
func (a *PodAuthenticator) Authenticate(ctx context.Context, r *http.Request) (Pod, error) {
	token, wellFormed := bearerToken(r.Header)
	if !wellFormed || !mayBeGood(token, a.clock.Now()) || a.refused.has(token, a.clock.Now()) {
		return Pod{}, ErrUnauthenticated
	}
	switch a.keys.check(ctx, token) {
	case forgedSignature:
		return Pod{}, ErrUnauthenticated
	case unclearSignature:
		return Pod{}, Unavailable(errNewKey)
	}
	status, err := a.review(ctx, token)
	if err != nil {
		return Pod{}, Unavailable(err)
	}
	pod, ok := podOf(status)
	if !ok {
		a.refused.add(token, a.clock.Now())
		return Pod{}, ErrUnauthenticated
	}
	return pod, nil
}

func (a *PodAuthenticator) review(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
	var none authenticationv1.TokenReviewStatus
	select {
	case a.waiting <- struct{}{}:
		defer func() { <-a.waiting }()
	default:
		return none, errManyReviews
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	if a.rate.Wait(ctx) != nil {
		return none, errManyReviews
	}
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return none, errManyReviews
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{job.TokenAudience}}}
	err := a.reviewer.Create(ctx, review)
	return review.Status, err
}

const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
)

// podOf checks the audience again, because an authenticator of the API server that knows no audiences ignores them.
func podOf(s authenticationv1.TokenReviewStatus) (Pod, bool) {
	account, isAccount := strings.CutPrefix(s.User.Username, "system:serviceaccount:")
	namespace, _, hasNamespace := strings.Cut(account, ":")
	names, uids := s.User.Extra[extraPodName], s.User.Extra[extraPodUID]
	if !s.Authenticated || !slices.Contains(s.Audiences, job.TokenAudience) || !isAccount || !hasNamespace || len(names) != 1 || len(uids) != 1 {
		return Pod{}, false
	}
	return Pod{Namespace: namespace, Name: names[0], UID: types.UID(uids[0])}, true
}
