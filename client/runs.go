package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// RunFilter says which runs to list. Empty fields match every run.
type RunFilter struct {
	Trigger     string
	Environment string
	Branch      string
	SHA         string // or its first characters, at least 7
	State       string // such as Failed
	PageSize    int    // how many runs to request at a time, 1 to 100; 0: the server decides
}

func (f RunFilter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"trigger": f.Trigger, "environment": f.Environment, "branch": f.Branch, "sha": f.SHA, "state": f.State,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.PageSize > 0 {
		query.Set("limit", strconv.Itoa(f.PageSize))
	}
	return query
}

// IncompleteError comes after all runs of a list that lacks archived ones.
type IncompleteError struct{ Problem string }

func (e *IncompleteError) Error() string { return e.Problem }

// Runs returns the runs of the team, newest first, also archived ones. An error is the last element.
func (c *Client) Runs(ctx context.Context, f RunFilter) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		problem := ""
		for run, err := range pages(ctx, c, "/api/v0/runs", f.query(), func(page *httpapi.Runs) ([]Run, string) {
			if page.ArchiveProblem != "" {
				problem = page.ArchiveProblem
			}
			return page.Runs, page.Next
		}) {
			c.resolveLink(&run.URL)
			if !yield(run, err) || err != nil {
				return
			}
		}
		if problem != "" {
			yield(Run{}, &IncompleteError{problem})
		}
	}
}

// Run returns a run.
func (c *Client) Run(ctx context.Context, id string) (*Run, error) {
	return c.run(ctx, http.MethodGet, id, "", nil)
}

// Results returns the tests of a run with the details of failures, or as Run does if the server is too old to have them.
func (c *Client) Results(ctx context.Context, id string) (*RunResults, error) {
	all, err := request[RunResults](ctx, c, http.MethodGet, runPath(id)+resultsPath, nil, nil)
	if failed, ok := errors.AsType[*Error](err); ok && failed.Status == http.StatusNotFound {
		r, err := c.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		return ResultsOf(r), nil
	}
	return all, err
}

// ResultsOf are the tests of a run, without what only Results returns.
func ResultsOf(r *Run) *RunResults {
	if r.Results == nil {
		return &RunResults{Run: r.ID, State: r.State, Problem: r.ResultsProblem}
	}
	return &RunResults{Run: r.ID, State: r.State, Results: r.Results}
}

// Attestation returns the signed verdict of a run, a Sigstore bundle.
func (c *Client) Attestation(ctx context.Context, id string) ([]byte, error) {
	bundle, err := request[json.RawMessage](ctx, c, http.MethodGet, runPath(id)+attestationPath, nil, nil)
	if err != nil {
		return nil, err
	}
	return *bundle, nil
}

// Failure returns why a run ended as it did, and what to do. A run that passed has such a document, too.
func (c *Client) Failure(ctx context.Context, id string) (*Failure, error) {
	f, err := request[Failure](ctx, c, http.MethodGet, runPath(id)+failurePath, nil, nil)
	if err == nil {
		c.resolveLink(&f.URL)
	}
	return f, err
}

// FailureMarkdown returns what Failure does as Markdown, in which all that tests wrote is code.
func (c *Client) FailureMarkdown(ctx context.Context, id string) (string, error) {
	text, err := request[string](ctx, c, http.MethodGet, runPath(id)+failurePath, http.Header{"Accept": {markdownType}}, nil)
	if err != nil {
		return "", err
	}
	return *text, nil
}

// Cancel stops a run that has not ended.
func (c *Client) Cancel(ctx context.Context, id string) (*Run, error) {
	return c.run(ctx, http.MethodPost, id, "/cancel", nil)
}

// Rerun starts the next attempt of a run that has ended, or returns the existing next attempt, which may have ended too.
func (c *Client) Rerun(ctx context.Context, id string) (*Run, error) {
	return c.run(ctx, http.MethodPost, id, "/rerun", c.trace)
}

// RerunFailed is Rerun with only the tests that failed: the attempt passes only if it and the run together show that every test passed.
func (c *Client) RerunFailed(ctx context.Context, id string) (*Run, error) {
	return c.run(ctx, http.MethodPost, id, "/rerun?failed=true", c.trace)
}

func (c *Client) run(ctx context.Context, method, id, action string, header http.Header) (*Run, error) {
	run, err := request[Run](ctx, c, method, runPath(id)+action, header, nil)
	if run != nil {
		c.resolveLink(&run.URL)
	}
	return run, err
}

const (
	runsPath        = "/api/v0/runs/"
	resultsPath     = "/results" // below a run's path
	failurePath     = "/failure"
	attestationPath = "/attestation"

	bundleType   = "application/vnd.dev.sigstore.bundle.v0.3+json" // of a signed verdict
	markdownType = "text/markdown"
)

func runPath(id string) string { return runsPath + url.PathEscape(id) }

// Artifacts returns the files of a run by pod and path; pod selects one pod, and "" all. Their URLs expire, by default after 15 minutes.
func (c *Client) Artifacts(ctx context.Context, id, pod string) iter.Seq2[Artifact, error] {
	query := url.Values{"limit": {"1000"}}
	if pod != "" {
		query.Set("pod", pod)
	}
	return pages(ctx, c, runPath(id)+"/artifacts", query, func(page *httpapi.ArtifactList) ([]Artifact, string) {
		return page.Artifacts, page.Next
	})
}

var errSamePage = errors.New("the server sends the same page of a list again and again. Report this as a bug")

// pages returns the items of all pages of a list, each page when it is needed.
func pages[P, T any](ctx context.Context, c *Client, path string, query url.Values, items func(*P) ([]T, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for query := maps.Clone(query); ; { // a copy, because the sequence may be used again
			page, err := request[P](ctx, c, http.MethodGet, path+"?"+query.Encode(), nil, nil)
			if err != nil {
				yield(none, err)
				return
			}
			list, next := items(page)
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			switch next {
			case "":
				return
			case query.Get("cursor"):
				yield(none, errSamePage)
				return
			}
			query.Set("cursor", next)
		}
	}
}
