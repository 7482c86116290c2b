package ui

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// LogName names the log of a container.
type LogName struct {
	Pod, Container string
	Previous       bool // from before Kubernetes restarted the container
}

// Logs reads what the containers of a run wrote, from its pods or from the archive.
type Logs interface {
	// List names the logs of a run, those of its tests first. There are none before its pods have started.
	List(ctx context.Context, s *v1alpha1.Suite) ([]LogName, error)

	// Open reads a log from its start. If follow is true, it goes on until the container has ended or ctx is done.
	Open(ctx context.Context, s *v1alpha1.Suite, log LogName, follow bool) (io.ReadCloser, error)
}

// Artifacts reads the files that the tests of a run wrote.
type Artifacts interface {
	// List is a page of the files, ordered by pod and path; after continues an earlier one.
	List(ctx context.Context, s *v1alpha1.Suite, after string) (httpapi.ArtifactList, error)

	// Open reads a file. An error for which IsNotFound is true says that there is none.
	Open(ctx context.Context, s *v1alpha1.Suite, pod, path string) (Artifact, error)
}

// Artifact is an open file.
type Artifact struct {
	io.ReadSeekCloser
	Modified time.Time
}

// Archive reads runs whose Suites were deleted.
type Archive interface {
	// Run is an archived run; nil if there is none.
	Run(ctx context.Context, team *v1alpha1.Team, id string) (*v1alpha1.Suite, error)

	// Runs is a page of archived runs, newest first; after continues an earlier one, and next is empty on the last.
	Runs(ctx context.Context, team *v1alpha1.Team, after string) (runs []*v1alpha1.Suite, next string, err error)
}

// Actions change runs, for people who may. An error with a method Refused() string says why an action is not possible,
// as a sentence for the person who asked for it.
type Actions interface {
	// Cancel stops a run, and records by whom.
	Cancel(ctx context.Context, s *v1alpha1.Suite, by string) error

	// Rerun starts another attempt of a run, records by whom, and returns its id.
	Rerun(ctx context.Context, s *v1alpha1.Suite, by string) (id string, err error)
}

// Identity is who signed in. It is sealed into a cookie, and says nothing about rights: those are looked up again with
// every request.
type Identity struct {
	Kind    string          `json:"k"` // of the way in which they signed in
	Data    json.RawMessage `json:"d"` // for the Authenticator alone
	Expires time.Time       `json:"e"`
}

// Access is what somebody may see and do at the moment.
type Access struct {
	Name  string // of the person or the key
	Teams []TeamAccess
}

// TeamAccess is a team that somebody may see. Team belongs to the cache.
type TeamAccess struct {
	Team *v1alpha1.Team
	Act  bool // cancel and repeat runs
}

// Authenticator knows who may see what. Its errors have a method HTTPStatus() int, which returns 401, 403 or 503.
type Authenticator interface {
	// SignIn returns the identity of an API key.
	SignIn(ctx context.Context, key string) (Identity, error)

	// FromProxy returns the identity that a trusted proxy gave the request; ok is false without one.
	FromProxy(r *http.Request) (id Identity, ok bool)

	// Access is what the identity may see now.
	Access(ctx context.Context, id Identity) (Access, error)
}

// Provider signs people in on a page of its own.
type Provider interface {
	// Name is what the button says; empty if there is no provider at the moment.
	Name() string

	// Begin returns the URL to send the browser to, which comes back to the callback, and what to remember until then.
	Begin(ctx context.Context, callback string) (url string, memo json.RawMessage, err error)

	// Finish returns the identity that the query of the callback proves.
	Finish(ctx context.Context, memo json.RawMessage, query url.Values) (Identity, error)

	// Logout ends the sessions that a token of the provider names. The error of a token that ends none has no method
	// HTTPStatus.
	Logout(ctx context.Context, token string) error
}
