package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxNamed   = 3   // Triggers and tests that a sentence names: more are in the list
	maxTest    = 120 // bytes of the name of a test
	maxMessage = 300 // bytes of the message of a run
)

func tooOld(ended time.Time, maxAge time.Duration, now time.Time) string {
	return fmt.Sprintf("It passed %s, and a result counts for %s.", plaintext.Ago(ended, now), plaintext.Duration(maxAge))
}

// Message says how a requirement stands, as a sentence.
func (r Requirement) Message() string {
	switch {
	case r.Problem != "":
		return plaintext.Line(r.Problem, maxMessage)
	case r.Run == nil:
		return ""
	default:
		return plaintext.Line(r.Run.Succeeded().Message, maxMessage)
	}
}

// NewFailures are the tests of the deciding run that failed for the first time, as far as the Suite lists them.
func (r Requirement) NewFailures() (names []string) {
	if r.State != Failed && r.State != Withdrawn || r.Run.Status.Results == nil {
		return nil
	}
	for _, f := range r.Run.Status.Results.Failures {
		if f.History == v1alpha1.FailureNew && f.Quarantine == "" {
			names = append(names, plaintext.Line(f.Name, maxTest))
		}
	}
	return names
}

// Sentence says why the verdict is what it is.
func (v Verdict) Sentence() string {
	place := fmt.Sprintf("%s on %s", suite.ShownSHA(v.Commit.Revision), v.Environment.Name)
	if len(v.Requirements) == 0 {
		if v.Newest != nil {
			return fmt.Sprintf("No Trigger of %s is left that tested %s.", v.Environment.Name, suite.ShownSHA(v.Commit.Revision))
		}
		return fmt.Sprintf("No run of %s is known.", place)
	}
	share := v.share()
	switch v.State {
	case Passed:
		return fmt.Sprintf("%s passed for %s, the last one %s.", allOf(len(v.Requirements)), place, plaintext.Ago(v.Since, v.Now))
	case Failed:
		return fmt.Sprintf("%s failed for %s: %s.", share, place, v.named())
	case Withdrawn:
		return fmt.Sprintf("%s failed in a later run of %s, which had passed until %s: %s.", share, place, v.withdrawnAt(), v.named())
	case Running:
		if !v.Opens.IsZero() {
			return fmt.Sprintf("%s passed for %s, and must have done so for %s: until %s.", allOf(len(v.Requirements)), place,
				plaintext.Duration(duration(v.rule().MinAge)), moment(v.Opens))
		}
		return fmt.Sprintf("%s %s not ended for %s: %s.", share, have(v.count()), place, v.named())
	case Stale:
		return fmt.Sprintf("%s passed for %s, but not lately enough, or not as it is deployed now: %s.", share, place, v.named())
	default:
		return fmt.Sprintf("%s %s no result for %s: %s.", share, have(v.count()), place, v.named())
	}
}

func moment(at time.Time) string { return at.UTC().Format("2 January 15:04 UTC") }

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func allOf(n int) string {
	if n == 1 {
		return "The required Trigger"
	}
	return fmt.Sprintf("All %d required Triggers", n)
}

// deciding are the requirements that have the state of the verdict.
func (v Verdict) deciding() (all []Requirement) {
	for _, r := range v.Requirements {
		if r.State == v.State {
			all = append(all, r)
		}
	}
	return all
}

func (v Verdict) count() int { return len(v.deciding()) }

func (v Verdict) share() string {
	return plaintext.Share(v.count(), len(v.Requirements), "required Trigger")
}

// named lists the Triggers that decide, with their new failures.
func (v Verdict) named() string {
	var names []string
	deciding := v.deciding()
	for i, r := range deciding {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(deciding)-maxNamed))
			break
		}
		names = append(names, v1alpha1.TestName(r.Trigger, plaintext.Line(r.Service, maxTest))+failures(r))
	}
	return strings.Join(names, ", ")
}

func failures(r Requirement) string {
	names := r.NewFailures()
	if len(names) == 0 {
		return ""
	}
	total := max(int(r.Run.Status.Results.NewFailures), len(names))
	return fmt.Sprintf(" with %s (%s)", plaintext.Count(total, "new failure"), strings.Join(names[:min(len(names), maxNamed)], "; "))
}

// withdrawnAt is when the first run ended that took the pass back.
func (v Verdict) withdrawnAt() string {
	var first time.Time
	for _, r := range v.deciding() {
		first = earlier(first, ended(r.Run))
	}
	return moment(first)
}

// Advice says what to do; empty: nothing.
func (v Verdict) Advice() string {
	again := "Then ask again."
	if v.Replaced != nil {
		again = fmt.Sprintf("%s has %s by now, so deploy the commit there again first.", v.Environment.Name,
			suite.ShownSHA(commit.ShortSHA(v.Replaced.Revision)))
	}
	switch {
	case v.State == Passed:
		return ""
	case v.State == Failed, v.State == Withdrawn:
		return "Deploy a commit that fixes it. If the commit is not the cause, rerun " + v.deciding()[0].Run.Name + ". " + again
	case v.State == Running:
		return "Wait, or use postflight gate --wait."
	case v.State == Stale:
		return "Start new runs with postflight gate --run. " + again
	case v.Newest == nil:
		return "Deploy the commit to " + v.Environment.Name + " and notify Postflight, or check the commit, the repository and the Environment."
	default:
		return "Start what is missing with postflight gate --run. " + again
	}
}
