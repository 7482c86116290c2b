package codehost

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

type beside struct {
	deployments  []*deployment
	pullRequests []PullRequest
	comments     []*comment
	refused      map[string]bool // parts of paths
	renamed      int64           // a person whose name is another user's; 0: none
}

// PullRequest is a pull or merge request that exists.
type PullRequest struct {
	Number      int64
	Branch, SHA string
	Closed      bool

	HeadRepository string // of a fork; empty: the repository
}

// deployment has states, the newest last.
type deployment struct {
	ID               int64
	repository, SHA  string
	Environment, Ref string
	ofJob            bool // of GitLab itself
	states           []deploymentState
}

type deploymentState struct {
	ID             int64  `json:"id"`
	State          string `json:"state"`
	LogURL         string `json:"log_url"`
	EnvironmentURL string `json:"environment_url"`
	Description    string `json:"description"`

	autoInactive bool
}

// comment is written by a person, or by a GitHub App.
type comment struct {
	ID, number int64
	repository string
	Body       string
	author     int64
	app        int64
	at         time.Time
	changed    time.Time
	reactions  []string
}

// The authors of comments: who has the token, the user of the App, and somebody else.
const (
	tokenUser = 501
	appUser   = 502
	Stranger  = 503
)

// Refuse makes the host forbid requests whose path has a part, or allows them again.
func (h *Host) Refuse(part string, refused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused == nil {
		h.refused = map[string]bool{}
	}
	h.refused[part] = refused
}

func (h *Host) forbids(w http.ResponseWriter, r *http.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for part, refused := range h.refused {
		if refused && strings.Contains(r.URL.Path, part) {
			refuse(w, http.StatusForbidden, "Resource not accessible by personal access token")
			return true
		}
	}
	return false
}

// Open adds a pull request.
func (h *Host) Open(p PullRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pullRequests = append(h.pullRequests, p)
}

// Say adds a comment of somebody, and returns its number.
func (h *Host) Say(repository string, number, author int64, body string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &comment{ID: h.id(), number: number, repository: repository, Body: body, author: author}
	h.comments = append(h.comments, c)
	return c.ID
}

// Comments are the texts about a pull request, oldest first.
func (h *Host) Comments(number int64) (texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.number == number {
			texts = append(texts, c.Body)
		}
	}
	return texts
}

// RemoveComments removes the comments about a pull request.
func (h *Host) RemoveComments(number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var kept []*comment
	for _, c := range h.comments {
		if c.number != number {
			kept = append(kept, c)
		}
	}
	h.comments = kept
}

// HasDeployment adds a deployment that another program created, or on GitLab a job.
func (h *Host) HasDeployment(repository, environment, sha, state string) (id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := &deployment{ID: h.id(), repository: repository, SHA: sha, Environment: environment, ofJob: true}
	d.states = []deploymentState{{ID: h.id(), State: state}}
	h.deployments = append(h.deployments, d)
	return d.ID
}

// Deployments are the states of each deployment of a commit to an environment, in the order in which they were written.
func (h *Host) Deployments(environment, sha string) (all [][]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.deployments {
		if d.Environment != environment || d.SHA != sha {
			continue
		}
		states := []string{}
		for _, s := range d.states {
			states = append(states, s.State)
		}
		all = append(all, states)
	}
	return all
}

// DeploymentWrites are what was written about deployments, in order: new ones, and states.
func (h *Host) DeploymentWrites() []Write { return h.writesOf("deployment") }

// CommentWrites are what was written about comments, in order.
func (h *Host) CommentWrites() []Write { return h.writesOf("comment") }

func (h *Host) writesOf(name string) (found []Write) {
	for _, w := range h.Writes() {
		if w.Name == name {
			found = append(found, w)
		}
	}
	return found
}

func (h *Host) deployment(repository, id string) *deployment {
	for _, d := range h.deployments {
		if d.repository == repository && strconv.FormatInt(d.ID, 10) == id {
			return d
		}
	}
	return nil
}

func (h *Host) pullRequest(number string) *PullRequest {
	for i, p := range h.pullRequests {
		if strconv.FormatInt(p.Number, 10) == number {
			return &h.pullRequests[i]
		}
	}
	return nil
}

func (h *Host) comment(repository, id string) *comment {
	for _, c := range h.comments {
		if c.repository == repository && strconv.FormatInt(c.ID, 10) == id {
			return c
		}
	}
	return nil
}

func (h *Host) deleteComment(w http.ResponseWriter, gone *comment) {
	var kept []*comment
	for _, c := range h.comments {
		if c != gone {
			kept = append(kept, c)
		}
	}
	h.comments = kept
	h.add(Write{Repository: gone.repository, Name: "comment", State: "deleted", id: gone.ID})
	w.WriteHeader(http.StatusNoContent)
}
