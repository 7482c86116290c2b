package results

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Explanation holds what is known of the failures in the status of a run.
type Explanation struct {
	Failures []Explained // in the order of the status
	Flaky    []string    // names of the first 20 flaky tests
}

// Explained is a failure with the details from a pod's document; without details, Pod is empty.
type Explained struct {
	Failure
	Pod   string
	Files []File // its attachments
}

// Explainer finds the failures of a status in documents. It keeps only the names of other tests.
type Explainer struct {
	status  *v1alpha1.TestResults
	pods    []Pod
	details map[string]Explained // by name
	started map[string]time.Time // the pod of these details
}

// NewExplainer returns an Explainer of the tests of a run.
func NewExplainer(status *v1alpha1.TestResults) *Explainer {
	return &Explainer{status: status, details: map[string]Explained{}, started: map[string]time.Time{}}
}

// Add takes the details from the document of a pod. Of several pods in which a test failed, the last counts.
func (e *Explainer) Add(pod string, d Document) {
	for _, f := range d.Failures {
		known := slices.ContainsFunc(e.status.Failures, func(s v1alpha1.TestFailure) bool { return s.Name == f.Name })
		if known && !d.Started.Before(e.started[f.Name]) {
			e.details[f.Name], e.started[f.Name] = Explained{f, pod, filesAt(f.Attachments, d.Files)}, d.Started
		}
	}
	e.pods = append(e.pods, d.ToCompare().pod())
}

func filesAt(paths []string, all []File) (files []File) {
	for _, path := range paths {
		if i := slices.IndexFunc(all, func(f File) bool { return f.Path == path }); i >= 0 {
			files = append(files, all[i])
		}
	}
	return files
}

// Explanation returns what the documents added so far say.
func (e *Explainer) Explanation() Explanation {
	all := Explanation{Flaky: e.status.FlakyTests}
	for _, f := range e.status.Failures {
		explained, found := e.details[f.Name]
		if !found {
			explained.TestFailure = f
		}
		explained.History, explained.Quarantine, explained.ExpiredQuarantine = f.History, f.Quarantine, f.ExpiredQuarantine
		all.Failures = append(all.Failures, explained)
	}
	if flaky := Merge(e.pods).FlakyTests; len(flaky) > len(all.Flaky) {
		all.Flaky = flaky[:min(len(flaky), int(e.status.Flaky))]
	}
	return all
}
