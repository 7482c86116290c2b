package gitlab

import (
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

// payload has the members of a deployment event that matter. Others are checked to be JSON, with each name once, and skipped.
type payload struct {
	Kind            string `json:"object_kind"`
	Status          string `json:"status"`
	StatusChangedAt string `json:"status_changed_at"`
	DeploymentID    int64  `json:"deployment_id"` // 0: of an old version
	DeployableID    int64  `json:"deployable_id"` // of a job; 0: the deployment was made by the API
	Environment     string `json:"environment"`
	ExternalURL     string `json:"environment_external_url"`
	Project         struct {
		Path   string `json:"path_with_namespace"`
		WebURL string `json:"web_url"`
	} `json:"project"`
	ShortSHA    string `json:"short_sha"`
	Ref         string `json:"ref"` // of newer versions; a branch or a tag
	CommitURL   string `json:"commit_url"`
	CommitTitle string `json:"commit_title"`
}

// starter is the user who started the job of a deployment; empty if the account was deleted.
type starter struct {
	User struct {
		Name string `json:"username"`
	} `json:"user"`
}

// kind is all that matters of an event of another kind, whose members may have other types.
type kind struct {
	Kind      string `json:"object_kind"`
	EventName string `json:"event_name"` // of group events, such as member events
}

func read[T any](body []byte) (p T, err error) {
	if event.Unmarshal(body, &p) != nil {
		return p, &event.InvalidError{Reason: "The body is not the JSON of an event of GitLab: " +
			"each member must be there once, and have the type that GitLab documents. Remove the custom webhook template."}
	}
	return p, nil
}

// sha returns the commit, whose first digits alone have a member of their own. The rest is taken from the URL of the commit, if that is one
// of the project.
func (p payload) sha() (sha string, ok bool) {
	for _, before := range []string{"/-/commit/", "/commit/"} { // GitLab before 12 had no dash
		if sha, ok = strings.CutPrefix(p.CommitURL, p.Project.WebURL+before); ok {
			break
		}
	}
	url, path := commit.RepositoryKey(p.Project.WebURL), commit.RepositoryKey(p.Project.Path)
	ok = ok && path != "" && strings.HasSuffix(url, "/"+path) && commit.IsSHA(sha) && commit.SameSHA(sha, p.ShortSHA)
	return sha, ok
}

// changedAt is zero if GitLab does not say when, or in another form. Time zones are as an offset.
func (p payload) changedAt() time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", time.RFC3339} {
		if at, err := time.Parse(layout, p.StatusChangedAt); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
