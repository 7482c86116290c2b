package view

import (
	"cmp"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Document is what the page of a run takes from the document of its failure.
type Document struct {
	Next    []string // what to do, as sentences
	Changed *Changed // nil: unknown
}

// Changed is what was deployed since the last green run.
type Changed struct {
	Green   *CommitOfRun
	At      *Time
	Compare string // URL
	Parts   []ChangedPart
}

// ChangedPart is a repository or a service that has another commit than in the green run.
type ChangedPart struct {
	Name     string
	From, To string // From is empty if it is unknown
	Compare  string // URL
	At       *Time
}

// CommitOfRun is what a run tested, as a link to the run.
type CommitOfRun struct{ ID, Namespace, Text, Branch string }

// FailingSince is when and with which deployment a test began to fail.
type FailingSince struct {
	At            *Time
	Here          bool // it began with this run
	First, Before *CommitOfRun
	Compare       string // URL
}

// DocumentOf returns the page's part of a document. Its texts are bounded and have no control characters.
func DocumentOf(f httpapi.Failure, now time.Time) Document {
	d := Document{Next: f.Next}
	if f.Changed != nil {
		d.Changed = changedOf(*f.Changed, f.Tested, now)
	}
	return d
}

func changedOf(c httpapi.Changed, tested httpapi.Tested, now time.Time) *Changed {
	changed := &Changed{
		Green: &CommitOfRun{ID: c.Run, Namespace: tested.Namespace, Text: cmp.Or(commit.ShortSHA(c.SHA), c.Run)},
		At:    TimeOf(c.EndedAt, now), Compare: SafeURL(c.CompareURL),
	}
	for _, p := range c.Parts {
		changed.Parts = append(changed.Parts, ChangedPart{
			Name: strings.TrimSpace(p.Repository + " " + p.Service), From: commit.ShortSHA(p.From), To: commit.ShortSHA(p.To),
			Compare: SafeURL(p.CompareURL), At: TimeOf(p.At, now),
		})
	}
	return changed
}

// AddHistory adds what a document knows of the failed tests: since when they fail, and how often they are flaky.
func (t *Tests) AddHistory(known *httpapi.FailureTests, run string, now time.Time) {
	if known == nil {
		return
	}
	for _, k := range known.Failures {
		t.Repeat = cmp.Or(t.Repeat, k.Repeat)
		for i := range t.Failures {
			if f := &t.Failures[i]; failure.Name(f.Name) == k.Name {
				f.Since, f.Flaky = sinceOf(k.Since, run, now), flakyRate(k.Flaky, k.Runs)
			}
		}
	}
}

func sinceOf(s *httpapi.FailingSince, run string, now time.Time) *FailingSince {
	if s == nil {
		return nil
	}
	since := &FailingSince{
		At: TimeOf(s.First.CreatedAt, now), Here: s.First.ID == run, First: commitOfRun(s.First), Compare: SafeURL(s.CompareURL),
	}
	if s.Before != nil {
		since.Before = commitOfRun(*s.Before)
	}
	return since
}

func commitOfRun(r httpapi.TestRun) *CommitOfRun {
	return &CommitOfRun{ID: r.ID, Namespace: r.Namespace, Text: cmp.Or(commit.ShortSHA(r.SHA), r.ID), Branch: r.Branch}
}

// flakyRate returns "" for a test that was never flaky.
func flakyRate(flaky, runs int) string {
	if flaky == 0 {
		return ""
	}
	return "flaky in " + plaintext.Share(flaky, runs, "run")
}
