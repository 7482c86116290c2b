package httpapi

import "time"

// Overview sums up what a team has, as its pages show it. Of the runs, it has the newest of each Trigger, Environment and service.
type Overview struct {
	Team      string    `json:"team"`
	Namespace string    `json:"namespace"`
	At        time.Time `json:"at"` // when it was so
	PageURL   string    `json:"pageUrl,omitempty"`

	NeedsLook      string     `json:"needsLook,omitempty"`      // what needs a look first, as a sentence; absent: nothing
	NotWorking     int        `json:"notWorking"`               // Triggers that are not ready
	Failing        int        `json:"failing"`                  // Triggers whose runs fail
	Queued         int        `json:"queued"`                   // runs
	QueuedSince    *time.Time `json:"queuedSince,omitempty"`    // when the oldest of them was received
	LastDeployment *time.Time `json:"lastDeployment,omitempty"` // when it was notified; absent: no run says so

	Newest       []string              `json:"newest"` // the newest run of each Trigger, by its name
	Board        []BoardTile           `json:"board"`  // those that need a look first
	Environments []OverviewEnvironment `json:"environments"`
	Runs         []Run                 `json:"runs"`              // that the others name, without the details of their tests
	Omitted      string                `json:"omitted,omitempty"` // what is left out, as a sentence
}

// BoardTile is how a Trigger does in an Environment, or one service of it.
type BoardTile struct {
	Trigger     string   `json:"trigger"`
	Environment string   `json:"environment"`
	Service     string   `json:"service,omitempty"`
	Run         string   `json:"run,omitempty"`     // the newest; absent: the Trigger has none, or it does not work
	NotWorking  bool     `json:"notWorking"`        // the Trigger is not ready
	Message     string   `json:"message,omitempty"` // of a tile without a run
	Streak      string   `json:"streak,omitempty"`  // how long it has been passing or failing; absent without a result
	Trail       []string `json:"trail,omitempty"`   // the last results, oldest first, such as passed, failed or timedout
	URL         string   `json:"url"`               // of the page of the Trigger
}

// OverviewEnvironment is an Environment with its newest runs.
type OverviewEnvironment struct {
	Environment     EnvironmentStatus `json:"environment"`               // with the first repositories, and without workloads
	DeployedOmitted int               `json:"deployedOmitted,omitempty"` // repositories that it leaves out
	LastDeployment  string            `json:"lastDeployment,omitempty"`  // the run of the last deployment, if no other entry says what is deployed
	Runs            []string          `json:"runs"`                      // the newest run of each Trigger and service, by name
}
