package httpapi

import (
	"cmp"
	"slices"
	"time"
)

// What becomes of a notification if a Trigger changes.
const (
	ReplayStarts  = "starts"  // the changed Trigger matches, and the one it is compared with does not
	ReplayStops   = "stops"   // the contrary
	ReplayUnknown = "unknown" // it depends on the value of a variable that the archive does not keep
)

// What a changed Trigger is compared with.
const (
	ReplayOfTrigger = "trigger" // the Trigger of this name, as it is now
	ReplayOfHistory = "history" // what matched when the notification came: there is no Trigger of this name now
)

// Replay is a page of an answer, with the notifications from a time on, up to another.
type Replay struct {
	From          time.Time         `json:"from"`
	To            time.Time         `json:"to"`
	Notifications int               `json:"notifications"`
	Triggers      []ReplayedTrigger `json:"triggers"` // in the order of the request
	Changes       []ReplayChange    `json:"changes"`  // the newest first

	MoreChanges int      `json:"moreChanges,omitempty"` // how many are left out of the list
	Ignored     []string `json:"ignored,omitempty"`     // objects of the request that are no Triggers
	Problems    []string `json:"problems,omitempty"`    // sentences: what is missing here
	Next        string   `json:"next,omitempty"`        // cursor of the next page, with earlier notifications; absent on the last
}

// Add adds the next page, whose notifications are earlier.
func (r *Replay) Add(page *Replay) {
	r.From, r.Next = page.From, page.Next
	r.Notifications += page.Notifications
	r.Changes = append(r.Changes, page.Changes...)
	r.MoreChanges += page.MoreChanges
	for _, text := range page.Problems {
		if !slices.Contains(r.Problems, text) {
			r.Problems = append(r.Problems, text)
		}
	}
	for i := range min(len(r.Triggers), len(page.Triggers)) {
		sum, t := &r.Triggers[i], page.Triggers[i]
		sum.Matched += t.Matched
		sum.MatchedBefore += t.MatchedBefore
		sum.Starts += t.Starts
		sum.Stops += t.Stops
		sum.Unknown += t.Unknown
		sum.Failed += t.Failed
		sum.Failure = cmp.Or(sum.Failure, t.Failure)
	}
}

// ReplayedTrigger counts notifications.
type ReplayedTrigger struct {
	Trigger       string   `json:"trigger"`
	Environment   string   `json:"environment"`
	ComparedWith  string   `json:"comparedWith"`
	Matched       int      `json:"matched"`       // by the changed Trigger
	MatchedBefore int      `json:"matchedBefore"` // by what it is compared with
	Starts        int      `json:"starts"`
	Stops         int      `json:"stops"`
	Unknown       int      `json:"unknown"`
	Failed        int      `json:"failed,omitempty"`   // on which the expression of the changed Trigger has no value, which is no match
	Failure       string   `json:"failure,omitempty"`  // why, of the latest of these
	Warnings      []string `json:"warnings,omitempty"` // sentences: why a match may not lead to a run
}

// ReplayChange is a notification and what becomes of it.
type ReplayChange struct {
	Trigger     string    `json:"trigger"`
	Change      string    `json:"change"`
	MatchedThen *bool     `json:"matchedThen,omitempty"` // a Trigger of this name matched then; absent: not known
	Withheld    []string  `json:"withheld,omitempty"`    // of an unknown change, the first variables that it depends on
	At          time.Time `json:"at"`
	Way         string    `json:"way"` // api, event or workload

	Repository        string `json:"repository,omitempty"`
	Service           string `json:"service,omitempty"`
	Branch            string `json:"branch,omitempty"`
	SHA               string `json:"sha,omitempty"`
	DeploymentType    string `json:"deploymentType,omitempty"`
	DeploymentURL     string `json:"deploymentURL,omitempty"`
	PullRequestNumber int64  `json:"pullRequestNumber,omitempty"`
	CommitMessage     string `json:"commitMessage,omitempty"`
}
