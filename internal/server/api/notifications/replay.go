package notifications

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	core "github.com/postflight-dev/postflight/internal/core/record/replay"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/replay"
)

// Replayer tries changed Triggers on past notifications.
type Replayer interface {
	Replay(ctx context.Context, q replay.Query) (httpapi.Replay, error)
}

// defaultReplay is a week: teams deploy in its rhythm.
const defaultReplay = 7 * 24 * time.Hour

// replayTypes are the media types of manifests. The parser of YAML reads both.
var replayTypes = []string{"application/yaml", "application/json"}

// Replay answers what changed Triggers would have done with past notifications.
func (a *API) Replay(w http.ResponseWriter, r *exchange.Request) error {
	q, err := a.replayQueryOf(r)
	if err != nil {
		return err
	}
	if a.Replays == nil {
		return exchange.ErrNoStore
	}
	if err := a.Admit(r, replayType(r.Header), dispatch.DryRun); err != nil {
		return err
	}
	body, err := a.ReadBody(w, r, a.Limits.BodyBytes)
	if err != nil {
		return err
	}
	triggers, ignored, err := core.Parse(body)
	if err != nil {
		return replayFailure(err)
	}
	q.Triggers = triggers
	answer, err := a.Replays.Replay(r.Context(), q)
	if err != nil {
		return replayFailure(err)
	}
	answer.Ignored = ignored
	r.AddToAudit("triggers", len(triggers), "notifications", answer.Notifications)
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func (a *API) replayQueryOf(r *exchange.Request) (q replay.Query, err error) {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "since", "cursor")
	if err != nil {
		return q, err
	}
	now := a.Clock.Now()
	q = replay.Query{Team: r.Principal.Team, Since: now.Add(-defaultReplay), Before: now}
	if text, asked := p["since"]; asked {
		if q.Since, err = record.ParseMoment(text, now); err != nil {
			return q, exchange.InvalidRequest("Send since as a time that is over: %v.", err)
		}
	}
	if text, asked := p["cursor"]; asked {
		if q.Before, err = time.Parse(time.RFC3339Nano, text); err != nil || q.Before.After(now) {
			return q, exchange.InvalidCursor()
		}
	}
	return q, nil
}

// replayType returns what was sent, if replayTypes has it, or all of them for the error.
func replayType(h http.Header) string {
	sent, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	for _, accepted := range replayTypes {
		if err == nil && sent == accepted {
			return accepted
		}
	}
	return strings.Join(replayTypes, " or ")
}

func replayFailure(err error) error {
	if invalid, ok := errors.AsType[*core.InvalidError](err); ok {
		return &exchange.Failure{Code: "invalid_trigger", Message: invalid.Message}
	}
	if broken, ok := errors.AsType[*replay.ArchiveError](err); ok {
		return &exchange.Failure{Code: "store_unavailable", Cause: err,
			Message: fmt.Sprintf("Past notifications cannot be read at the moment: the store: %s. "+
				"Ask again in a few seconds.", strings.TrimSuffix(broken.Error(), "."))}
	}
	switch {
	case errors.Is(err, replay.ErrBusy):
		return exchange.Overloaded("The server answers as many replays as it can, or as many of this team as leave room for others. Send " +
			"the request again in a few seconds.")
	case errors.Is(err, replay.ErrExpensive):
		return &exchange.Failure{Code: "invalid_trigger",
			Message: "The expressions of these Triggers take too long for the notifications of an hour. " +
				"Replay fewer Triggers at once, or make their expressions cheaper."}
	default:
		return &exchange.Failure{Code: "unavailable", Cause: err,
			Message: "The team's Triggers cannot be looked up at the moment. Ask again in a few seconds."}
	}
}
