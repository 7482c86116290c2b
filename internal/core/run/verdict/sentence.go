package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxNamed   = 3   // Triggers, runs and tests that a sentence names: more are in the list
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
	environment, sha := v.Environment.Name, suite.ShownSHA(v.Commit.Revision)
	place := fmt.Sprintf("%s on %s", sha, environment)
	switch {
	case len(v.Requirements) == 0 && v.Newest != nil:
		return fmt.Sprintf("The Triggers that tested %s do not exist any more.", place)
	case len(v.Requirements) == 0:
		return fmt.Sprintf("No run of %s is known.", place)
	}
	share := v.share()
	switch v.State {
	case Passed:
		return fmt.Sprintf("%s passed for %s since %s.", allHave(len(v.Requirements)), place, moment(v.Since))
	case Failed:
		return fmt.Sprintf("%s failed for %s: %s.", share, place, v.named())
	case Withdrawn:
		return fmt.Sprintf("%s passed for %s, and failed in a later run: %s.", share, place, v.named())
	case Running:
		if !v.Opens.IsZero() {
			return fmt.Sprintf("%s passed for %s since %s, and must have passed for %s: that is until %s.", allHave(len(v.Requirements)), place,
				moment(v.Since), plaintext.Duration(duration(v.rule().MinAge)), moment(v.Opens))
		}
		return fmt.Sprintf("%s %s not ended for %s: %s.", share, have(v.count()), place, v.named())
	case Stale:
		return strings.TrimSpace(fmt.Sprintf("%s passed for %s, but the result is stale: %s. %s", share, place, v.named(), v.problem()))
	default:
		return strings.TrimSpace(fmt.Sprintf("%s %s no result for %s: %s. %s", share, have(v.count()), place, v.named(), v.problem()))
	}
}

// problem is the sentence about the requirement that decides, if there is only one. Of several, each has its own.
func (v Verdict) problem() string {
	if deciding := v.deciding(); len(deciding) == 1 && deciding[0].Problem != "" {
		return deciding[0].Message()
	}
	return ""
}

func moment(at time.Time) string { return at.UTC().Format("2 January 15:04 UTC") }

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func allHave(n int) string {
	switch n {
	case 1:
		return "The required Trigger has"
	case 2:
		return "Both required Triggers have"
	default:
		return fmt.Sprintf("All %d required Triggers have", n)
	}
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
	for _, r := range v.deciding() {
		names = append(names, v1alpha1.TestName(r.Trigger, plaintext.Line(r.Service, maxTest))+failures(r))
	}
	return firstOf(names)
}

// firstOf lists as many names as a sentence has.
func firstOf(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
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
