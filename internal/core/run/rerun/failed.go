package rerun

import (
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

// MaxFailedChain bounds how many runs in a row repeat only the failed tests of the one before: each reads the documents of all.
const MaxFailedChain = 10

// NextFailed returns the attempt that repeats only the failed tests of a run that has ended, or a sentence why there can be none.
func NextFailed(s *v1alpha1.Suite, t *v1alpha1.Trigger, by string) (next *v1alpha1.Suite, problem string) {
	if problem = FailedProblem(s); problem != "" {
		return nil, problem
	}
	if next, problem = NextAttempt(s, t, by); problem != "" {
		return nil, problem
	}
	if s.Spec.Trigger.UID != t.UID {
		return nil, fmt.Sprintf("The Trigger %q may have been deleted and created again after the run, so its tests may be others.%s", t.Name,
			AllTestsAdvice(s))
	}
	next.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: s.Name, UID: s.UID}
	return next, ""
}

// FailedProblem returns why nobody can repeat only the failed tests of a run, as a sentence, or "".
func FailedProblem(s *v1alpha1.Suite) string {
	r, state := s.Status.Results, s.State()
	switch {
	case !s.Finished():
		return UnfinishedProblem(s)
	case s.Passed():
		return fmt.Sprintf("No test of the run %s is to be repeated: it passed.", s.Name)
	case state != v1alpha1.ReasonFailed:
		return fmt.Sprintf("The run %s ended as %s, so that not all of its tests ran, or not of what was deployed.%s", s.Name,
			state, AllTestsAdvice(s))
	case s.Spec.Deployment.SHA == "":
		return fmt.Sprintf("The run %s has no commit, so nobody knows whether another run tests the same.%s", s.Name, AllTestsAdvice(s))
	case r == nil || r.Failed == 0:
		return fmt.Sprintf("The run %s has no report that names failed tests.%s", s.Name, AllTestsAdvice(s))
	case r.Failed > results.MaxRerun:
		return fmt.Sprintf("%d tests of the run %s failed, and at most %d are repeated on their own.%s", r.Failed, s.Name, results.MaxRerun,
			AllTestsAdvice(s))
	case !r.OnlyTestsFailed:
		return fmt.Sprintf("More than tests failed in the run %s, or its pods did not all run to their end and report whole, "+
			"so that tests may be missing.%s", s.Name, AllTestsAdvice(s))
	default:
		return ""
	}
}

// AllTestsAdvice is the advice to run all tests of a run, as a sentence after another one.
func AllTestsAdvice(s *v1alpha1.Suite) string {
	return " Repeat all tests: postflight runs rerun " + s.Name
}

// FailedTests is what is known of the failed tests that a run repeats.
type FailedTests struct {
	Plan        *failedtests.Plan
	Unavailable string // a clause: why the store cannot be read at the moment
	Impossible  string // a sentence: why the run cannot rerun the failed tests of the run that it names
	NotWhole    string // a sentence: why the two cannot be taken together
}

// Link is a run whose failed tests another run repeats.
type Link struct {
	Suite     *v1alpha1.Suite
	Documents []results.Document
	Digest    string // of what defines its tests; "": its Job is gone
	Ambiguous string // the name of a failed test that other tests of the run have, too; "" if none is known
}

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

// ClaimProblem returns why a run cannot repeat the failed tests of those that it names, as a sentence, or "". It names the first of
// the chain, that one names the second, and so on, as far as they exist. Anyone who creates Suites may write the name.
func ClaimProblem(s *v1alpha1.Suite, chain []*v1alpha1.Suite) string {
	for i := 0; s.Spec.OnlyFailedOf != nil; i++ {
		ref := s.Spec.OnlyFailedOf
		switch {
		case i == MaxFailedChain:
			return fmt.Sprintf("%d runs in a row repeated only the failed tests of the one before. Repeat all tests: notify again, and request a "+
				"rerun.", MaxFailedChain)
		case i == len(chain) || chain[i].Name != ref.Name || chain[i].UID != ref.UID || chain[i].DeletionTimestamp != nil:
			return fmt.Sprintf("The run %s, whose failed tests were to be repeated, does not exist any more. Notify again, and request a rerun, "+
				"to repeat all.", ref.Name)
		case !isAttemptAfter(s, chain[i]):
			return fmt.Sprintf("The run %s is not the attempt before this one of the same commit, Trigger and Environment, with the same "+
				"variables and URL. "+
				"Create such runs with: postflight runs rerun %s --failed", ref.Name, ref.Name)
		case FailedProblem(chain[i]) != "":
			return FailedProblem(chain[i])
		}
		s = chain[i]
	}
	return ""
}

// isAttemptAfter reports whether a run is the attempt after another one, of the same.
func isAttemptAfter(s, before *v1alpha1.Suite) bool {
	return s.Namespace == before.Namespace && s.Spec.Trigger == before.Spec.Trigger && s.Spec.Environment == before.Spec.Environment &&
		s.Spec.Deployment == before.Spec.Deployment && maps.Equal(s.Spec.Variables, before.Spec.Variables) &&
		max(s.Spec.Attempt, 1) == max(before.Spec.Attempt, 1)+1 && !before.Restored()
}

// PlanFailed decides which tests a run repeats, or why it cannot count together with the runs of the chain. ClaimProblem was "".
func PlanFailed(r FailedRequest) *FailedTests {
	last, root := r.Chain[0].Suite, r.Chain[len(r.Chain)-1].Suite
	tests, problem := remaining(r.Chain)
	switch {
	case problem != "":
		return &FailedTests{Impossible: fmt.Sprintf("The failed tests of the run %s are not known: %s.%s", last.Name, problem,
			AllTestsAdvice(r.Suite))}
	case r.Trigger.Spec.Results == nil || r.Trigger.Spec.Results.Require == v1alpha1.RequireNothing:
		return &FailedTests{Impossible: fmt.Sprintf(
			"The Trigger %q does not let the reports of its tests decide, so no tests can be repeated on their own.%s", r.Trigger.Name,
			AllTestsAdvice(r.Suite))}
	}
	for _, problem := range []string{r.otherTests(), r.otherDeployment(root), r.unseenDeployments(), r.tooFew(root)} {
		if problem != "" {
			return &FailedTests{NotWhole: problem + AllTestsAdvice(r.Suite)}
		}
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

// otherTests says that the tests, or what they are given, changed since.
func (r FailedRequest) otherTests() string {
	for _, link := range r.Chain {
		switch {
		case link.Digest == "":
			return fmt.Sprintf("The Job of the run %s is gone, so nobody knows whether its tests were those of the Trigger now.", link.Suite.Name)
		case link.Digest != r.Digest:
			return fmt.Sprintf("The Trigger or the Environment was changed after the run %s, so its tests may be others.", link.Suite.Name)
		case len(link.Suite.Status.Inputs) != len(r.Inputs) || len(r.Inputs) > 0 &&
			!equality.Semantic.DeepEqual(link.Suite.Status.Inputs, r.Inputs):
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
	switch {
	case ledger.HasWorkloads(r.Environment, ledger.PartOf(r.Environment, d.Repository, d.Service)):
		return ""
	case r.Trigger.Spec.Paused:
		return fmt.Sprintf("The Trigger %q is paused, so nobody knows what was deployed since. Name the workloads of the Environment, which "+
			"say it.", r.Trigger.Name)
	case match.MayMissDeployments(&r.Trigger.Spec):
		return fmt.Sprintf("The Trigger %q does not match all deployments to the Environment, so another one may have come since. "+
			"Name the workloads of the Environment, which say what is deployed.", r.Trigger.Name)
	default:
		return ""
	}
}

// tooFew says that the run that ran all tests may not have: an option of its runner may have stopped it after some failures.
func (r FailedRequest) tooFew(root *v1alpha1.Suite) string {
	ran, least := results.Ran(root.Status.Results), r.Trigger.Spec.Results.MinTests
	before := suite.LastPassed(root, r.Runs)
	switch {
	case least > 0 && ran < least:
		return fmt.Sprintf("Only %s of the run %s ran, and results.minTests of the Trigger is %d.", plaintext.Count(ran, "test"), root.Name,
			least)
	case before == nil && least == 0:
		return fmt.Sprintf("Nothing says that the %s of the run %s are all, because no run of the Trigger has passed. Set results.minTests of "+
			"the Trigger to their number.",
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
		known := link.Status.UnderTest != nil && len(link.Status.UnderTest.Workloads) > 0
		switch {
		case !known && len(tested) == 0:
			continue
		case !known:
			return fmt.Sprintf("Nobody knows which version the run %s tested.%s", link.Name, AllTestsAdvice(s))
		case len(tested) == 0:
			return fmt.Sprintf("Nobody knows whether the Environment has the version that the run %s tested.%s", link.Name, AllTestsAdvice(s))
		}
		if change := changed(link.Status.UnderTest.Workloads, tested); change != "" {
			return fmt.Sprintf("What was tested changed after the run %s: %s%s", link.Name, change, AllTestsAdvice(s))
		}
	}
	return ""
}
