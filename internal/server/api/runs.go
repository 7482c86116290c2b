package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

func (a *API) listRuns(w http.ResponseWriter, r *Request) error {
	query, err := runsQueryOf(r.URL.RawQuery)
	if err != nil {
		return err
	}
	if a.Runs.HasArchive() && !r.acquire(a.listing) {
		return overloaded("The server is listing runs for as many requests as it can, or for as many of this team as leave room for others. " +
			"Send the request again in a few seconds.")
	}
	page := a.pageOfRuns(r.Context(), r.Principal.Team, query)
	r.audit = append(r.audit, "runs", len(page.Runs))
	writeJSON(w, "application/json", http.StatusOK, page)
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
