package runs

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// List returns a page of runs, newest first.
func (a *API) List(w http.ResponseWriter, r *exchange.Request) error {
	query, err := runsQueryOf(r.URL.RawQuery)
	if err != nil {
		return err
	}
	if a.Runs.HasArchive() && !r.Acquire(a.Archive) {
		return exchange.Overloaded("The server is listing runs for as many requests as it can, or for as many of this team as leave room " +
			"for others. " +
			"Send the request again in a few seconds.")
	}
	page := a.pageOfRuns(r.Context(), r.Principal.Team, query)
	r.AddToAudit("runs", len(page.Runs))
	exchange.WriteJSON(w, http.StatusOK, page)
	return nil
}

func (a *API) pageOfRuns(ctx context.Context, team *v1alpha1.Team, q runs.Query) httpapi.Runs {
	found := a.Runs.List(ctx, team, q)
	page := httpapi.Runs{Runs: []httpapi.Run{}}
	for _, e := range found.Entries {
		page.Runs = append(page.Runs, a.withURL(e.Shown(team.Name)))
	}
	if found.Next != nil {
		page.Next = runs.Cursor(*found.Next)
	}
	if found.Problem != nil {
		page.ArchiveProblem = fmt.Sprintf(
			"Runs whose Suites were deleted are missing, because the archive cannot be read at the moment: %v.", found.Problem)
	}
	return page
}

func runsQueryOf(rawQuery string) (q runs.Query, err error) {
	p, err := exchange.ParametersOf(rawQuery, "trigger", "environment", "branch", "sha", "state", "limit", "cursor")
	if err != nil {
		return q, err
	}
	filter := runs.Filter{Trigger: p["trigger"], Environment: p["environment"], Branch: p["branch"], SHA: strings.TrimSpace(p["sha"]),
		State: p["state"]}
	if state := filter.State; state != "" && !slices.Contains(v1alpha1.States(), state) {
		return q, exchange.InvalidRequest("There is no such state. Send one of %s.", strings.Join(v1alpha1.States(), ", "))
	}
	q.Matches = filter.Matches
	if q.Limit, err = p.Number("limit", 1, limits.MaxRuns, limits.DefaultRuns); err != nil {
		return q, err
	}
	if cursor, found := p["cursor"]; found {
		before, valid := runs.ParseCursor(cursor)
		if !valid {
			return q, exchange.InvalidCursor()
		}
		q.Before = before
	}
	return q, nil
}
