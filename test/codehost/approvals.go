package codehost

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Waiting is a deployment to a protected environment that waits for a decision.
type Waiting struct {
	Repository, Environment, SHA, Ref string
	HeadRepository                    string // of the branch; empty: the Repository
	Trigger                           string // what started the workflow or pipeline; empty: push
	RunID                             int64  // on GitHub
	DeploymentID                      int64  // the fake gives one unless NoDeployment
	NoDeployment                      bool   // on GitHub, of a job that creates none

	Reviewers bool // on GitHub: people decide, too, and have not
	Approvals int  // required ones, on GitLab; 0: one
	Manual    bool // on GitLab: a job that is blocked without approvals
	Own       bool // on GitLab: the user of the token started it
}

// Decision is what a host accepted about a deployment that waited.
type Decision struct {
	Repository, Environment string
	ID                      int64  // of the workflow run on GitHub, of the deployment on GitLab
	State                   string // approved or rejected; empty: a report of progress
	Comment                 string
	At                      time.Time
}

// maxReports is how many reports of progress GitHub takes about a deployment.
const maxReports = 10

type approvals struct {
	waiting   []*wait
	decisions []Decision
}

type wait struct {
	Waiting
	decided bool
	state   string // of the last decision of the token's user, on GitLab
	reports int
}

// Wait makes a deployment wait, and returns it with its number. Another one of the same run and environment is that of another job, or of
// another attempt.
func (h *Host) Wait(w Waiting) Waiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.HeadRepository, w.Trigger, w.Ref = cmp.Or(w.HeadRepository, w.Repository), cmp.Or(w.Trigger, "push"), cmp.Or(w.Ref, defaultBranch)
	if !w.Manual {
		w.Approvals = max(1, w.Approvals)
	}
	if !w.NoDeployment {
		w.DeploymentID = h.id()
		state := "blocked"
		if w.RunID != 0 {
			state = "waiting"
		}
		h.deployments = append(h.deployments, &deployment{
			ID: w.DeploymentID, repository: w.Repository, SHA: w.SHA, Environment: w.Environment, Ref: w.Ref, ofJob: true,
			states: []deploymentState{{ID: h.id(), State: state}},
		})
	}
	h.waiting = append(h.waiting, &wait{Waiting: w})
	return w
}

// Stop cancels what waits of a workflow run, or on GitLab a deployment.
func (h *Host) Stop(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.waiting {
		if w.RunID == id || w.RunID == 0 && w.DeploymentID == id {
			w.decided = true
			h.end(w, "canceled")
		}
	}
}

// Decisions are those about a workflow run, or on GitLab about a deployment, in order. Reports of progress are none.
func (h *Host) Decisions(id int64) []Decision {
	return h.decisionsOf(func(d Decision) bool { return d.ID == id && d.State != "" })
}

// Progress are the reports about a workflow run, in order.
func (h *Host) Progress(run int64) []Decision {
	return h.decisionsOf(func(d Decision) bool { return d.ID == run && d.State == "" })
}

func (h *Host) decisionsOf(is func(Decision) bool) []Decision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.decisions), func(d Decision) bool { return !is(d) })
}

func (h *Host) decide(d Decision) {
	d.At = time.Now()
	h.decisions = append(h.decisions, d)
	h.add(Write{Repository: d.Repository, Name: "approval", State: d.State, Description: d.Comment, id: d.ID})
}

func (h *Host) end(w *wait, state string) {
	for _, d := range h.deployments {
		if d.ID == w.DeploymentID && d.repository == w.Repository {
			d.states = append(d.states, deploymentState{ID: h.id(), State: state})
		}
	}
}

func (h *Host) waitsOf(is func(*wait) bool) (found []*wait) {
	for _, w := range h.waiting {
		if is(w) {
			found = append(found, w)
		}
	}
	return found
}

func notFound(w http.ResponseWriter) { refuse(w, http.StatusNotFound, "Not Found") }
