package runs_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/test/apitest"
)

// shortLived is a way whose only token ends, as that of a job of GitLab does.
type shortLived struct {
	apitest.Granting
	clock *apitest.FakeClock
	ends  time.Time
}

func (s *shortLived) Authenticate(ctx context.Context, token string, asked auth.Asked) (auth.Principal, error) {
	if !s.clock.Now().Before(s.ends) {
		return auth.Principal{}, auth.Refused("the token has expired", "The token has expired.")
	}
	return s.Granting.Authenticate(ctx, token, asked)
}

// oneToken is all that the client has.
type oneToken struct{}

func (oneToken) Token(context.Context, string) (string, error) { return "token-job", nil }

func (oneToken) Explain(string) string { return "It was made for this job." }

// TestClientOutlivesItsToken: the Go client notifies with a token of five minutes, and learns half an hour later how the run ended.
func TestClientOutlivesItsToken(t *testing.T) {
	waits := &auth.WaitTokens{Sealer: &seal.Sealer{Secret: func(context.Context) ([]byte, error) { return make([]byte, 32), nil }}}
	job := &shortLived{Granting: apitest.Granting{"job": {Actions: []grant.Action{grant.Notify}}}}
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.ARun("other", -5)),
		Ways:    []auth.Way{waits, job},
		Config:  func(c *api.Config) { c.WaitTokens = waits },
	})
	_ = h.Clock.Sleep(t.Context(), time.Since(apitest.Noon)) // the client has a clock of its own
	waits.Reader, waits.Clock = h.Cluster, h.Clock
	job.clock, job.ends = h.Clock, h.Clock.Now().Add(5*time.Minute)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.WithTokens(oneToken{}), client.WithTeam(apitest.Namespace), client.WithRetryTimeout(0))
	if err != nil {
		t.Fatal(err)
	}

	result, err := c.Notify(t.Context(), client.Notification{Branch: "main", SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"})
	if err != nil || len(result.Results) != 1 || result.WaitToken != "" {
		t.Fatalf("%+v, %v", result, err)
	}
	id := result.Results[0].RunID()
	if who, err := c.WhoAmI(t.Context()); err != nil || who.Sender.Kind != auth.KindToken || who.Team != apitest.Namespace {
		t.Errorf("%+v, %v", who, err)
	}
	_ = h.Clock.Sleep(t.Context(), 30*time.Minute)
	h.Become(id, apitest.To(v1alpha1.Passed("")))
	if answer, err := c.Await(t.Context(), id); err != nil || !answer.Greenlight {
		t.Fatalf("%+v, %v", answer, err)
	}
	if results, err := c.Results(t.Context(), id); err != nil || results.Run != id {
		t.Errorf("%+v, %v", results, err)
	}
	for what, err := range map[string]error{
		"another run": func() error { _, err := c.Run(t.Context(), "other"); return err }(),
		"to cancel":   func() error { _, err := c.Cancel(t.Context(), id); return err }(),
		"to notify":   func() error { _, err := c.Notify(t.Context(), client.Notification{Branch: "main"}); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "The token has expired. It was made for this job.") {
			t.Errorf("%s: %v, and the token has expired", what, err)
		}
	}
}
