package pages

import (
	"context"
	"errors"
	"html/template"
	"iter"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/match"
	"github.com/postflight-dev/postflight/internal/core/notification"
	"github.com/postflight-dev/postflight/internal/core/publicurl"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/live"
	"github.com/postflight-dev/postflight/internal/server/seal"
)

// Config is what the pages need. Only Actions can write.
type Config struct {
	// Cache reads Teams, Triggers, Environments and Jobs; it has the indexes of index.Setup.
	Cache client.Reader

	// Authenticator knows who may see what.
	Authenticator Authenticator

	// Provider is another way to sign in than an API key; nil if there never is one. It needs a PublicURL.
	Provider Provider

	// SealingKey returns the secret with which cookies are sealed, the same in every replica.
	SealingKey func(context.Context) ([]byte, error)

	// Explain says for each Trigger of the team why it matches a notification or not. It sends nothing.
	Explain func(context.Context, *v1alpha1.Team, *notification.Notification) (iter.Seq[match.Explanation], error)

	// Actions cancel and repeat runs.
	Actions Actions

	// Steady dates them. It is never set, unlike Clock.
	Steady clock.PassiveClock

	// OpenAPI describes the HTTP API.
	OpenAPI []byte

	// Runs reads runs, their logs and their files. It hears of a change of a Suite before Changed is called.
	Runs Runs

	// Authenticated is called with the context and the team of each request of somebody who may read the team: if everybody
	// may, only once the request has its place.
	Authenticated func(ctx context.Context, team string)

	// PublicURL is where people reach the pages; empty if that is unknown. Its path is the base path of all links.
	PublicURL string

	// Hosts are further names under which people reach the pages, without ports. If they and PublicURL are empty,
	// every name is accepted.
	Hosts []string

	// SendingLogs has a place for each log that is being sent, here and by the HTTP API.
	SendingLogs *fairness.TeamLimiter

	Limits Limits
	Log    logr.Logger
	Audit  *slog.Logger // gets a line when somebody signs in or out, cancels or repeats a run
	Clock  clock.PassiveClock
}

// UI serves the pages.
type UI struct {
	Config
	public    publicurl.URL
	hosts     map[string]bool
	changes   *live.Broadcaster
	versions  *live.Versions
	paces     *live.Paces
	assets    *assets
	templates map[string]*template.Template
	reference *view.Reference
	mux       http.Handler
	rendering *fairness.TeamLimiter
	streaming *fairness.TeamLimiter
	unsent    *fairness.TeamLimiter
	sending   *fairness.TeamLimiter
	listing   *fairness.TeamLimiter
	reading   *fairness.TeamLimiter
	visiting  *fairness.TeamLimiter
	sealer    seal.Sealer
	streams   live.Config
}

// New returns the pages. Call Changed after each change of a Suite, Trigger, Environment or Job.
func New(c Config) (*UI, error) {
	if c.Cache == nil || c.Runs == nil || c.Authenticator == nil || c.SealingKey == nil || c.Explain == nil ||
		c.Actions == nil || c.Audit == nil || c.Authenticated == nil || c.Clock == nil || c.Steady == nil || c.SendingLogs == nil {
		return nil, errors.New("the pages need readers, an authenticator, a sealing key, an explainer, actions, an audit log, clocks and a limiter of logs")
	}
	u := &UI{
		Config: c, changes: live.NewBroadcaster(), versions: live.NewVersions(), paces: live.NewPaces(c.Limits.Renders),
		rendering: fairness.NewTeamLimiter(c.Limits.Rendering), streaming: fairness.NewTeamLimiter(c.Limits.Streaming),
		unsent: fairness.NewTeamLimiter(c.Limits.Unsent), sending: fairness.NewTeamLimiter(c.Limits.Sending), listing: fairness.NewTeamLimiter(c.Limits.Listing),
		reading: fairness.NewTeamLimiter(c.Limits.Reading), visiting: fairness.NewTeamLimiter(c.Limits.Visiting),
	}
	u.sealer.Secret = u.secret
	u.streams = live.Config{Unsent: u.unsent, Heartbeat: c.Limits.Heartbeat, WriteTimeout: c.Limits.WriteTimeout, Clock: c.Clock}
	if err := u.setPublic(); err != nil {
		return nil, err
	}
	var err error
	if u.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if u.templates, err = parseTemplates(u.functions()); err != nil {
		return nil, err
	}
	if u.reference, err = view.ReferenceOf(c.OpenAPI); err != nil {
		return nil, err
	}
	u.mux = u.newMux()
	return u, nil
}

// Changed wakes the pages of the namespace: a Suite, or something else that they show, is not what it was.
func (u *UI) Changed(namespace string) { u.changes.Publish(namespace) }

// Drain ends the live pages, whose browsers connect again: the server is about to stop.
func (u *UI) Drain() { u.changes.Close() }
