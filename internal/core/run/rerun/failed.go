package rerun

import (
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
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
	r, end := s.Status.Results, s.State()
	switch {
	case !s.Finished():
		return UnfinishedProblem(s)
	case state.Of(end).Green:
		return fmt.Sprintf("No test of the run %s is to be repeated: it passed.", s.Name)
	case end != v1alpha1.ReasonFailed:
		return fmt.Sprintf("The run %s ended as %s, so that not all of its tests ran, or not of what was deployed.%s", s.Name,
			end, AllTestsAdvice(s))
	case s.Spec.Deployment.SHA == "":
		return fmt.Sprintf("The run %s has no commit, so it is unknown whether another run tests the same.%s", s.Name, AllTestsAdvice(s))
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
	return " Repeat all tests: " + Command(s)
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
				"Create such runs with: %s", ref.Name, FailedCommand(chain[i]))
		case FailedProblem(chain[i]) != "":
			return FailedProblem(chain[i])
		}
		s = chain[i]
	}
	return ""
}

// FailedChain returns the runs whose failed tests a run repeats, the newest first, as far as they exist. get returns nil if there is no
// such run.
func FailedChain(s *v1alpha1.Suite, get func(name string) (*v1alpha1.Suite, error)) (chain []*v1alpha1.Suite, err error) {
	for ref := s.Spec.OnlyFailedOf; ref != nil && len(chain) <= MaxFailedChain; {
		earlier, err := get(ref.Name)
		if err != nil || earlier == nil {
			return chain, err
		}
		chain, ref = append(chain, earlier), earlier.Spec.OnlyFailedOf
	}
	return chain, nil
}

// FailedLinks returns the chain of a run with what its Jobs remember of their tests, but without what the store has. get and getJob return
// nil for what does not exist.
func FailedLinks(
	s *v1alpha1.Suite, get func(name string) (*v1alpha1.Suite, error), getJob func(name string) (*batchv1.Job, error),
) (links []Link, err error) {
	chain, err := FailedChain(s, get)
	if err != nil {
		return nil, err
	}
	for _, earlier := range chain {
		j, err := getJob(earlier.Name)
		if err != nil {
			return nil, err
		}
		links = append(links, Link{Suite: earlier, Digest: job.RecordedDigest(j, earlier)})
	}
	return links, nil
}

// isAttemptAfter reports whether a run is the attempt after another one, of the same.
func isAttemptAfter(s, before *v1alpha1.Suite) bool {
	return s.Namespace == before.Namespace && s.Spec.Trigger == before.Spec.Trigger && s.Spec.Environment == before.Spec.Environment &&
		s.Spec.Deployment == before.Spec.Deployment && maps.Equal(s.Spec.Variables, before.Spec.Variables) &&
		max(s.Spec.Attempt, 1) == max(before.Spec.Attempt, 1)+1 && !before.Restored()
}
