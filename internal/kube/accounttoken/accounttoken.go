// Package accounttoken gets tokens of the manager's own ServiceAccount, each for one audience.
package accounttoken

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// lifetime is asked of the API server, which may grant another.
	lifetime = time.Hour
	// renewBefore leaves a token the time of the longest request.
	renewBefore = 10 * time.Minute
	// leastLeft is what a token needs to arrive before it expires, and timeout bounds a request to the API server.
	leastLeft = time.Minute
	timeout   = 10 * time.Second
)

// Source asks the API server for tokens, and keeps each until it is about to expire.
type Source struct {
	Client client.Client // without a cache
	Clock  clock.PassiveClock

	asking  singleflight.Group // by audience
	mu      sync.Mutex
	account *corev1.ServiceAccount
	known   map[string]token // by audience
}

type token struct {
	text    string
	expires time.Time
}

// Token returns a token for an audience.
func (s *Source) Token(ctx context.Context, audience string) (string, error) {
	s.mu.Lock()
	known := s.known[audience]
	s.mu.Unlock()
	now := s.Clock.Now()
	if now.Before(known.expires.Add(-renewBefore)) {
		return known.text, nil
	}
	asked := s.asking.DoChan(audience, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout) // others wait for the answer, too
		defer cancel()
		return s.ask(ctx, audience)
	})
	if now.Before(known.expires.Add(-leastLeft)) {
		return known.text, nil // the next request has the other one
	}
	select {
	case answer := <-asked:
		if answer.Err != nil {
			return "", answer.Err
		}
		return answer.Val.(string), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (s *Source) ask(ctx context.Context, audience string) (string, error) {
	account, err := s.self(ctx)
	if err != nil {
		return "", err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{audience}, ExpirationSeconds: new(int64(lifetime.Seconds())),
	}}
	if err := s.Client.SubResource("token").Create(ctx, account.DeepCopy(), request); err != nil {
		return "", fmt.Errorf("ask for a token of the ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]token{}
	}
	s.known[audience] = token{request.Status.Token, request.Status.ExpirationTimestamp.Time}
	return request.Status.Token, nil
}

// self asks the API server who the manager is: it may run as a pod, or as a process beside the cluster.
func (s *Source) self(ctx context.Context) (*corev1.ServiceAccount, error) {
	s.mu.Lock()
	account := s.account
	s.mu.Unlock()
	if account != nil {
		return account, nil
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := s.Client.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("ask the API server who the manager is: %w", err)
	}
	name := review.Status.UserInfo.Username
	parts := strings.Split(name, ":")
	if len(parts) != 4 || parts[0] != "system" || parts[1] != "serviceaccount" {
		return nil, fmt.Errorf("the manager is %q to the API server, which is no ServiceAccount", name)
	}
	account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: parts[2], Name: parts[3]}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = account
	return account, nil
}
