package pages

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Runs is a runs.Reader.
type Runs interface {
	Newest(namespace string) []*v1alpha1.Suite
	HasArchive() bool
	Find(ctx context.Context, team *v1alpha1.Team, id string) (*runs.Run, error)
	List(ctx context.Context, team *v1alpha1.Team, q runs.Query) runs.Page
	Logs(ctx context.Context, run *runs.Run, q runs.LogQuery) ([]runs.Log, error)
	OpenLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) (io.ReadCloser, error)
	FollowLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) io.ReadCloser
	Explain(ctx context.Context, run *runs.Run) (results.Explanation, error)
	WithVariables(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, error)
	RecentArtifacts(ctx context.Context, run *runs.Run, after string, limit int) (files []record.Artifact, next string, err error)
	OpenArtifact(ctx context.Context, run *runs.Run, pod, path string) (record.File, error)
}

// Tests is a history.Reader. Test returns fs.ErrNotExist for a test that was in no run of the period.
type Tests interface {
	Insights(ctx context.Context, team *v1alpha1.Team, q history.Query) (httpapi.Insights, error)
	List(ctx context.Context, team *v1alpha1.Team, q history.Query) (httpapi.TestList, error)
	Test(ctx context.Context, team *v1alpha1.Team, name string, q history.Query) (httpapi.TestHistory, error)
}

// Actions is a dispatch.Dispatcher, for people who may change runs.
type Actions interface {
	Cancel(ctx context.Context, c dispatch.Command, id string) (*v1alpha1.Suite, error)
	Rerun(ctx context.Context, c dispatch.Command, id string) (next *v1alpha1.Suite, created bool, err error)
}

// Authenticator is signin.People. Its errors have a method HTTPStatus() int, which returns 401, 403 or 503.
type Authenticator interface {
	SignIn(ctx context.Context, key string) (signin.Identity, error)
	FromProxy(r *http.Request) (id signin.Identity, ok bool)
	Access(ctx context.Context, id signin.Identity) (signin.Access, error)
}

// Provider is a signin.Provider. The error of a token that ends no session has no method HTTPStatus.
type Provider interface {
	Name() string
	Begin(ctx context.Context, callback string) (url string, memo json.RawMessage, err error)
	Finish(ctx context.Context, memo json.RawMessage, query url.Values) (signin.Identity, error)
	Logout(ctx context.Context, token string) error
}
