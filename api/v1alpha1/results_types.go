package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResultsRequirement is what a run needs in order to pass, besides exit code 0.
//
// +kubebuilder:validation:Enum=Tests;Report;Nothing
type ResultsRequirement string

// The requirements.
const (
	RequireTests   ResultsRequirement = "Tests"
	RequireReport  ResultsRequirement = "Report"
	RequireNothing ResultsRequirement = "Nothing"
)

// FewerTestsPolicy is what happens if far fewer tests ran than before.
//
// +kubebuilder:validation:Enum=Report;Fail
type FewerTestsPolicy string

// The policies.
const (
	FewerTestsReport FewerTestsPolicy = "Report"
	FewerTestsFail   FewerTestsPolicy = "Fail"
)

// DefaultFewerTestsPercent is the fewerTestsPercent of a Trigger that has none.
const DefaultFewerTestsPercent = 20

// AttemptsPolicy is what counts if reports list several attempts at one test.
//
// +kubebuilder:validation:Enum=All;Last
type AttemptsPolicy string

// The policies.
const (
	AttemptsAll  AttemptsPolicy = "All"
	AttemptsLast AttemptsPolicy = "Last"
)

// Results are the files that the tests of a run write, and what their reports must show.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minTests) || !has(self.require) || self.require == 'Tests'",message="minTests needs require: Tests"
// +kubebuilder:validation:XValidation:rule="!has(self.fewerTests) || !has(self.require) || self.require != 'Nothing'",message="fewerTests needs require: Tests or Report"
type Results struct {
	// require is what a run needs in order to pass, besides exit code 0 of all containers. Tests, the default: the JUnit
	// reports of its pods could be read whole, no test in them failed, and at least minTests were not skipped. Report:
	// the same, but all tests may be skipped, and the reports may be empty. Nothing: the exit code alone decides, and the
	// message of the run says so.
	// +optional
	Require ResultsRequirement `json:"require,omitempty"`

	// minTests is how many tests that were not skipped the reports of all pods must have together, from 1 to 1,000,000.
	// Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MinTests int32 `json:"minTests,omitempty"`

	// fewerTests is what happens if far fewer tests ran than in the last run of the same Trigger, Environment, service and
	// variables that passed. Report, the default: the run passes, and its message, page and check say so. Fail: it fails.
	// +optional
	FewerTests FewerTestsPolicy `json:"fewerTests,omitempty"`

	// fewerTestsPercent is the share of the tests of that run, from 1 to 100 percent, which have to be missing for that.
	// Defaults to 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FewerTestsPercent int32 `json:"fewerTestsPercent,omitempty"`

	// attempts is what counts if a test runner repeats failed tests, and lists each attempt as a test of its own: several
	// of one name in a report, or reports in folders of attempts. All, the default: each counts. Last: the last one
	// decides, and a test that failed before is flaky.
	// +optional
	Attempts AttemptsPolicy `json:"attempts,omitempty"`

	// directory in the pod into which the tests write, an absolute path. The variable POSTFLIGHT_RESULTS_DIR
	// names it. Each pod has its own. Defaults to /postflight/results.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9_.-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '.' || s == '..')",message="directory must be an absolute path without . and .. segments"
	Directory string `json:"directory,omitempty"`

	// sizeLimit of the directory, from 1Mi to 1Ti. Kubernetes evicts a pod whose directory grows larger. At
	// most 2 GiB of it are kept. Defaults to 4Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Ti')) <= 0",message="sizeLimit must be from 1Mi to 1Ti"
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty"`
}

// TestResults count the tests of a run.
type TestResults struct {
	// tests that the reports list: the sum of passed, failed and skipped.
	// +required
	// +kubebuilder:validation:Minimum=0
	Tests int32 `json:"tests"`

	// passed tests, flaky ones included.
	// +required
	// +kubebuilder:validation:Minimum=0
	Passed int32 `json:"passed"`

	// failed tests.
	// +required
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed"`

	// quarantined are failed tests that a Quarantine names, so that they do not fail the run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Quarantined int32 `json:"quarantined,omitempty"`

	// skipped tests.
	// +required
	// +kubebuilder:validation:Minimum=0
	Skipped int32 `json:"skipped"`

	// flaky tests: they failed, were repeated, and passed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Flaky int32 `json:"flaky,omitempty"`

	// expected is how many tests ran in the last run of the same Trigger, Environment, service and variables that passed. It is
	// absent unless far fewer ran in this one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Expected int32 `json:"expected,omitempty"`

	// duration of all tests together, in whole milliseconds, which is longer than the run if they run in parallel.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="duration must be one that Go can read"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// comparedWith names the run that the failures are compared with: the last finished one of the same
	// Trigger, Environment and service that had results. Empty: there was none, or it could not be read.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ComparedWith string `json:"comparedWith,omitempty"`

	// newFailures are failed tests that did not fail in the run compared with.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NewFailures int32 `json:"newFailures,omitempty"`

	// knownFailures are failed tests that failed there, too.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KnownFailures int32 `json:"knownFailures,omitempty"`

	// fixed tests failed there, and passed in this run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Fixed int32 `json:"fixed,omitempty"`

	// onlyTestsFailed reports of a failed run that nothing but tests failed, and that all its pods ran to their end and reported whole: a
	// rerun of the failed tests can complete it.
	// +optional
	OnlyTestsFailed bool `json:"onlyTestsFailed,omitempty"`

	// failures are the first failed tests: first those that no Quarantine names, and of these the new ones first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Failures []TestFailure `json:"failures,omitempty"`

	// flakyTests are the names of the first flaky tests, each at most 512 bytes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=512
	FlakyTests []string `json:"flakyTests,omitempty"`

	// quarantines that the run applied, and those that had expired when its Job was created.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	Quarantines []AppliedQuarantine `json:"quarantines,omitempty"`
}

// AppliedQuarantine is a Quarantine as a run found it.
type AppliedQuarantine struct {
	// name of the Quarantine.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// until is the day on which its tests count again, in UTC.
	// +required
	// +kubebuilder:validation:MaxLength=10
	Until string `json:"until"`

	// expired: its tests counted in this run.
	// +optional
	Expired bool `json:"expired,omitempty"`

	// tests that ran and that it names.
	// +required
	// +kubebuilder:validation:Minimum=0
	Tests int32 `json:"tests"`
}

// TestFailure is a test that failed.
type TestFailure struct {
	// name of the test, with the name of its class or file if the report has one, at most 512 bytes.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`

	// file that the report names, at most 512 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	File string `json:"file,omitempty"`

	// line of the file, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Line int32 `json:"line,omitempty"`

	// message of the failure: its first line, at most 1,024 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// history says whether the test failed in the run compared with, too. Empty: that is unknown.
	// +optional
	History FailureHistory `json:"history,omitempty"`

	// quarantine is the name of the Quarantine that names the test: its failure does not fail the run. Empty: it counts.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Quarantine string `json:"quarantine,omitempty"`

	// expiredQuarantine is the name of a Quarantine that names the test and has expired: its failure counts.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ExpiredQuarantine string `json:"expiredQuarantine,omitempty"`
}

// FailureHistory says whether a test failed before.
//
// +kubebuilder:validation:Enum=New;Known
type FailureHistory string

// The histories of a failure.
const (
	FailureNew   FailureHistory = "New"
	FailureKnown FailureHistory = "Known"
)

// Artifacts are the files of a run in the object store.
type Artifacts struct {
	// count of the files.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// bytes of all files together.
	// +required
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes"`

	// prefix of their keys in the bucket, which starts with the team's id.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix"`
}
