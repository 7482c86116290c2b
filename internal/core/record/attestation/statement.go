package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// What a Statement says of itself.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
	PayloadType   = "application/vnd.in-toto+json"
	BundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// The results.
const (
	Passed = "PASSED"
	Warned = "WARNED" // it passed, although tests failed
	Failed = "FAILED"
)

// The algorithms of digests.
const (
	GitCommit = "gitCommit"
	SHA256    = "sha256"
)

// Statement is what is signed.
type Statement struct {
	Type          string       `json:"_type"`
	Subject       []Descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     Predicate    `json:"predicate"`
}

// Predicate is a test result.
type Predicate struct {
	Result        string       `json:"result"`
	Configuration []Descriptor `json:"configuration"` // the Trigger, the Environment and the run
	URL           string       `json:"url,omitempty"`
	PassedTests   []string     `json:"passedTests,omitempty"`
	WarnedTests   []string     `json:"warnedTests,omitempty"`
	FailedTests   []string     `json:"failedTests,omitempty"`
}

// Descriptor is a resource.
type Descriptor struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations *Annotations      `json:"annotations,omitempty"`
}

// Annotations of the descriptor of the run.
type Annotations struct {
	Postflight *Details `json:"postflight,omitempty"`
}

// Details are of a run.
type Details struct {
	Run          string     `json:"run"`
	Team         string     `json:"team"`
	Namespace    string     `json:"namespace"`
	Trigger      string     `json:"trigger"`
	Environment  string     `json:"environment"`
	Repository   string     `json:"repository,omitempty"`
	Service      string     `json:"service,omitempty"`
	Revision     string     `json:"revision,omitempty"` // as it was notified
	State        string     `json:"state"`              // Passed, Failed or TimedOut
	DecidedBy    string     `json:"decidedBy,omitempty"`
	Origin       string     `json:"origin"`
	Attempt      int32      `json:"attempt"`
	Retries      int32      `json:"retries,omitempty"`      // attempts before this one that the cluster ended
	Repeats      string     `json:"repeats,omitempty"`      // the run without a result that this one repeats
	OnlyFailedOf string     `json:"onlyFailedOf,omitempty"` // the run of all tests whose failed ones this one repeats, and only these
	CreatedAt    time.Time  `json:"createdAt"`
	StartedAt    *time.Time `json:"startedAt,omitempty"`
	EndedAt      time.Time  `json:"endedAt"`

	Tests       *Counts      `json:"tests,omitempty"` // absent: no report lists any
	Quarantines []Quarantine `json:"quarantines,omitempty"`
	Problem     string       `json:"problem,omitempty"` // a sentence: what is missing from the results
	Omitted     *Omitted     `json:"omitted,omitempty"` // absent: the lists name all tests
}

// Counts of the tests of a run.
type Counts struct {
	Tests       int32 `json:"tests"`
	Passed      int32 `json:"passed"`
	Failed      int32 `json:"failed"` // quarantined ones included
	Quarantined int32 `json:"quarantined,omitempty"`
	Skipped     int32 `json:"skipped,omitempty"`
	Flaky       int32 `json:"flaky,omitempty"`
	Expected    int32 `json:"expected,omitempty"` // in the last run that passed, if far fewer ran in this one
}

// Quarantine of tests whose failures did not count.
type Quarantine struct {
	Name    string `json:"name"`
	Until   string `json:"until"`
	Expired bool   `json:"expired,omitempty"` // its tests counted
	Tests   int32  `json:"tests"`
}

// Omitted says how many tests the lists of the predicate do not name.
type Omitted struct {
	Passed int32 `json:"passed,omitempty"`
	Warned int32 `json:"warned,omitempty"`
	Failed int32 `json:"failed,omitempty"`
}

// Encode returns the payload. The same Statement has the same bytes.
func (s Statement) Encode() ([]byte, error) { return json.Marshal(s) }

// Parse reads a payload whose signature was verified.
func Parse(payload []byte) (Statement, error) {
	var s Statement
	if len(payload) > MaxPayload {
		return s, fmt.Errorf("the signed statement has %d bytes, and at most %d are read", len(payload), MaxPayload)
	}
	if err := json.Unmarshal(payload, &s); err != nil {
		return s, fmt.Errorf("the signed statement cannot be read: %w", err)
	}
	switch {
	case s.Type != StatementType:
		return s, fmt.Errorf("what was signed is no in-toto Statement v1, but %q", s.Type)
	case s.PredicateType != PredicateType:
		return s, fmt.Errorf("what was signed is no test result, but %q", s.PredicateType)
	case s.Details() == nil:
		return s, errors.New("the test result is not one of Postflight: it names no run")
	}
	return s, nil
}

// Details of the run; nil if it names none.
func (s Statement) Details() *Details {
	for _, d := range s.Predicate.Configuration {
		if d.Annotations != nil && d.Annotations.Postflight != nil && d.Annotations.Postflight.Run != "" {
			return d.Annotations.Postflight
		}
	}
	return nil
}

// About reports whether a digest is a subject.
func (s Statement) About(algorithm, digest string) bool {
	return digest != "" && slices.ContainsFunc(s.Subject, func(d Descriptor) bool { return d.Digest[algorithm] == digest })
}
