package accounttoken

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// issuer plays the API server: each token names its audience, and how many were issued before.
type issuer struct {
	user   string
	issued int
	fails  error
	takes  time.Duration
}

func (i *issuer) source() *Source {
	return &Source{Clock: clock.RealClock{}, Client: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			obj.(*authenticationv1.SelfSubjectReview).Status.UserInfo.Username = i.user
			return i.fails
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, _ string, account, request client.Object, _ ...client.SubResourceCreateOption) error {
			time.Sleep(i.takes)
			r := request.(*authenticationv1.TokenRequest)
			if i.fails != nil {
				return i.fails
			}
			i.issued++
			r.Status.Token = fmt.Sprintf("%s/%s for %s, %d", account.GetNamespace(), account.GetName(), r.Spec.Audiences[0], i.issued)
			r.Status.ExpirationTimestamp = metav1.NewTime(time.Now().Add(time.Duration(*r.Spec.ExpirationSeconds) * time.Second))
			return nil
		},
	}).Build()}
}

const manager = "system:serviceaccount:postflight-system:manager"

// TestToken asks at several times: a token is kept for its audience, renewed before it expires, and waited for after that.
func TestToken(t *testing.T) {
	steps := []struct {
		reason   string
		after    time.Duration
		audience string
		want     string
	}{
		{"the first is waited for", 0, "east", "postflight-system/manager for east, 1"},
		{"it is kept", 49 * time.Minute, "east", "postflight-system/manager for east, 1"},
		{"each audience has its own", 0, "west", "postflight-system/manager for west, 2"},
		{"it is renewed without a wait", 2 * time.Minute, "east", "postflight-system/manager for east, 1"},
		{"the next request has the new one", 0, "east", "postflight-system/manager for east, 3"},
		{"it has expired, so that the new one is waited for", 2 * time.Hour, "east", "postflight-system/manager for east, 4"},
	}
	synctest.Test(t, func(t *testing.T) {
		s := (&issuer{user: manager}).source()
		for _, step := range steps {
			time.Sleep(step.after)
			if got, err := s.Token(t.Context(), step.audience); err != nil || got != step.want {
				t.Errorf("%s: %q, %v, want %q", step.reason, got, err, step.want)
			}
			synctest.Wait()
		}
	})
}

// TestTokenIsAskedForOnce: requests that come at once share the answer, and one that gives up takes it from no other.
func TestTokenIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{user: manager, takes: time.Second}
		s := i.source()
		hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Token(hasty, "east"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the hasty request got %v", err)
		}
		answers := make(chan error)
		for range 10 {
			go func() {
				_, err := s.Token(t.Context(), "east")
				answers <- err
			}()
		}
		for range 10 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if i.issued != 1 {
			t.Errorf("%d tokens were issued, want 1", i.issued)
		}
	})
}

// TestNoToken: an error says what failed, and is not kept.
func TestNoToken(t *testing.T) {
	cases := map[string]struct {
		reason string
		issuer issuer
		says   string
	}{
		"refused":        {"the API server says why", issuer{user: manager, fails: errors.New("no such right")}, "no such right"},
		"a person":       {"a process that runs by a kubeconfig has no ServiceAccount", issuer{user: "jane"}, `the manager is "jane" to the API server`},
		"another system": {"a node is none, either", issuer{user: "system:node:a:b"}, "which is no ServiceAccount"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := tc.issuer.source()
			if _, err := s.Token(t.Context(), "east"); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.says)
			}
			tc.issuer.user, tc.issuer.fails = manager, nil
			if _, err := s.Token(t.Context(), "east"); err != nil {
				t.Errorf("after that: %v", err)
			}
		})
	}
}
