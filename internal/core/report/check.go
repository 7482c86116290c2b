package report

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Check is what a code host shows about a run.
type Check struct {
	Name       string // constant per Trigger, Environment and service, so that it can be required
	ExternalID string // the UID of the Suite
	DetailsURL string // the run's page; empty without a public URL
	Phase      v1alpha1.ReportPhase
	State      string // of the run: the reason of its Succeeded condition

	Quarantined bool // the run passed, with quarantined failures

	Title       string // one line of plain text
	Summary     string // Markdown
	Annotations []Annotation

	StartedAt, CompletedAt time.Time // zero: not yet
}

// Annotation is a failed test at a line of a file.
type Annotation struct {
	Path    string // relative to the root of the repository
	Line    int
	Title   string
	Message string

	Quarantined bool // it does not fail the run
}

// Options are those of the installation.
type Options struct {
	PublicURL   string // of the run pages; may be empty
	ClusterName string // distinguishes the checks and events of several clusters; may be empty
}

// Page is the address of a run's page, or "".
func (o Options) Page(s *v1alpha1.Suite) string {
	if o.PublicURL == "" {
		return ""
	}
	return suite.PageURL(o.PublicURL, s.Namespace, s.Name)
}

// Of is the check of a Suite.
func Of(s *v1alpha1.Suite, o Options) Check {
	c := Check{
		Name:       Name(s, o.ClusterName),
		ExternalID: string(s.UID),
		Phase:      PhaseOf(s),
		State:      shownState(s),
		Title:      title(s),
	}
	c.DetailsURL = pageOf(s, o)
	c.Summary = summary(s, c.DetailsURL)
	if c.Phase == v1alpha1.ReportCompleted {
		c.Annotations = annotations(s.Status.Results)
		c.CompletedAt = timeOf(s.Status.CompletionTime)
	}
	c.Quarantined = verdict.RunPassed(s) && s.Status.Results != nil && s.Status.Results.Quarantined > 0
	c.StartedAt = timeOf(s.Status.StartTime)
	return c
}

// shownState shows a run without a result that another run repeats as what it is: no failure.
func shownState(s *v1alpha1.Suite) string {
	if s.Retried() {
		return v1alpha1.ReasonInconclusive
	}
	return s.State()
}

// Name is the name of the check. All parts but the last are DNS labels, so two names never look the same.
func Name(s *v1alpha1.Suite, cluster string) string {
	name := fmt.Sprintf("postflight/%s (%s)", s.Spec.Trigger.Name, s.Spec.Environment)
	if service := s.Spec.Deployment.Service; service != "" {
		name += " " + shortService(service)
	}
	if cluster != "" {
		return cluster + "/" + name
	}
	return name
}

// shortService ends in a hash if it is not the whole name of the service, so that each service has a check.
func shortService(service string) string {
	if len(service) <= maxService && mute(service, maxService) == service {
		return service
	}
	digest := suite.Hash(service)
	return mute(service, maxService-len(digest)-1) + " " + digest
}

// PhaseOf is the phase that the state of a run asks for.
func PhaseOf(s *v1alpha1.Suite) v1alpha1.ReportPhase {
	switch {
	case s.Finished():
		return v1alpha1.ReportCompleted
	case state.Of(s.State()).Phase == v1alpha1.ReportInProgress:
		return v1alpha1.ReportInProgress
	default:
		return v1alpha1.ReportQueued
	}
}

// title has no mention for which a code host would notify a person.
func title(s *v1alpha1.Suite) string {
	if !s.Finished() {
		return phaseInWords(s)
	}
	return mute(outcome(s)+": "+failure.Summary(s), maxTitle)
}

func phaseInWords(s *v1alpha1.Suite) string {
	if PhaseOf(s) == v1alpha1.ReportQueued {
		return "Queued"
	}
	return "The tests are running"
}

// outcome names the state of a run that has ended. A state that only a later version knows has no outcome.
func outcome(s *v1alpha1.Suite) string {
	row := state.Of(s.State())
	return cmp.Or(row.Outcome, row.Label)
}

func annotations(r *v1alpha1.TestResults) (list []Annotation) {
	if r == nil {
		return nil
	}
	for _, f := range r.Failures {
		file := repositoryPath(f.File)
		if file == "" || f.Line < 1 || len(list) == maxAnnotations {
			continue
		}
		text := cmp.Or(plaintext.Line(f.Message, maxTestMessage), "The test failed.")
		list = append(list, Annotation{
			Path: file, Line: int(f.Line), Title: plaintext.Line(f.Name, maxAnnotationTitle), Message: text, Quarantined: f.Quarantine != "",
		})
	}
	return list
}

// repositoryPath is relative to the root of the repository, or "" for a file elsewhere, such as an absolute path of the pod.
func repositoryPath(file string) string {
	clean := path.Clean(file)
	if file == "" || path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsAny(clean, "\\\x00") || plaintext.Line(clean, maxPath) != clean {
		return ""
	}
	return clean
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
