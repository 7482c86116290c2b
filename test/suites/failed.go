package suites

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// Outcomes of the tests a, b and so on: p passed, f failed, s was skipped, - did not run.
type Outcomes string

// Tests returns what a collector makes of the report.
func (o Outcomes) Tests(plan results.NameSet) results.Tests {
	var b strings.Builder
	for i, outcome := range o {
		said := map[rune]string{'f': `<failure message="no"/>`, 's': "<skipped/>"}[outcome]
		if outcome != '-' {
			fmt.Fprintf(&b, `<testcase name="%c" classname="cart.spec.ts" time="1">%s</testcase>`, 'a'+i, said)
		}
	}
	t := results.Tests{Rerun: plan}
	t.Add("junit.xml", strings.NewReader("<testsuites><testsuite>"+b.String()+"</testsuite></testsuites>"))
	return t
}

// Document returns what a pod reports.
func (o Outcomes) Document(plan results.NameSet) results.Document {
	t := o.Tests(plan)
	return results.Document{Counts: t.Counts, Failures: t.Failures, RerunPassed: t.Summary().RerunPassed}
}

// FailedRun ran tests, some of which failed.
func FailedRun(name string, seconds int, o Outcomes, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	t := o.Tests("")
	ended := func(s *v1alpha1.Suite) {
		s.UID = types.UID("uid-" + name)
		InState(v1alpha1.Failed("Exit code 1."))(s)
		s.Status.Results = results.Status(t.Summary())
		s.Status.Results.OnlyTestsFailed = true
	}
	return ASuite(name, seconds, append([]func(*v1alpha1.Suite){WithCommit("a"), ended}, change...)...)
}

// OnlyFailedOf is the next attempt.
func OnlyFailedOf(of *v1alpha1.Suite) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Attempt = of.Spec.Attempt + 1
		s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: of.Name, UID: of.UID}
	}
}

// PassedRun ran so many tests before the others.
func PassedRun(name string, tests int32) *v1alpha1.Suite {
	return ASuite(name, -100, InState(v1alpha1.Passed("")), WithCommit("before"), func(s *v1alpha1.Suite) {
		s.Status.Results = &v1alpha1.TestResults{Tests: tests, Passed: tests}
	})
}

// WithMinTests is a Trigger that requires so many tests.
func WithMinTests(n int32) *v1alpha1.Trigger {
	t := ATrigger()
	t.Spec.Results = &v1alpha1.Results{MinTests: n}
	return t
}

// Skips lets a run skip tests.
func Skips(s *v1alpha1.Suite, tests int32) *v1alpha1.Suite {
	s.Status.Results.Skipped = tests
	return s
}

// JobOf is the Job of a run, which remembers the tests that it ran.
func JobOf(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("Suite")),
	}}}
	return job.WithTestsDigest(j, job.TestsDigest(s, t, e))
}

// AFailedRequest is for the tests of a run of four, of which one or two failed.
func AFailedRequest(o Outcomes, change ...func(*rerun.FailedRequest)) rerun.FailedRequest {
	root := FailedRun("r1", 0, o)
	r := rerun.FailedRequest{
		Suite: ASuite("r2", 60, WithCommit("a"), OnlyFailedOf(root)), Trigger: WithMinTests(4), Environment: AnEnvironment(), Ledger: ALedger(
			root), Digest: "d",
		Chain: []rerun.Link{{Suite: root, Documents: []results.Document{o.Document("")}, Digest: "d"}},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}
