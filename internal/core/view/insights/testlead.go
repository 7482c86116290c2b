package insights

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
)

// TestLead is the first sentence of the page of a test.
type TestLead struct {
	Text string // of a test that does not fail

	Since         *view.Time // it fails
	SinceText     string     // Tuesday 10:14 UTC
	Place         string
	First, Before *view.CommitOfRun
	Compare       string // URL
	Others        int    // places in which it fails, too
	Rest          string // a further sentence, or ""
}

func commitOfRun(r httpapi.TestRun) *view.CommitOfRun {
	text := plaintext.Line(commit.ShortSHA(r.SHA), logtext.MaxTestName)
	if text == "" {
		text = "a commit without a name"
	}
	return &view.CommitOfRun{ID: r.ID, Namespace: r.Namespace, Text: text, Branch: plaintext.Line(r.Branch, logtext.MaxTestName)}
}

// testLeadOf speaks of the chosen place if the test fails there, or else of the first in which it fails.
func testLeadOf(t httpapi.TestHistory, chosen int, now time.Time) TestLead {
	place := t.Places[chosen]
	failing := 0
	for _, other := range t.Places {
		if other.Failing == nil {
			continue
		}
		if failing++; place.Failing == nil {
			place = other
		}
	}
	if place.Failing == nil {
		return TestLead{Text: notFailing(t, place, now)}
	}
	f := place.Failing
	lead := TestLead{Since: view.TimeOf(f.First.CreatedAt, now), SinceText: since(f.First.CreatedAt, now), Place: placeName(place.Place),
		First: commitOfRun(f.First), Compare: view.SafeURL(f.CompareURL), Others: failing - 1}
	if f.Before != nil {
		lead.Before = commitOfRun(*f.Before)
	}
	if place.Flips >= comesAndGoes {
		lead.Rest = fmt.Sprintf("It comes and goes: %d flips in %d days.", place.Flips, t.Days)
	}
	return lead
}

// Sentence returns the beginning as plain text.
func (l TestLead) Sentence() string {
	if l.Since == nil {
		return l.Text
	}
	text := fmt.Sprintf("Fails since %s in %s, first with %s", l.SinceText, l.Place, l.First.Text)
	if l.First.Branch != "" {
		text += " on " + l.First.Branch
	}
	return text + "."
}

// notFailing speaks of the place, or of one in which the test comes and goes.
func notFailing(t httpapi.TestHistory, place httpapi.TestInPlace, now time.Time) string {
	for _, other := range t.Places {
		if other.Flips >= max(comesAndGoes, place.Flips+1) {
			place = other
		}
	}
	inPlace := ""
	if len(t.Places) > 1 {
		inPlace = " in " + placeName(place.Place)
	}
	inDays := fmt.Sprintf(" of the last %d days%s", t.Days, inPlace)
	switch {
	case place.Passed+place.Failed == 0:
		return "It was skipped in all runs" + inDays + "."
	case place.Flips >= comesAndGoes:
		return fmt.Sprintf("Comes and goes: %d flips in %d days%s. It passed in the last run, %s.", place.Flips, t.Days, inPlace,
			lastRan(place, now))
	case place.Failed == 0:
		return neverFailed(place, inDays)
	}
	text := fmt.Sprintf("It %s%s.", failedIn(place.Failed, place.Runs), inDays)
	if at := passesSince(place); !at.IsZero() {
		return fmt.Sprintf("Passes since %s. %s", since(at, now), text)
	}
	return "It passes. " + text
}

func neverFailed(place httpapi.TestInPlace, inDays string) string {
	text := "It passed in " + plaintext.Share(place.Passed, place.Runs, "run") + inDays
	switch {
	case place.Runs == 1:
		text = "It passed in its only run" + inDays
	case place.Passed == place.Runs:
		text = fmt.Sprintf("It passed in all %d runs%s", place.Runs, inDays)
	}
	if place.Flaky > 0 {
		text += fmt.Sprintf(", in %d of them only when it was repeated", place.Flaky)
	}
	if place.Passed < place.Runs {
		text += ". The others skipped it, or did not have it"
	}
	return text + "."
}

func lastRan(place httpapi.TestInPlace, now time.Time) string {
	for _, r := range place.Last {
		if r.State != httpapi.TestSkipped {
			return plaintext.Ago(r.CreatedAt, now)
		}
	}
	return "some time ago"
}

// passesSince returns the first run in which the test passed after its last failure; zero if none of the last runs failed.
func passesSince(place httpapi.TestInPlace) (at time.Time) {
	for _, r := range place.Last {
		switch r.State {
		case httpapi.TestFailed:
			return at
		case httpapi.TestPassed, httpapi.TestFlaky:
			at = r.CreatedAt
		}
	}
	return time.Time{}
}
