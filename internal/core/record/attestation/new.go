package attestation

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Why a run whose verdict could be signed has no signed verdict.
const (
	NoKey = "This server signs no verdicts. Ask the operator of Postflight to set --attestation-key-file; " +
		"runs that have ended by then stay unsigned."
	NoStore = "There is no object store that keeps signed verdicts. Ask the operator of Postflight to set --store-bucket and --store-endpoint."
	NotYet  = "The verdict is signed when the run is archived, mostly within seconds of its end. Ask again in a few seconds."

	NeverSigned = "The run was archived before this server signed verdicts. Run the tests again to get a signed verdict."
)

// Unsigned returns a sentence that says why a run has no Statement, or "".
func Unsigned(s *v1alpha1.Suite) string {
	switch {
	case !s.Finished():
		return "The run has not ended yet."
	case !state.Of(s.State()).Result:
		return fmt.Sprintf("The run ended as %s, which is no verdict. Only runs that end as %s are signed.", s.State(),
			plaintext.Alternatives(verdicts()))
	case len(subjects(s)) == 0:
		return "Nothing identifies what the run tested: its sha is not the full SHA of a commit, and of no image of its deployment " +
			"it is known that it ran from start to end."
	default:
		return ""
	}
}

func verdicts() (reasons []string) {
	for _, r := range state.All() {
		if r.Result {
			reasons = append(reasons, r.Reason)
		}
	}
	return reasons
}

// New returns the Statement of a run that is not Unsigned. The URL leads to its page, or is empty. Without tests, it names the tests of
// the status.
func New(team string, s *v1alpha1.Suite, url string, tests *Tests) Statement {
	r := record.RunOf(team, s)
	if tests == nil {
		tests = testsOf(r.Results)
	}
	lists := tests.lists()
	details := detailsOf(r)
	details.Omitted = omitted(r.Results, lists)
	object := func(kind, name string) string {
		return "kubernetes:///apis/" + v1alpha1.GroupVersion.String() + "/namespaces/" + r.Namespace + "/" + kind + "/" + name
	}
	return Statement{
		Type: StatementType, Subject: subjects(s), PredicateType: PredicateType,
		Predicate: Predicate{
			Result: resultOf(s, lists), URL: url,
			Configuration: []Descriptor{
				{Name: "trigger/" + r.Trigger, URI: object("triggers", r.Trigger)},
				{Name: "environment/" + r.Environment, URI: object("environments", r.Environment)},
				{Name: "run/" + r.ID, URI: object("suites", r.ID), Annotations: &Annotations{Postflight: details}},
			},
			PassedTests: lists.passed, WarnedTests: lists.warned, FailedTests: lists.failed,
		},
	}
}

// resultOf says PASSED only if no test failed: an exit code may have decided, or a Quarantine excused them.
func resultOf(s *v1alpha1.Suite, l lists) string {
	results := s.Status.Results
	switch {
	case !state.Of(s.State()).Green:
		return Failed
	case results != nil && results.Failed > 0, len(l.failed)+len(l.warned) > 0:
		return Warned
	default:
		return Passed
	}
}

var sha256Digest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// subjects are the commit and the images, each digest once. An abbreviated SHA is no subject: another commit may begin with it.
func subjects(s *v1alpha1.Suite) (all []Descriptor) {
	d := s.Spec.Deployment
	if commit.IsSHA(d.SHA) {
		all = append(all, Descriptor{
			Name: plaintext.Line(d.Repository, maxName), Digest: map[string]string{GitCommit: commit.NormalSHA(d.SHA)},
		})
	}
	seen := map[string]bool{}
	for _, image := range workloads.Images(s.Status.UnderTest, d) {
		digest := sha256Digest.FindStringSubmatch(image.Digest)
		if digest == nil || seen[digest[1]] {
			continue
		}
		seen[digest[1]] = true
		name := strings.Join([]string{image.Namespace, image.Kind, image.Name, image.Container}, "/")
		all = append(all, Descriptor{Name: plaintext.Line(name, maxName), Digest: map[string]string{SHA256: digest[1]}})
	}
	return all
}

func detailsOf(r httpapi.Run) *Details {
	d := &Details{
		Run: r.ID, Team: r.Team, Namespace: r.Namespace, Trigger: r.Trigger, Environment: r.Environment,
		Repository: plaintext.Line(r.Repository, maxText), Service: plaintext.Line(r.Service, maxText), Revision: plaintext.Line(r.SHA, maxText),
		State: r.State, DecidedBy: r.DecidedBy, Origin: r.Origin, Attempt: r.Attempt,
		Retries: r.Retries, Repeats: plaintext.Line(r.Repeats, maxText), OnlyFailedOf: r.OnlyFailedOf,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, Problem: plaintext.Line(r.ResultsProblem, maxText),
	}
	if r.EndedAt != nil {
		d.EndedAt = *r.EndedAt
	}
	if t := r.Results; t != nil {
		d.Tests = &Counts{
			Tests: t.Tests, Passed: t.Passed, Failed: t.Failed, Quarantined: t.Quarantined, Skipped: t.Skipped, Flaky: t.Flaky,
			Expected: t.TestsExpected,
		}
		for _, q := range t.Quarantines {
			d.Quarantines = append(d.Quarantines, Quarantine(q))
		}
	}
	return d
}
