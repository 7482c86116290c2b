package results

import (
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Sentence summarizes the tests for the message of a run, or returns "" if nothing is known.
func Sentence(r *v1alpha1.TestResults) string {
	switch {
	case r == nil:
		return ""
	case r.Tests == 0:
		return "The reports list no tests."
	case r.Failed > 0:
		return fmt.Sprintf("%d of %s failed%s%s%s.", r.Failed, tests(r.Tests), history(r), inQuarantine(r), firstFailure(r))
	default:
		return passedSentence(r)
	}
}

func passedSentence(r *v1alpha1.TestResults) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s passed", tests(r.Passed))
	if r.Flaky > 0 {
		fmt.Fprintf(&b, " (%d of them flaky%s)", r.Flaky, firstOf(r.Flaky, r.FlakyTests))
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", r.Skipped)
	}
	return b.String() + "."
}

func firstOf(count int32, names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case count == 1:
		return ": " + plaintext.Line(names[0], sentenceName)
	default:
		return ", the first: " + plaintext.Line(names[0], sentenceName)
	}
}

func history(r *v1alpha1.TestResults) string {
	switch {
	case r.ComparedWith == "":
		return ""
	case r.Failed == 1 && r.NewFailures == 1:
		return ", a new failure"
	case r.Failed == 1:
		return ", as before"
	case r.NewFailures == 0:
		return ", none of them new"
	case r.NewFailures == r.Failed:
		return ", all of them new"
	default:
		return fmt.Sprintf(", %d of them new", r.NewFailures)
	}
}

func firstFailure(r *v1alpha1.TestResults) string {
	if len(r.Failures) == 0 {
		return ""
	}
	return firstOf(r.Failed, []string{r.Failures[0].Name})
}

func tests(n int32) string { return plaintext.Count(n, "test") }
