package results

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Requirement is what the reports of a run must show, besides exit code 0 of its containers.
type Requirement struct {
	Policy   v1alpha1.ResultsRequirement // "" for a Job that has none: Tests
	MinTests int32                       // that were not skipped; 0: one
	Fewer    Fewer
}

// Judgment says whether a run whose containers exited with 0 passes.
type Judgment struct {
	By      v1alpha1.DecidedBy
	Problem string // completes the sentence "..., but"; "" if the run passes
	Lost    bool   // what the tests reported is lost: the run has no result
	Advice  string // a sentence after the Problem: what to do, unless another run follows by itself; "": the Problem says it
	Gone    bool   // it is lost with a pod, or its collector was stopped; another run may have a result
}

const (
	writeReport = "Write one, or set results.require of the Trigger to Nothing, with which the exit code alone decides."
	wholeReport = " See to it that the tests write their reports to the end, and readable for others, and nothing else that ends in .xml."
	lost        = "what its tests reported is lost, so nothing shows that they passed. "

	// RerunAdvice is what to do about a run without a result, if nothing happens by itself.
	RerunAdvice = "Notify again, or create another Suite, to repeat the run."
)

// Judge counts a failed test that no Quarantine names, whatever else is known.
func (c *Collected) Judge(r Requirement) Judgment {
	if r.Policy == v1alpha1.RequireNothing {
		return Judgment{By: v1alpha1.DecidedByExitCode}
	}
	if c != nil && c.Summary.counting() > 0 {
		problem := cmp.Or(Sentence(Status(c.Summary)), tests(c.Summary.Failed)+" failed.")
		return Judgment{By: v1alpha1.DecidedByTests, Problem: problem + unrecovered(c.Summary)}
	}
	if j := c.reportProblem(); j.Problem != "" {
		j.By, j.Gone = v1alpha1.DecidedByReport, j.Lost && c.gone()
		return j
	}
	if c.Summary.Quarantined > 0 {
		return Judgment{By: v1alpha1.DecidedByTests, Problem: tooFewBeside(c.Summary.Counts, max(r.MinTests, 1))}
	}
	if r.Policy == v1alpha1.RequireReport && c.Summary.Reports > 0 {
		return Judgment{By: v1alpha1.DecidedByReport}
	}
	return Judgment{By: v1alpha1.DecidedByTests, Problem: tooFew(c.Summary.Counts, max(r.MinTests, 1))}
}

func (c *Collected) gone() bool { return c == nil || !c.NoStore && len(c.Lost) > 0 }

func (c *Collected) reportProblem() Judgment {
	switch {
	case c == nil:
		return Judgment{Lost: true, Problem: lost + "Its pods are gone: evicted, drained or deleted.", Advice: RerunAdvice}
	case c.NoStore:
		return Judgment{Lost: true,
			Problem: "nothing reads its reports, because no store for files is configured. Ask the operator of Postflight to set " +
				"--store-bucket and --store-endpoint, or set results.require of the Trigger to Nothing."}
	case len(c.Lost) > 0:
		return Judgment{Lost: true, Problem: lost + strings.Join(c.Lost[:min(len(c.Lost), maxMissing)], " "), Advice: RerunAdvice}
	case c.Summary.Older && c.Summary.Problem != "":
		return Judgment{Lost: true,
			Problem: "the collector in its pod is of an earlier version of Postflight, which does not say whether all reports could be read " +
				"whole. It says: " + c.Summary.Problem, Advice: RerunAdvice}
	case c.Summary.Unread == 1:
		return Judgment{Problem: strings.TrimSpace("a report could not be read whole. "+c.Summary.Problem) + wholeReport}
	case c.Summary.Unread > 1:
		return Judgment{Problem: strings.TrimSpace(fmt.Sprintf("%d reports could not be read whole. %s", c.Summary.Unread, c.Summary.Problem)) +
			wholeReport}
	default:
		return Judgment{Problem: silent(c.Summary)}
	}
}

func unrecovered(s Summary) string {
	if s.Unrecovered == 0 {
		return ""
	}
	return fmt.Sprintf(" Of them, %d failed in an earlier pod, and no later one shows that they pass. "+
		"Repeat all tests, or only the failed ones, under the same names.", s.Unrecovered)
}

func silent(s Summary) string {
	n := len(s.Silent)
	switch {
	case n == 0:
		return ""
	case s.Reports == 0 && s.Files == 0:
		return "its tests left no JUnit report in the results directory. " + writeReport
	case s.Reports == 0:
		return "none of the files in the results directory is a JUnit report. " + writeReport
	case n == 1:
		return fmt.Sprintf("the tests of one pod, %s, left no JUnit report. %s", s.Silent[0], writeReport)
	default:
		return fmt.Sprintf("the tests of %d pods left no JUnit report, the first: %s. %s", n, s.Silent[0], writeReport)
	}
}

func tooFew(c Counts, least int32) string {
	ran := c.Tests - c.Skipped
	switch {
	case ran >= least:
		return ""
	case c.Tests == 0:
		return "its reports list no tests. Check which tests it selects; results.require: Report of the Trigger accepts that."
	case ran == 0:
		return fmt.Sprintf("all of its tests were skipped (%d). Check which tests it selects; "+
			"results.require: Report of the Trigger accepts that.", c.Skipped)
	default:
		return fmt.Sprintf("only %s ran, and results.minTests of the Trigger is %d. Check which tests it selects, or lower minTests.", tests(ran),
			least)
	}
}

// DecidedByTests reports whether failed tests decide that a run with a requirement fails.
func DecidedByTests(r Requirement) bool { return r.Policy != v1alpha1.RequireNothing }
