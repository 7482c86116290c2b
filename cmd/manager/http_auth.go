package main

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/auth/issuer"
	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
)

func setupAuth(mgr ctrl.Manager, probe *auth.APIServerProbe, clock clock.PassiveClock) (*auth.Keys, *auth.Usage, error) {
	usage := auth.NewUsage(mgr.GetClient(), clock)
	if err := mgr.Add(usage); err != nil {
		return nil, nil, err
	}
	return &auth.Keys{Reader: mgr.GetCache(), Staleness: probe.Staleness, Used: usage.Record, Clock: clock}, usage, nil
}

// newWaitTokens share the key of the sessions of people, which all replicas have.
func newWaitTokens(mgr ctrl.Manager, sessions *signin.Sessions, clock clock.PassiveClock) *auth.WaitTokens {
	return &auth.WaitTokens{Sealer: &seal.Sealer{Secret: sessions.Key}, Reader: mgr.GetCache(), Clock: clock}
}

// newServiceAccounts needs a client without a cache, as authenticatePod does.
func newServiceAccounts(mgr ctrl.Manager, c client.Client, keys *auth.ClusterKeys, clock clock.PassiveClock) *auth.ServiceAccounts {
	return auth.NewServiceAccounts(auth.ServiceAccountConfig{Reviewer: c, Keys: keys, Reader: mgr.GetCache(), Clock: clock})
}

// newIssuers lets senders in by tokens of the listed issuers.
func newIssuers(mgr ctrl.Manager, o options, probe *auth.APIServerProbe, steady clock.PassiveClock) *issuer.Way {
	return issuer.New(issuer.Config{
		Issuers: o.issuers, Client: outbound.Trusting, GitHub: o.codeHosts.gitHubHost(), Reader: mgr.GetCache(), Staleness: probe.Staleness,
		Clock: auth.ServerClock{APIServerProbe: probe}, Steady: steady, Log: ctrl.Log.WithName("auth"),
	})
}

// authenticatePod needs a client without a cache: the API server answers a token with the result of its check.
func authenticatePod(c client.Client, keys *auth.ClusterKeys, clock clock.PassiveClock) func(*http.Request) (podfiles.Pod, error) {
	authenticator := auth.NewPodAuthenticator(c, keys, clock)
	return func(r *http.Request) (podfiles.Pod, error) {
		p, err := authenticator.Authenticate(r.Context(), r)
		return podfiles.Pod(p), err
	}
}

func clusterKeys(mgr ctrl.Manager, clock clock.PassiveClock) (*auth.ClusterKeys, error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("set up the client of the API server's keys: %w", err)
	}
	return auth.NewClusterKeys(func(ctx context.Context) ([]byte, error) {
		return d.RESTClient().Get().AbsPath("/openid/v1/jwks").DoRaw(ctx)
	}, clock, ctrl.Log.WithName("auth")), nil
}
