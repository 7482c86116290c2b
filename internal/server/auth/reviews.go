package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/fairness"
)

// Anyone can forge what looks like a token of a cluster whose keys cannot be read, and a good account can get any number of tokens. These
// limits bound what that costs the API server.
const (
	maxReviews       = 8 // questions are asked at once, and answered in 1 or 2 ms each. maxWaiting more wait, each holding a connection
	maxWaiting       = 128
	reviewsPerSecond = 200 // bounds the questions over a longer time; reviewBurst may come at once
	reviewBurst      = 400
	reviewTimeout    = 5 * time.Second // bounds an answer, and the wait for it

	// maxGroups bounds the groups whose rate is known. A forgotten one begins anew, within the rate of all.
	maxGroups = 1024
)

var errManyReviews = errors.New("as many tokens are being checked as the API server is asked about at once")

// Reviewer asks the API server a question, as a client without a cache can.
type Reviewer interface {
	Create(ctx context.Context, review client.Object, options ...client.CreateOption) error
}

// reviewLimits bound one group of senders.
type reviewLimits struct {
	atOnce    int
	perSecond rate.Limit
	burst     int
}

var (
	// podReviews has one group: the pods of all runs.
	podReviews = reviewLimits{atOnce: maxReviews, perSecond: reviewsPerSecond, burst: reviewBurst}
	// accountReviews leaves at least half of the answers, and most of the rate, to other namespaces. A new token costs a review or two.
	accountReviews = reviewLimits{atOnce: maxReviews / 2, perSecond: reviewsPerSecond / 5, burst: reviewBurst / 4}
)

// reviews shares what the API server is asked at once, and over time, among groups of senders.
type reviews struct {
	reviewer Reviewer
	limits   reviewLimits
	waiting  *fairness.TeamLimiter
	slots    *fairness.Semaphore
	rate     *rate.Limiter

	mu     sync.Mutex
	groups *lru.Cache // *rate.Limiter by group
}

func newReviews(r Reviewer, l reviewLimits) *reviews {
	return &reviews{
		reviewer: r, limits: l,
		waiting: fairness.NewTeamLimiter((maxReviews + maxWaiting) * 9 / 8), // a group that is alone gets 8/9
		slots:   fairness.NewSharedSemaphore(maxReviews, l.atOnce),
		rate:    rate.NewLimiter(reviewsPerSecond, reviewBurst), groups: lru.New(maxGroups),
	}
}

// ask waits for its turn and for the answer, which the question then has.
func (r *reviews) ask(ctx context.Context, group string, question client.Object) error {
	if !r.waiting.TryAcquire(group) {
		return errManyReviews
	}
	defer r.waiting.Release(group)
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	if r.rateOf(group).Wait(ctx) != nil || r.rate.Wait(ctx) != nil {
		return errManyReviews
	}
	release, err := r.slots.Acquire(ctx, group)
	if err != nil {
		return errManyReviews
	}
	defer release()
	return r.reviewer.Create(ctx, question)
}

func (r *reviews) rateOf(group string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.groups.Get(group); ok {
		return known.(*rate.Limiter)
	}
	limiter := rate.NewLimiter(r.limits.perSecond, r.limits.burst)
	r.groups.Add(group, limiter)
	return limiter
}
