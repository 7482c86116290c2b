package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Teams sums up all teams that a person may see, those that need a look first.
type Teams struct {
	Sentence string
	Shared   []Fact // of what all teams share
	Rows     []TeamRow
}

// TeamRow is a team in a list.
type TeamRow struct {
	Name, Namespace string

	Look     string // what needs a look, as a sentence; empty: nothing
	Trigger  string // that needs it
	Newest   []Row  // of each Trigger that has run, by its name
	Queued   int
	Waiting  int   // runs that have ended and are not in the archive yet
	Deployed *Time // when the last deployment was notified; nil: no run says so

	OldestQueued    time.Time // when it was received; zero: none is queued
	Broken, Failing int       // Triggers that do not work, and whose runs fail
}

// TeamOf sums up a team. The runs come newest first.
func TeamOf(name, namespace string, triggers []*v1alpha1.Trigger, runs []*v1alpha1.Suite, now time.Time) TeamRow {
	row := TeamRow{Name: name, Namespace: namespace}
	for _, s := range runs {
		switch {
		case StateOf(s).Reason == v1alpha1.ReasonQueued:
			row.Queued++
			row.OldestQueued = s.Received().Time
		case s.Finished() && !s.Archived():
			row.Waiting++
		}
	}
	if s := LastDeployment(runs); s != nil {
		row.Deployed = TimeOf(s.Received().Time, now)
	}
	var problems []complaint
	byTrigger := ByTrigger(runs)
	for _, t := range slices.SortedFunc(slices.Values(triggers), func(a, b *v1alpha1.Trigger) int { return cmp.Compare(a.Name, b.Name) }) {
		own := byTrigger[t.Name]
		if len(own) > 0 {
			row.Newest = append(row.Newest, RowOf(own[0], 0, now))
		}
		if problem := v1alpha1.ReadyProblem(t.Status.Conditions); problem != "" {
			problems = append(problems, complaint{trigger: t.Name, text: fmt.Sprintf("The Trigger %s does not work: %s", t.Name, problem)})
			row.Broken++
		} else if f := failingSince(t.Name, own, now); f.trigger != "" {
			problems = append(problems, f)
			row.Failing++
		}
	}
	slices.SortStableFunc(problems, func(a, b complaint) int { return a.since.Compare(b.since) })
	if len(problems) > 0 {
		row.Trigger, row.Look = problems[0].trigger, problems[0].text
		if more := len(problems) - 1; more > 0 {
			row.Look += fmt.Sprintf(" And %d more.", more)
		}
	}
	return row
}

type complaint struct {
	trigger, text string
	since         time.Time // zero: it never worked
}

// failingSince looks for the first of the runs of a Trigger that ended badly since one passed. Its Environments and services are apart.
func failingSince(trigger string, runs []*v1alpha1.Suite, now time.Time) (worst complaint) {
	type place struct{ environment, service string }
	passed := map[place]bool{}
	bad := map[place]*v1alpha1.Suite{} // the oldest
	for _, s := range runs {
		state, p := StateOf(s), place{s.Spec.Environment, s.Spec.Deployment.Service}
		switch {
		case passed[p]:
		case state.Green:
			passed[p] = true
		case state.Bad:
			bad[p] = s
		}
	}
	for p, s := range bad {
		name, environment := v1alpha1.TestName(trigger, p.service), p.environment
		if since := s.Received().Time; worst.trigger == "" || since.Before(worst.since) {
			worst = complaint{trigger, fmt.Sprintf("%s fails on %s since %s.", name, environment, since.UTC().Format("2 January, 15:04 UTC")),
				since}
			if ago := plaintext.Ago(since, now); now.Sub(since) < 2*day {
				worst.text = fmt.Sprintf("%s fails on %s; it began %s.", name, environment, ago)
			}
		}
	}
	return worst
}

// TeamsOf puts teams that need a look first, and then orders them by name.
func TeamsOf(rows []TeamRow, shared []Fact, now time.Time) Teams {
	slices.SortFunc(rows, func(a, b TeamRow) int {
		return cmp.Or(compareBool(a.Look == "", b.Look == ""), cmp.Compare(a.Name, b.Name))
	})
	queued, oldest := 0, time.Time{}
	for _, r := range rows {
		if queued += r.Queued; r.Queued > 0 && (oldest.IsZero() || r.OldestQueued.Before(oldest)) {
			oldest = r.OldestQueued
		}
	}
	t := Teams{Rows: rows, Shared: shared, Sentence: teamsSentence(rows)}
	if queued > 0 {
		t.Sentence += fmt.Sprintf(" Waiting in a queue: %s, the oldest for %s.", plaintext.Count(queued, "run"), Duration(now.Sub(oldest)))
	}
	return t
}

func teamsSentence(rows []TeamRow) string {
	broken, failing, look, where := 0, 0, 0, ""
	for _, r := range rows {
		if r.Look != "" {
			broken, failing, look, where = broken+r.Broken, failing+r.Failing, look+1, r.Name
		}
	}
	if look > 1 {
		where = plaintext.Count(look, "team")
	}
	if look == 0 {
		return fmt.Sprintf("Nothing fails in %s.", plaintext.Count(len(rows), "team"))
	}
	does, fails := verb(broken, "does not work", "do not work"), verb(failing, "fails", "fail")
	text := ""
	switch {
	case broken == 0:
		text = fmt.Sprintf("%s of %s %s.", plaintext.Count(failing, "Trigger"), where, fails)
	case failing == 0:
		text = fmt.Sprintf("%s of %s %s.", plaintext.Count(broken, "Trigger"), where, does)
	default:
		text = fmt.Sprintf("%s of %s %s, and %d %s.", plaintext.Count(broken, "Trigger"), where, does, failing, fails)
	}
	switch rest := len(rows) - look; rest {
	case 0:
		return text
	case 1:
		return text + " Nothing fails in the other team."
	default:
		return fmt.Sprintf("%s Nothing fails in the other %d teams.", text, rest)
	}
}

func verb(count int, singular, plural string) string {
	if count == 1 {
		return singular
	}
	return plural
}
