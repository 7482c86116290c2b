package deploymentgate

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
)

// limitedHost lists a deployment, and then says that it was asked too often.
type limitedHost struct {
	CodeHost
	lists, asks int
}

func (h *limitedHost) Blocked(context.Context, report.Request, string) ([]event.Review, error) {
	h.lists++
	return []event.Review{{Environment: "production", DeploymentID: 7, CreatedAt: time.Unix(1e9, 0)}}, nil
}

func (h *limitedHost) Pending(context.Context, report.ApprovalRequest) (report.Pending, error) {
	h.asks++
	return report.Pending{}, &report.Error{Kind: report.Limited, Message: "too many requests", RetryAfter: time.Hour}
}

// TestPollerKeepsTheLimit: a host that says when to ask again is not asked earlier, whatever the question was.
func TestPollerKeepsTheLimit(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	host, clock := &limitedHost{}, clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	config := CodeHostConfig{
		CodeHost: host, Name: "gitlab.example.com", Limits: report.LimitsOf(v1alpha1.GitLab),
		Own: func() (report.Credentials, error) { return report.Credentials{Token: "t"}, nil },
	}
	p := &Poller{
		Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Clock: clock, skipped: map[string]time.Time{}, budgets: &report.Budgets{},
		hosts: hosts{byName: map[v1alpha1.HostingService]CodeHostConfig{v1alpha1.GitLab: config}},
	}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "production"}
	s := search{
		&v1alpha1.DeploymentGate{ObjectMeta: meta}, &v1alpha1.EventSource{ObjectMeta: meta},
		&v1alpha1.Team{Spec: v1alpha1.TeamSpec{Repositories: []string{"gitlab.example.com/acme/shop"}}}, config, host,
	}
	at := gate.Place{Source: meta.Name, Host: v1alpha1.GitLab, Repository: "acme/shop", Environment: "production"}
	for _, step := range []struct {
		reason string
		after  time.Duration
		err    bool
		asks   int
	}{
		{"the host answers the second request with a pause", 0, true, 1},
		{"the next round is within the pause", pollEvery, false, 1},
		{"the pause is over", time.Hour, true, 2},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		err := p.place(t.Context(), s, at)
		failure := (*report.Error)(nil)
		if errors.As(err, &failure) != step.err || host.asks != step.asks || host.lists != step.asks {
			t.Errorf("%s: %v after %d lists and %d requests", step.reason, err, host.lists, host.asks)
		}
	}
}
