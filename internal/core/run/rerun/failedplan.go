package rerun

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// FailedRequest is everything that bears on whether a run and those of its chain are one.
type FailedRequest struct {
	Suite       *v1alpha1.Suite
	Trigger     *v1alpha1.Trigger
	Chain       []Link // the newest first; the last one ran all tests
	Digest      string // of what defines the tests now
	Inputs      []v1alpha1.SuiteInput
	Environment *v1alpha1.Environment
	Ledger      *ledger.Ledger    // of the Environment
	Runs        []*v1alpha1.Suite // of the Trigger
}

// PlanFailed decides which tests a run repeats, or why it cannot count together with the runs of the chain. ClaimProblem was "".
func PlanFailed(r FailedRequest) *FailedTests {
	last, root := r.Chain[0].Suite, r.Chain[len(r.Chain)-1].Suite
	tests, problem := remaining(r.Chain)
	switch {
	case problem != "":
		return &FailedTests{Impossible: fmt.Sprintf("The failed tests of the run %s are not known: %s.%s", last.Name, problem,
			AllTestsAdvice(r.Suite))}
	case r.undecided() != "":
		return &FailedTests{Impossible: r.undecided() + AllTestsAdvice(r.Suite)}
	}
	problem = cmp.Or(r.otherTests(), r.otherInputs(), r.otherDeployment(root), r.unseenDeployments(), r.tooFew(root), r.fewerThanBefore(root))
	if problem != "" {
		return &FailedTests{NotWhole: problem + AllTestsAdvice(r.Suite)}
	}
	p := &failedtests.Plan{Of: last.Name, Ran: results.Ran(root.Status.Results), Tests: tests}
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.Name
	}
	if p.Names = results.SetOf(names); root != last {
		p.Root = root.Name
	}
	return &FailedTests{Plan: p}
}

// remaining returns the tests that failed in the run that ran all, or later, and that no later run of the chain has shown to pass.
func remaining(chain []Link) (left []results.FailedTest, problem string) {
	byName := map[string]results.FailedTest{}
	for _, link := range slices.Backward(chain) {
		passed := results.PassedAgain(link.Documents)
		maps.DeleteFunc(byName, func(name string, _ results.FailedTest) bool { return passed.Has(name) })
		r := link.Suite.Status.Results
		failed, problem := results.FailedIn(link.Documents, r.Tests, r.Failed)
		if problem == "" && link.Ambiguous != "" {
			problem = fmt.Sprintf("several of its tests have the name %q", link.Ambiguous)
		}
		if problem != "" {
			return nil, problem
		}
		for _, t := range failed {
			byName[t.Name] = t
		}
	}
	if len(byName) > results.MaxRerun {
		return nil, fmt.Sprintf("they are %d, and at most %d are repeated on their own", len(byName), results.MaxRerun)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		left = append(left, byName[name])
	}
	return left, ""
}

// FailedObstacle returns why the requested run could not be green, even if each failed test passed, as a sentence, or "". It asks what
// PlanFailed asks when the run starts, except for what may be known only then: reports, input files, and the results of runs that continue.
func FailedObstacle(r FailedRequest) string {
	chain := make([]*v1alpha1.Suite, len(r.Chain))
	for i, link := range r.Chain {
		chain[i] = link.Suite
	}
	if problem := ClaimProblem(r.Suite, chain); problem != "" {
		return problem
	}
	last, root := chain[0], chain[len(chain)-1]
	problem := r.undecided()
	if problem == "" && r.Digest != "" {
		problem = r.otherTests()
	}
	if problem = cmp.Or(problem, r.otherDeployment(root), r.unseenDeployments(), r.unknownVersion()); problem == "" {
		problem = r.tooFew(root)
	}
	if problem == "" && !suite.MayPass(root, r.Runs) {
		problem = r.fewerThanBefore(root)
	}
	if problem == "" {
		return ""
	}
	return problem + AllTestsAdvice(last)
}

// undecided says that no report decides whether a run passes.
func (r FailedRequest) undecided() string {
	if results := r.Trigger.Spec.Results; results != nil && results.Require != v1alpha1.RequireNothing {
		return ""
	}
	return fmt.Sprintf("The Trigger %q does not let the reports of its tests decide, so no tests can be repeated on their own.",
		r.Trigger.Name)
}

// otherTests says that the tests changed since.
func (r FailedRequest) otherTests() string {
	for _, link := range r.Chain {
		switch {
		case link.Digest == "":
			return fmt.Sprintf("The Job of the run %s is gone, so it is unknown whether its tests were those of the Trigger now.", link.Suite.Name)
		case link.Digest != r.Digest:
			return fmt.Sprintf("The Trigger or the Environment was changed after the run %s, so its tests may be others.", link.Suite.Name)
		}
	}
	return ""
}

// otherInputs says that what the tests are given changed since.
func (r FailedRequest) otherInputs() string {
	for _, link := range r.Chain {
		had := link.Suite.Status.Inputs
		if len(had) != len(r.Inputs) || len(had) > 0 && !equality.Semantic.DeepEqual(had, r.Inputs) {
			return fmt.Sprintf("An input file was uploaded again after the run %s.", link.Suite.Name)
		}
	}
	return ""
}

// otherDeployment says that something else was deployed since the tests of a run began.
func (r FailedRequest) otherDeployment(root *v1alpha1.Suite) string {
	begin := root.DeployedAt().Time
	if root.Status.StartTime != nil {
		begin = root.Status.StartTime.Time
	}
	if other := r.Ledger.Interrupted(root, begin, time.Time{}, root.Status.UnderTest != nil); other != nil {
		return fmt.Sprintf("After the run %s began, %s was deployed to the Environment.", root.Name, suite.CommitName(other.Commit))
	}
	return ""
}

// unseenDeployments says that something else may have been deployed without a Suite that shows it: no Trigger may have matched.
func (r FailedRequest) unseenDeployments() string {
	d := r.Suite.Spec.Deployment
	part := ledger.PartOf(r.Environment, d.Repository, d.Service)
	advice := workloadsAdvice
	if part.Service == "" && len(ledger.Services(r.Environment, part.Repository)) > 0 {
		advice = "The workloads of the Environment are of single services: name the service in notifications."
	}
	switch {
	case ledger.HasWorkloads(r.Environment, part):
		return ""
	case r.Trigger.Spec.Paused:
		return fmt.Sprintf("The Trigger %q is paused, so it is unknown what was deployed since. %s", r.Trigger.Name, advice)
	case match.MayMissDeployments(&r.Trigger.Spec):
		return fmt.Sprintf("The Trigger %q does not match all deployments to the Environment, so another one may have come since. %s",
			r.Trigger.Name, advice)
	default:
		return ""
	}
}

// workloadsAdvice helps no run that repeats tests of a run before: the versions that they had are unknown.
const workloadsAdvice = "Name the workloads of the Environment, which say what is deployed; later runs can then repeat their failed tests."

// unknownVersion asks what NoVersion asks when the run starts, as far as the Environment decides it.
func (r FailedRequest) unknownVersion() string {
	for _, link := range r.Chain {
		if problem := unknownVersion(link.Suite, len(r.Environment.Spec.Workloads) > 0); problem != "" {
			return problem
		}
	}
	return ""
}

// unknownVersion says that only the run, or only what is deployed now, has versions to compare.
func unknownVersion(link *v1alpha1.Suite, now bool) string {
	switch then := link.Status.UnderTest != nil && len(link.Status.UnderTest.Workloads) > 0; {
	case now && !then:
		return fmt.Sprintf("It is unknown which version the run %s tested.", link.Name)
	case then && !now:
		return fmt.Sprintf("It is unknown whether the Environment has the version that the run %s tested.", link.Name)
	default:
		return ""
	}
}

// tooFew says that fewer tests ran than the Trigger requires.
func (r FailedRequest) tooFew(root *v1alpha1.Suite) string {
	ran, least := results.Ran(root.Status.Results), r.Trigger.Spec.Results.MinTests
	if ran >= least {
		return ""
	}
	return fmt.Sprintf("Only %s of the run %s ran, and results.minTests of the Trigger is %d.", plaintext.Count(ran, "test"), root.Name, least)
}

// fewerThanBefore says that the run that ran all tests may not have: an option of its runner may have stopped it after some failures.
func (r FailedRequest) fewerThanBefore(root *v1alpha1.Suite) string {
	ran, least := results.Ran(root.Status.Results), r.Trigger.Spec.Results.MinTests
	before := suite.LastPassed(root, r.Runs)
	switch {
	case before == nil && least == 0:
		return fmt.Sprintf("Nothing shows that the %s of the run %s are all tests, because no run of the Trigger has passed. "+
			"Set results.minTests of the Trigger to their number; later runs can then repeat their failed tests.",
			plaintext.Count(ran, "test"), root.Name)
	case before == nil && root.Status.Results.Skipped > 0:
		return fmt.Sprintf("The run %s skipped %s, and no run of the Trigger has passed that shows whether these are always skipped, or were "+
			"because another one failed.",
			root.Name, plaintext.Count(root.Status.Results.Skipped, "test"))
	case before == nil:
		return ""
	case root.Status.Results.Skipped > before.Status.Results.Skipped:
		return fmt.Sprintf("The run %s skipped %s, and %s, which passed before, skipped %d: some may have been skipped because another one "+
			"failed.",
			root.Name, plaintext.Count(root.Status.Results.Skipped, "test"), before.Name, before.Status.Results.Skipped)
	}
	then := results.Ran(before.Status.Results)
	if least == 0 && ran < then || results.FewerOf(r.Trigger.Spec.Results).Far(ran, then) {
		return fmt.Sprintf("Only %s of the run %s ran, and %d of %s, which passed before: it may have stopped early.",
			plaintext.Count(ran, "test"), root.Name, then, before.Name)
	}
	return ""
}

// NoVersion is a sentence: why a run cannot be taken together with those of a chain, whose versions under test are compared with what there
// is now. changed compares two, and returns a sentence or "".
func NoVersion(
	s *v1alpha1.Suite, chain []*v1alpha1.Suite, tested []v1alpha1.TestedWorkload, changed func(before, now []v1alpha1.TestedWorkload) string,
) string {
	for _, link := range chain {
		if problem := unknownVersion(link, len(tested) > 0); problem != "" {
			return problem + AllTestsAdvice(s)
		}
		if len(tested) == 0 {
			continue
		}
		if change := changed(link.Status.UnderTest.Workloads, tested); change != "" {
			return fmt.Sprintf("What was tested changed after the run %s: %s%s", link.Name, change, AllTestsAdvice(s))
		}
	}
	return ""
}
