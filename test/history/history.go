// Package history checks what clients were told, and what happened to the runs, against what Postflight promises. It is
// pure: a test records a History while it injects faults, and Check reads it afterwards.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Tolerance is how exactly replicas know the time of the API server, which sends whole seconds. The order of two
// notifications counts if the first was answered so long before the second was sent.
const Tolerance = 2 * time.Second

// History is all that clients and nodes recorded, and the runs as they are at the end.
type History struct {
	Attempts  []Attempt
	Inquiries []Inquiry
	Runs      []Run
	Rollouts  []Rollout // of the only workload of an Environment, in order

	// Of places where the test deploys: what is there decides how tests end.
	Deployments []Deployment // in order
	Gates       []Gate
	Tested      []Run
	Reviews     []Review
}

// Rollout is another commit of a workload.
type Rollout struct {
	Commit        string
	Sent, Changed time.Time // the request that began it, and its answer
	Completed     time.Time // zero: it failed
}

// Attempt is one request of a notification, which clients repeat until it is answered.
type Attempt struct {
	Identity string // what makes notifications equal: team and Idempotency-Key. They have one run
	Commit   string // that was deployed. A notification of one that has a run may be answered with that
	Stream   string
	Sent     time.Time
	Answered time.Time // or failed
	Status   int       // 0: there was no answer
	Created  string    // the id of the run, if the answer says that it was created
	Known    string    // if it says that it is a duplicate
	Ended    time.Time // if it says that this is a result of before; to the second
	Failure  string    // why the answer says that there is no run
}

// Inquiry is an answer to the question how a run went.
type Inquiry struct {
	Run      string // that counts
	Over     bool   // there will be no other answer
	Green    bool
	Canceled bool // there is no result
}

// Run is a Suite at the end, and what was seen of it before.
type Run struct {
	ID           string
	Identity     string // of the notification that created it
	Commit       string
	Stream       string
	Rolled       bool   // a rollout started it, in the Environment of the workload
	Repeats      string // the run that it repeats
	State        string
	Message      string
	SupersededBy string
	Ends         []string // the different ends that it has had; one, if all is well
	Jobs         int      // that were created for it
	Tests        Tests
	DecidedBy    string    // what it says made it pass or fail
	PassedTests  int32     // that it counts in its reports
	Began        time.Time // of the tests; zero: they did not begin
	Stopped      time.Time // of the tests; zero: they did not stop, such as on a node that is lost
	Created      time.Time // to the second
	Ended        time.Time // when it was first seen to have ended
	CompletedAt  time.Time // what it says about that, by the clock of its leader; to the second

	Origin string // who asked for it, for people

	Place, Repository string // of Tested: what its Commit is of, and where it was deployed
	Restored          bool   // of Tested: it was brought back from a backup later, as a run without an end
}

// Tests are what the node did with the tests of a run.
type Tests string

// The ends of tests.
const (
	NotRun   Tests = ""
	Passed   Tests = "passed"
	Failed   Tests = "failed"
	Reported Tests = "reported" // a failed test, although their container exited with 0
	Stopped  Tests = "stopped"  // because the manager asked for it
	Lost     Tests = "lost"     // with their node
)

// Violation is a promise that was not kept.
type Violation struct{ Rule, Subject, Detail string }

func (v Violation) String() string { return v.Rule + ": " + v.Subject + ": " + v.Detail }

// rules by their names, which docs/chaos.md explains.
var rules = map[string]func(*view) []Violation{
	"one run":           oneRun,
	"one job":           oneJob,
	"every run ends":    everyRunEnds,
	"ends are final":    endsAreFinal,
	"ends explained":    endsExplained,
	"right supersede":   rightSupersede,
	"one at a time":     oneAtATime,
	"green is evidence": greenIsEvidence,
	"old is announced":  oldIsAnnounced,
	"truthful answers":  truthfulAnswers,
	"truthful gates":    truthfulGates,

	"one run per rollout":     oneRunPerRollout,
	"one version":             oneVersion,
	"a change, if it says so": changedIfItSaysSo,

	"passed there": passedThere,
	"green there":  greenThere,

	"one decision":      decidedOnce,
	"approved is green": approvedIsGreen,
}

// Check returns the broken promises, in a fixed order.
func Check(h History) []Violation {
	v := newView(h)
	var all []Violation
	for name, rule := range rules {
		for _, violation := range rule(v) {
			violation.Rule = name
			all = append(all, violation)
		}
	}
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Detail, b.Detail))
	})
	return all
}

type view struct {
	History
	run      map[string]Run       // by ID
	runs     map[string][]Run     // by identity
	attempts map[string][]Attempt // by identity
	notified map[string][]string  // identities by the ID of the run that was created for them, or continued when it answered them
	deployed map[string][]string  // the same, and those that its result answered
	streams  map[string][]Run
}

func newView(h History) *view {
	v := &view{
		History: h, run: map[string]Run{}, runs: map[string][]Run{}, attempts: map[string][]Attempt{}, notified: map[string][]string{},
		deployed: map[string][]string{}, streams: map[string][]Run{},
	}
	for _, r := range h.Runs {
		v.run[r.ID] = r
		v.runs[r.Identity] = append(v.runs[r.Identity], r)
		v.streams[r.Stream] = append(v.streams[r.Stream], r)
		v.notified[r.ID] = append(v.notified[r.ID], r.Identity)
		v.deployed[r.ID] = append(v.deployed[r.ID], r.Identity)
	}
	for _, a := range h.Attempts {
		v.attempts[a.Identity] = append(v.attempts[a.Identity], a)
		if a.Known != "" {
			v.deployed[a.Known] = append(v.deployed[a.Known], a.Identity)
		}
		if a.Known != "" && a.Ended.IsZero() {
			v.notified[a.Known] = append(v.notified[a.Known], a.Identity)
		}
	}
	return v
}

// span is from the first request of a notification to its last answer.
func (v *view) span(identity string) (sent, answered time.Time) {
	for i, a := range v.attempts[identity] {
		if i == 0 || a.Sent.Before(sent) {
			sent = a.Sent
		}
		if a.Answered.After(answered) {
			answered = a.Answered
		}
	}
	return sent, answered
}

// before reports whether one notification was certainly received before another.
func (v *view) before(a, b string) bool {
	_, answered := v.span(a)
	sent, _ := v.span(b)
	return !answered.IsZero() && !sent.IsZero() && answered.Add(Tolerance).Before(sent)
}

// older reports whether the commit of a run was certainly notified for the last time before another run was. A rollback is newer than what
// it replaces, also if the result of an old run answers it.
func (v *view) older(a, b string) bool {
	return slices.ContainsFunc(v.notified[b], func(later string) bool {
		return !slices.ContainsFunc(v.deployed[a], func(earlier string) bool { return !v.before(earlier, later) })
	})
}

func violation(subject, format string, args ...any) Violation {
	return Violation{Subject: subject, Detail: fmt.Sprintf(format, args...)}
}
