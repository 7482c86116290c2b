package failure

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// MaxBytes bounds the document, as JSON and as Markdown: what an agent or a comment has room for beside other things.
const MaxBytes = 16 << 10

// The bounds of parts, in bytes. Together, the parts that are never left out stay below MaxBytes although JSON may write six bytes for one.
const (
	maxSummary = 512
	maxLine    = 160 // names and facts
	maxURL     = 512
	maxMessage = 512
	maxText    = 3 << 10 // of a failure in the report
	maxProblem = 256     // what could not be read, and how to get it

	maxProblems = 4 // sentences; others are dropped
)

// bounded leaves out what tells least until the document fits.
func bounded(f httpapi.Failure, s *v1alpha1.Suite) httpapi.Failure {
	for _, shorten := range []func(*httpapi.Failure, *v1alpha1.Suite) string{
		shortenLog, keepTexts(3), keepFailures(10), dropUnderTest, keepTexts(1), keepFailures(5), dropLog, shortenChanges, keepFailures(1),
		dropWarnings, keepTexts(0), dropChanges, dropTests, dropDeployment,
	} {
		if size(f) <= MaxBytes {
			break
		}
		if said := shorten(&f, s); said != "" {
			f.Omitted = append(f.Omitted, said)
		}
	}
	return f
}

// size has room for one more sentence about what was left out.
func size(f httpapi.Failure) int {
	text, _ := json.Marshal(f) // it has only texts, numbers and times
	return len(text) + 256
}

func shortenLog(f *httpapi.Failure, s *v1alpha1.Suite) string {
	const kept = 15
	if f.Log == nil || len(f.Log.Lines) <= kept {
		return ""
	}
	short := *f.Log
	dropped := len(short.Lines) - kept
	from := dropped
	if short.Match > 0 { // keep the line with the failure, and more after it than before it
		from = max(0, min(dropped, short.Match-short.FirstLine-kept/3))
	}
	short.FirstLine, short.Lines = short.FirstLine+from, short.Lines[from:from+kept]
	f.Log = &short
	return "The log was cut. All of it: " + logs(s) + "."
}

func dropLog(f *httpapi.Failure, s *v1alpha1.Suite) string {
	if f.Log == nil {
		return ""
	}
	f.Log = nil
	return "The log was left out: " + logs(s) + "."
}

// cutTexts says that texts are longer than they are here.
func cutTexts(t *httpapi.FailureTests, s *v1alpha1.Suite) []string {
	if !slices.ContainsFunc(t.Failures, func(f httpapi.FailedTest) bool { return f.TextCut }) {
		return nil
	}
	return []string{"Texts of failures were cut. Whole ones: " + resultsCommand(s) + " --junit report.xml."}
}

func keepTexts(n int) func(*httpapi.Failure, *v1alpha1.Suite) string {
	return func(f *httpapi.Failure, s *v1alpha1.Suite) string {
		if f.Tests == nil {
			return ""
		}
		dropped := false
		for i := range f.Tests.Failures {
			if t := &f.Tests.Failures[i]; i >= n && (t.Text != "" || len(t.Files) > 0) {
				t.Text, t.TextCut, t.Files, dropped = "", true, nil, true
			}
		}
		if !dropped {
			return ""
		}
		if n == 0 {
			return "The texts and files of failures were left out: " + resultsCommand(s) + "."
		}
		return fmt.Sprintf("The texts and files of failures after the first %d were left out: %s.", n, resultsCommand(s))
	}
}

func keepFailures(n int) func(*httpapi.Failure, *v1alpha1.Suite) string {
	return func(f *httpapi.Failure, s *v1alpha1.Suite) string {
		if f.Tests == nil || len(f.Tests.Failures) <= n {
			return ""
		}
		dropped := len(f.Tests.Failures) - n
		f.Tests.Failures = f.Tests.Failures[:n]
		return fmt.Sprintf("%d more failures were left out: %s.", dropped, resultsCommand(s))
	}
}

func resultsCommand(s *v1alpha1.Suite) string {
	return fmt.Sprintf("postflight runs results %s -n %s", s.Name, s.Namespace)
}

func dropUnderTest(f *httpapi.Failure, s *v1alpha1.Suite) string {
	if f.Tested.UnderTest == nil {
		return ""
	}
	f.Tested.UnderTest = nil
	return fmt.Sprintf("The workloads under test were left out: postflight runs show %s -n %s.", s.Name, s.Namespace)
}

func shortenChanges(f *httpapi.Failure, s *v1alpha1.Suite) string {
	const kept = 5
	if f.Changed == nil || len(f.Changed.Parts) <= kept {
		return ""
	}
	short := *f.Changed
	dropped := len(short.Parts) - kept
	short.Parts = short.Parts[:kept]
	f.Changed = &short
	return fmt.Sprintf("%d more changes were left out: postflight environments history %s -n %s.", dropped, s.Spec.Environment, s.Namespace)
}

func dropChanges(f *httpapi.Failure, s *v1alpha1.Suite) string {
	if f.Changed == nil {
		return ""
	}
	f.Changed = nil
	return fmt.Sprintf("What changed was left out: postflight environments history %s -n %s.", s.Spec.Environment, s.Namespace)
}

func dropWarnings(f *httpapi.Failure, s *v1alpha1.Suite) string {
	if f.Cluster == nil {
		return ""
	}
	f.Cluster = nil
	return fmt.Sprintf("What the cluster did was left out: postflight runs show %s -n %s.", s.Name, s.Namespace)
}

func dropTests(f *httpapi.Failure, s *v1alpha1.Suite) string {
	if f.Tests == nil {
		return ""
	}
	f.Tests.Failures = nil
	return "The failures were left out: " + resultsCommand(s) + "."
}

// dropDeployment leaves out the texts of a sender, where nothing else can be.
func dropDeployment(f *httpapi.Failure, s *v1alpha1.Suite) string {
	t := &f.Tested
	t.URL, t.CommitURL, t.Message, t.Author, t.Branch = "", "", "", "", ""
	return fmt.Sprintf("Facts about the deployment were left out: postflight runs show %s -n %s.", s.Name, s.Namespace)
}

func problems(all []string) (short []string) {
	for _, p := range all[:min(len(all), maxProblems)] {
		short = append(short, plaintext.Line(p, maxProblem))
	}
	return short
}
