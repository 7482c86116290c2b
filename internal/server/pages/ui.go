// Package pages serves the run pages: HTML from templates. What they show is decided in internal/core/view. The same URL as an event
// stream sends the page again whenever it changes. Only Actions and Starter can write. The packages below it serve the pages of one topic
// each; site has what they share.
package pages

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/assets"
	"github.com/postflight-dev/postflight/internal/server/pages/overview"
	"github.com/postflight-dev/postflight/internal/server/pages/run"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
)

// Runs is a runs.Reader.
type Runs interface {
	run.Runs
	overview.Runs
}

// Config is what the pages need. Only Actions and Starter can write.
type Config struct {
	overview.Config
	Cache         client.Reader // Teams, keys, Triggers, Environments and Jobs; it has the indexes of index.Setup
	Runs          Runs          // it hears of a change of a Suite before Changed is called
	Failures      run.Failures
	Authenticator site.Authenticator
	Provider      Provider // another way to sign in than an API key; nil if there never is one. It needs a PublicURL
	Actions       run.Actions
	OpenAPI       []byte // describes the HTTP API
	// SealingKey returns the secret that seals cookies, the same in every replica.
	SealingKey func(context.Context) ([]byte, error)
	// Authenticated is called with the team of each request; of a reader of public pages, only if no limit refuses it.
	Authenticated func(ctx context.Context, team string)

	PublicURL string   // of the pages; empty if that is unknown. Its path is the base path of all links
	Hosts     []string // further names of the pages, without ports. Without them and PublicURL, every name is accepted

	Limits      site.Limits
	SendingLogs *fairness.TeamLimiter // logs that are being sent, here and by the HTTP API
	Log         logr.Logger
	Audit       *slog.Logger // gets a line when a person signs in or out, cancels or reruns a run
	Clock       clock.PassiveClock
	Steady      clock.PassiveClock // dates actions, because it is never set
}

// UI serves the pages.
type UI struct {
	*site.Site
	Provider Provider
	assets   *assets.Assets
	run      *run.Pages
	overview *overview.Pages
}

// New returns the pages. Call Changed after each change of a Suite, Trigger, Environment or Job.
func New(c Config) (*UI, error) {
	if c.Cache == nil || c.Runs == nil || c.Authenticator == nil || c.SealingKey == nil || c.Explain == nil || c.Verdicts == nil ||
		c.Starter == nil || c.Actions == nil || c.Audit == nil || c.Authenticated == nil || c.Clock == nil || c.Steady == nil ||
		c.SendingLogs == nil {
		return nil, errors.New("the pages need readers, an authenticator, a sealing key, an explainer, verdicts, a starter, actions, " +
			"an audit log, clocks and a limiter of logs")
	}
	s, err := site.New(site.Config{
		Cache: c.Cache, Authenticator: c.Authenticator, SealingKey: c.SealingKey, Authenticated: c.Authenticated, PublicURL: c.PublicURL,
		Hosts: c.Hosts, Limits: c.Limits, SendingLogs: c.SendingLogs, Log: c.Log, Audit: c.Audit, Clock: c.Clock,
	})
	if err != nil {
		return nil, err
	}
	u := &UI{Site: s, Provider: c.Provider, run: &run.Pages{Site: s, Runs: c.Runs, Failures: c.Failures, Actions: c.Actions, Steady: c.Steady}}
	if u.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if s.Templates, err = parseTemplates(u.functions()); err != nil {
		return nil, err
	}
	reference, err := view.ReferenceOf(c.OpenAPI)
	if err != nil {
		return nil, err
	}
	u.overview = &overview.Pages{Site: s, Config: c.Config, Runs: c.Runs, Reference: reference, Steady: c.Steady}
	s.Icon, s.FileOwner, s.Mux = u.icon, u.run.FileOwner, u.newMux()
	return u, nil
}

// Changed wakes the pages of a namespace after an object that they show has changed.
func (u *UI) Changed(namespace string) { u.Changes.Publish(namespace) }

// Drain ends the live pages before the server stops. Their browsers connect again.
func (u *UI) Drain() { u.Changes.Close() }
