package auth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// ServerClock is the clock of a probe, corrected to the API server's.
type ServerClock struct{ *APIServerProbe }

// Now is the API server's time.
func (c ServerClock) Now() time.Time { return c.ServerTime(c.Clock.Now()) }

// Since is how long ago a time of the API server was.
func (c ServerClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// AskVersion implements APIServerProbe.Ask with /version, which everyone may read. A missing Date is no failure.
func AskVersion(config *rest.Config, c *http.Client) func(context.Context) (time.Time, error) {
	server, _, urlErr := rest.DefaultServerUrlFor(config) // a kubeconfig may contain a host without a scheme
	return func(ctx context.Context) (time.Time, error) {
		if urlErr != nil {
			return time.Time{}, urlErr
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
		if err != nil {
			return time.Time{}, err
		}
		resp, err := c.Do(req)
		if err != nil {
			return time.Time{}, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return time.Time{}, fmt.Errorf("the API server answered %s", resp.Status)
		}
		date, _ := http.ParseTime(resp.Header.Get("Date"))
		return date, nil
	}
}
