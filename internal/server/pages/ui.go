package pages

import (
	"context"
	"errors"
	"html/template"
	"iter"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/assets"
	"github.com/postflight-dev/postflight/internal/server/live"
	"github.com/postflight-dev/postflight/internal/server/seal"
)

// Config is what the pages need. Only Actions can write.
type Config struct {
	Cache         client.Reader // Teams, keys, Triggers, Environments and Jobs; it has the indexes of index.Setup
	Runs          Runs          // it hears of a change of a Suite before Changed is called
	Tests         Tests         // nil without a store
	Authenticator Authenticator
	Provider      Provider // another way to sign in than an API key; nil if there never is one. It needs a PublicURL
	Actions       Actions
	OpenAPI       []byte // describes the HTTP API
	// SealingKey returns the secret that seals cookies, the same in every replica.
	SealingKey func(context.Context) ([]byte, error)
	// Explain returns for each Trigger of the team why it matches a notification or not.
	Explain func(context.Context, *v1alpha1.Team, *notification.Notification) (iter.Seq[match.Explanation], error)
	// Lease returns that of the leader; nil if nothing elects one. StoreProblem returns why the store cannot be used, or ""; nil without one.
	Lease        func(context.Context) (*coordinationv1.Lease, error)
	StoreProblem func() string
	// Deployments returns what the archive has of a span, newest first; nil without one.
	Deployments func(ctx context.Context, team *v1alpha1.Team, environment string, in record.Span) ([]httpapi.Deployment, error)
	// Authenticated is called with the team of each request; of a reader of public pages, only if no limit refuses it.
	Authenticated func(ctx context.Context, team string)

	PublicURL string   // of the pages; empty if that is unknown. Its path is the base path of all links
	Hosts     []string // further names of the pages, without ports. Without them and PublicURL, every name is accepted

	Limits      Limits
	SendingLogs *fairness.TeamLimiter // logs that are being sent, here and by the HTTP API
	Log         logr.Logger
	Audit       *slog.Logger // gets a line when a person signs in or out, cancels or repeats a run
	Clock       clock.PassiveClock
	Steady      clock.PassiveClock // dates actions, because it is never set
}

// UI serves the pages.
type UI struct {
	Config
	public    publicurl.URL
	hosts     map[string]bool
	changes   *live.Broadcaster
	versions  *live.Versions
	paces     *live.Paces
	assets    *assets.Assets
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

// Changed wakes the pages of a namespace after an object that they show has changed.
func (u *UI) Changed(namespace string) { u.changes.Publish(namespace) }

// Drain ends the live pages before the server stops. Their browsers connect again.
func (u *UI) Drain() { u.changes.Close() }
