package pages

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/results"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Runs reads runs and what they left behind, as a runs.Reader does.
type Runs interface {
	// Newest are the Suites of a namespace, newest first. They belong to the cache.
	Newest(namespace string) []*v1alpha1.Suite

	// Find looks for a run in the cluster, and then in the archive.
	Find(ctx context.Context, team *v1alpha1.Team, id string) (*runs.Run, error)

	// HasArchive reports whether runs leave anything behind.
	HasArchive() bool

	// List is a page of runs, with those whose Suites were deleted.
	List(ctx context.Context, team *v1alpha1.Team, q runs.Query) runs.Page

	// Logs are those of containers that have run.
	Logs(ctx context.Context, run *runs.Run, q runs.LogQuery) ([]runs.Log, error)

	// OpenLog reads a log as it is now, and FollowLog until its container has ended.
	OpenLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) (io.ReadCloser, error)
	FollowLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) io.ReadCloser

	// Explain returns the failures of a run with what its reports say of them. With an error, they are as in the status.
	Explain(ctx context.Context, run *runs.Run) (results.Explanation, error)

	// WithVariables is a Suite with the variables that the cache drops at its end, or runs.ErrNotFound.
	WithVariables(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, error)

	// RecentArtifacts is a page of the files that the tests wrote, in the order of pod and path.
	RecentArtifacts(ctx context.Context, run *runs.Run, after string, limit int) (files []record.Artifact, next string, err error)

	// OpenArtifact opens a file. The error is fs.ErrNotExist if there is none.
	OpenArtifact(ctx context.Context, run *runs.Run, pod, path string) (record.File, error)
}

// Actions change runs, for people who may, as a dispatch.Dispatcher does.
type Actions interface {
	Cancel(ctx context.Context, c dispatch.Command, id string) (*v1alpha1.Suite, error)
	Rerun(ctx context.Context, c dispatch.Command, id string) (next *v1alpha1.Suite, exists bool, err error)
}

// Authenticator knows who may see what. Its errors have a method HTTPStatus() int, which returns 401, 403 or 503.
type Authenticator interface {
	// SignIn returns the identity of an API key.
	SignIn(ctx context.Context, key string) (signin.Identity, error)

	// FromProxy returns the identity that a trusted proxy gave the request; ok is false without one.
	FromProxy(r *http.Request) (id signin.Identity, ok bool)

	// Access is what the identity may see now.
	Access(ctx context.Context, id signin.Identity) (signin.Access, error)
}

// Provider signs people in on a page of its own.
type Provider interface {
	// Name is what the button says; empty if there is no provider at the moment.
	Name() string

	// Begin returns the URL to send the browser to, which comes back to the callback, and what to remember until then.
	Begin(ctx context.Context, callback string) (url string, memo json.RawMessage, err error)

	// Finish returns the identity that the query of the callback proves.
	Finish(ctx context.Context, memo json.RawMessage, query url.Values) (signin.Identity, error)

	// Logout ends the sessions that a token of the provider names. The error of a token that ends none has no method
	// HTTPStatus.
	Logout(ctx context.Context, token string) error
}
