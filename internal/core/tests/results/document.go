package results

import (
	"encoding/json"
	"fmt"
	"time"
)

// Document is what the collector of a pod uploads, as JSON: the tests and the files of the pod.
type Document struct {
	Run     string    `json:"run"`
	Index   *int      `json:"index,omitempty"` // completion index
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Counts
	Failures    []Failure `json:"failures"`                 // the first 1,000, new ones first
	FlakyTests  []string  `json:"flakyTests,omitempty"`     // names of the first 20
	PassedTests NameSet   `json:"passedTests,omitempty"`    // of at most 400; empty: they are too many
	NamesDigest string    `json:"namesDigest,omitempty"`    // of all tests that ran, as of a Summary
	RerunPassed NameSet   `json:"repeatedPassed,omitempty"` // tests that the run was to repeat, and that passed and did not fail
	Files       []File    `json:"files"`                    // that were uploaded
	Problems    []string  `json:"problems"`                 // sentences: which files and reports were lost, and why
}

// File is an artifact.
type File struct {
	Path  string `json:"path"` // below the results directory, with slashes
	Bytes int64  `json:"bytes"`
}

// ParseDocument reads a document that a container of the team may have written.
func ParseDocument(content []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(content, &d); err != nil {
		return Document{}, fmt.Errorf("the results document is not valid: %w", err)
	}
	s := clean(Summary{
		Counts: d.Counts, FlakyTests: d.FlakyTests, PassedTests: d.PassedTests, NamesDigest: d.NamesDigest, RerunPassed: d.RerunPassed,
	})
	d.Counts, d.FlakyTests, d.PassedTests = s.Counts, s.FlakyTests, s.PassedTests
	d.NamesDigest, d.RerunPassed = s.NamesDigest, s.RerunPassed
	d.Failures = d.Failures[:min(len(d.Failures), maxFailures, int(d.Failed))]
	for i, f := range d.Failures {
		d.Failures[i] = cleanDetails(f)
	}
	return d, nil
}

// ToCompare drops what Compare does not need, which is most of the document.
func (d Document) ToCompare() Document {
	names := make([]Failure, len(d.Failures))
	for i, f := range d.Failures {
		names[i].Name = f.Name
	}
	d.Failures, d.Files, d.Problems = names, nil, nil
	return d
}

func podsOf(documents []Document) []Pod {
	pods := make([]Pod, len(documents))
	for i, d := range documents {
		pods[i] = d.pod()
	}
	return pods
}

// pod treats a pod with failed tests as failed, because a later one may have repeated them.
func (d Document) pod() Pod {
	failures := make([]string, len(d.Failures))
	for i, f := range d.Failures {
		failures[i] = f.Name
	}
	return Pod{
		Index: d.Index, Started: d.Started, Ended: d.Ended, Failed: d.Failed > 0,
		Summary: Summary{
			Counts: d.Counts, Failures: Brief(d.Failures), FlakyTests: d.FlakyTests, PassedTests: d.PassedTests,
			FailedTests: SetOf(failures).known(d.Failed), NamesDigest: d.NamesDigest, RerunPassed: d.RerunPassed,
		},
	}
}
