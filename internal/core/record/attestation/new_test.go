package attestation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

var (
	tuesday = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	digest  = strings.Repeat("ab", 32)
	other   = strings.Repeat("cd", 32)
)

// suite is a run of acme/shop that ended.
func suite(end metav1.Condition, changes ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "smoke-1", CreationTimestamp: metav1.NewTime(tuesday)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Attempt: 2, Origin: v1alpha1.OriginNotification,
			Deployment: v1alpha1.Deployment{Repository: "acme/shop", SHA: sha},
		},
		Status: v1alpha1.SuiteStatus{
			StartTime:      new(metav1.NewTime(tuesday.Add(time.Minute))),
			CompletionTime: new(metav1.NewTime(tuesday.Add(5 * time.Minute))),
			DecidedBy:      v1alpha1.DecidedByTests,
			Results:        &v1alpha1.TestResults{Tests: 2, Passed: 2},
			Conditions:     []metav1.Condition{end},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func withImages(start, end string) func(*v1alpha1.Suite) {
	version := func(digest string) *v1alpha1.WorkloadVersion {
		return &v1alpha1.WorkloadVersion{
			UID: "1", SHA: sha, RolledOut: true, Digests: []v1alpha1.ImageDigest{{Container: "app", Digest: "sha256:" + digest}},
		}
	}
	return func(s *v1alpha1.Suite) {
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			{Repository: "acme/shop", Kind: "Deployment", Namespace: "shop", Name: "web", Start: version(start), End: version(end)},
			{Repository: "acme/shop", Kind: "Deployment", Namespace: "shop", Name: "worker", Start: version(start), End: version(end)},
		}}
	}
}

func withSHA(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
}

func results(r v1alpha1.TestResults) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Status.Results = &r }
}

// TestUnsigned: only a verdict about something that a digest identifies is signed.
func TestUnsigned(t *testing.T) {
	for name, tc := range map[string]struct {
		suite *v1alpha1.Suite
		why   string // a part of it; empty: it is signed
	}{
		"Passed":                  {suite(v1alpha1.Passed("")), ""},
		"Failed":                  {suite(v1alpha1.Failed("")), ""},
		"TimedOut":                {suite(v1alpha1.TimedOut("")), ""},
		"Inconclusive":            {suite(v1alpha1.Inconclusive("")), "ended as Inconclusive, which is no verdict"},
		"Canceled":                {suite(v1alpha1.Canceled("")), "no verdict"},
		"Superseded":              {suite(v1alpha1.Superseded("")), "no verdict"},
		"Error":                   {suite(v1alpha1.Error("")), "Passed, Failed or TimedOut"},
		"Running":                 {suite(v1alpha1.Running("")), "has not ended"},
		"abbreviated SHA":         {suite(v1alpha1.Passed(""), withSHA(sha[:8])), "not the full SHA"},
		"no SHA":                  {suite(v1alpha1.Passed(""), withSHA("")), "not the full SHA"},
		"images without a SHA":    {suite(v1alpha1.Passed(""), withSHA("v1.2"), withImages(digest, digest)), "not the full SHA"},
		"changed without a SHA":   {suite(v1alpha1.Passed(""), withSHA(""), withImages(digest, other)), "not the full SHA"},
		"unchanged without a SHA": {suite(v1alpha1.Passed(""), withSHA(""), withImages(digest, digest)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			why := attestation.Unsigned(tc.suite)
			if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
				t.Errorf("%q, want %q", why, tc.why)
			}
		})
	}
}

func TestSubjects(t *testing.T) {
	sha256 := strings.Repeat("e", 64)
	for name, tc := range map[string]struct {
		reason string
		suite  *v1alpha1.Suite
		want   []attestation.Descriptor
	}{
		"the commit": {"there are no workloads", suite(v1alpha1.Passed("")), []attestation.Descriptor{
			{Name: "acme/shop", Digest: map[string]string{"gitCommit": sha}}}},
		"images": {"two workloads with one image are one subject", suite(v1alpha1.Passed(""), withImages(digest, digest)), []attestation.Descriptor{
			{Name: "acme/shop", Digest: map[string]string{"gitCommit": sha}}, {Name: "shop/Deployment/web/app", Digest: map[string]string{"sha256": digest}}}},
		"a change": {"neither image was there all the time", suite(v1alpha1.Failed(""), withImages(digest, other)), []attestation.Descriptor{
			{Name: "acme/shop", Digest: map[string]string{"gitCommit": sha}}}},
		"no digest": {"a container may name one in another way", suite(v1alpha1.Passed(""), withImages(digest[:10], digest[:10])), []attestation.Descriptor{
			{Name: "acme/shop", Digest: map[string]string{"gitCommit": sha}}}},
		"a SHA-256 commit": {"the specification of gitCommit has both lengths", suite(v1alpha1.Passed(""), withSHA(sha256)), []attestation.Descriptor{
			{Name: "acme/shop", Digest: map[string]string{"gitCommit": sha256}}}},
		"no repository": {"a full SHA is the same everywhere", suite(v1alpha1.Passed(""), func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "" }),
			[]attestation.Descriptor{{Digest: map[string]string{"gitCommit": sha}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, attestation.New("acme", tc.suite, "", nil).Subject); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// TestResult: PASSED means that no test failed. What else counted as passed is WARNED, and the details say why.
func TestResult(t *testing.T) {
	quarantined := v1alpha1.TestResults{
		Tests: 3, Passed: 2, Failed: 1, Quarantined: 1, Failures: []v1alpha1.TestFailure{{Name: "a slow one", Quarantine: "slow"}},
		Quarantines: []v1alpha1.AppliedQuarantine{{Name: "slow", Until: "2026-12-01", Tests: 1}},
	}
	exitCode := func(s *v1alpha1.Suite) { s.Status.DecidedBy, s.Status.Results = v1alpha1.DecidedByExitCode, nil }
	for name, tc := range map[string]struct {
		suite   *v1alpha1.Suite
		tests   []httpapi.Test
		want    attestation.Predicate // without its configuration
		details func(*attestation.Details) any
		says    any
	}{
		"tests": {suite(v1alpha1.Passed("")), []httpapi.Test{{Name: "b", State: "Passed"}, {Name: "a", State: "Flaky"}, {Name: "c", State: "Skipped"}},
			attestation.Predicate{Result: "PASSED", PassedTests: []string{"a", "b"}}, func(d *attestation.Details) any { return d.DecidedBy }, "Tests"},
		"the status alone": {suite(v1alpha1.Passed("")), nil, attestation.Predicate{Result: "PASSED"},
			func(d *attestation.Details) any { return *d.Omitted }, attestation.Omitted{Passed: 2}},
		"an exit code": {suite(v1alpha1.Passed(""), exitCode), nil, attestation.Predicate{Result: "PASSED"},
			func(d *attestation.Details) any { return d.DecidedBy }, "ExitCode"},
		"an exit code in spite of failures": {suite(v1alpha1.Passed(""), exitCode, results(v1alpha1.TestResults{Tests: 1, Failed: 1})), nil,
			attestation.Predicate{Result: "WARNED"}, func(d *attestation.Details) any { return d.Tests.Failed }, int32(1)},
		"a Quarantine": {suite(v1alpha1.Passed(""), results(quarantined)), nil, attestation.Predicate{Result: "WARNED", WarnedTests: []string{"a slow one"}},
			func(d *attestation.Details) any { return d.Quarantines[0] }, attestation.Quarantine{Name: "slow", Until: "2026-12-01", Tests: 1}},
		"a contradiction": {suite(v1alpha1.Passed("")), []httpapi.Test{{Name: "a", State: "Failed"}},
			attestation.Predicate{Result: "WARNED", FailedTests: []string{"a"}}, func(d *attestation.Details) any { return d.Tests.Failed }, int32(0)},
		"failures": {suite(v1alpha1.Failed(""), results(v1alpha1.TestResults{Tests: 2, Passed: 1, Failed: 1, Failures: []v1alpha1.TestFailure{{Name: "x"}}})), nil,
			attestation.Predicate{Result: "FAILED", FailedTests: []string{"x"}}, func(d *attestation.Details) any { return d.State }, "Failed"},
		"no time left": {suite(v1alpha1.TimedOut(""), func(s *v1alpha1.Suite) { s.Status.Results, s.Status.DecidedBy = nil, "" }), nil,
			attestation.Predicate{Result: "FAILED"}, func(d *attestation.Details) any { return d.State + " " + d.DecidedBy }, "TimedOut Timeout"},
		"a rerun of failed tests": {suite(v1alpha1.Passed(""), func(s *v1alpha1.Suite) { s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "smoke-0"} }), nil,
			attestation.Predicate{Result: "PASSED"}, func(d *attestation.Details) any { return d.OnlyFailedOf }, "smoke-0"},
		"a retry": {suite(v1alpha1.Passed(""), func(s *v1alpha1.Suite) {
			s.Spec.Origin = v1alpha1.OriginRetry
			s.Annotations = map[string]string{v1alpha1.AnnotationRepeats: "smoke-0", v1alpha1.AnnotationRetries: "1"}
		}), nil, attestation.Predicate{Result: "PASSED"}, func(d *attestation.Details) any { return fmt.Sprint(d.Origin, d.Retries, d.Repeats) }, "Retry1smoke-0"},
	} {
		t.Run(name, func(t *testing.T) {
			var tests *attestation.Tests
			if tc.tests != nil {
				tests = &attestation.Tests{}
				for _, test := range tc.tests {
					tests.Add(test)
				}
			}
			s := attestation.New("acme", tc.suite, "", tests)
			got := s.Predicate
			got.Configuration = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.says, tc.details(s.Details())); diff != "" {
				t.Error(diff)
			}
			valid(t, s)
		})
	}
}

// valid checks a Statement with the published library and schema: unknown members are errors.
func valid(t *testing.T, s attestation.Statement) {
	t.Helper()
	payload, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var statement intoto.Statement
	if err := protojson.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	if err := statement.Validate(); err != nil {
		t.Error(err)
	}
	predicate, err := statement.GetPredicate().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var result testresult.TestResult
	if err := protojson.Unmarshal(predicate, &result); err != nil {
		t.Error(err)
	}
	if len(result.GetConfiguration()) != 3 || !slices.Contains([]string{"PASSED", "WARNED", "FAILED"}, result.GetResult()) {
		t.Errorf("%v", &result)
	}
	for _, d := range result.GetConfiguration() { // the library does not ask for what the specification demands
		if err := d.Validate(); err != nil || d.GetUri() == "" {
			t.Errorf("%v, %v", d, err)
		}
	}
	if len(payload) > attestation.MaxPayload {
		t.Errorf("%d bytes", len(payload))
	}
	read, err := attestation.Parse(payload)
	if diff := cmp.Diff(s, read); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestStatement is the whole of one, as readers get it.
func TestStatement(t *testing.T) {
	s := attestation.New("acme", suite(v1alpha1.Passed(""), withImages(digest, digest)), "https://postflight.example.com/runs/shop/smoke-1", nil)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "_type": "https://in-toto.io/Statement/v1",
  "subject": [
    {
      "name": "acme/shop",
      "digest": {
        "gitCommit": "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
      }
    },
    {
      "name": "shop/Deployment/web/app",
      "digest": {
        "sha256": "abababababababababababababababababababababababababababababababab"
      }
    }
  ],
  "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
  "predicate": {
    "result": "PASSED",
    "configuration": [
      {
        "name": "trigger/smoke",
        "uri": "kubernetes:///apis/postflight.dev/v1alpha1/namespaces/shop/triggers/smoke"
      },
      {
        "name": "environment/staging",
        "uri": "kubernetes:///apis/postflight.dev/v1alpha1/namespaces/shop/environments/staging"
      },
      {
        "name": "run/smoke-1",
        "uri": "kubernetes:///apis/postflight.dev/v1alpha1/namespaces/shop/suites/smoke-1",
        "annotations": {
          "postflight": {
            "run": "smoke-1",
            "team": "acme",
            "namespace": "shop",
            "trigger": "smoke",
            "environment": "staging",
            "repository": "acme/shop",
            "revision": "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d",
            "state": "Passed",
            "decidedBy": "Tests",
            "origin": "Notification",
            "attempt": 2,
            "createdAt": "2026-11-24T10:00:00Z",
            "startedAt": "2026-11-24T10:01:00Z",
            "endedAt": "2026-11-24T10:05:00Z",
            "tests": {
              "tests": 2,
              "passed": 2,
              "failed": 0
            },
            "omitted": {
              "passed": 2
            }
          }
        }
      }
    ],
    "url": "https://postflight.example.com/runs/shop/smoke-1"
  }
}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	valid(t, s)
}

// TestManyTests: the lists are bounded, and the details say how many tests they lack.
func TestManyTests(t *testing.T) {
	for name, tc := range map[string]struct {
		name   string
		listed int
	}{"ordinary names": {"test %04d", 1000}, "long names": {strings.Repeat("x", 600) + " %04d", 256}, "wide names": {strings.Repeat("\u2603", 300) + " %04d", 258}} {
		t.Run(name, func(t *testing.T) {
			var tests attestation.Tests
			for i := range 5000 {
				tests.Add(httpapi.Test{Name: fmt.Sprintf(tc.name, i), State: httpapi.TestFailed})
				tests.Add(httpapi.Test{Name: fmt.Sprintf("quarantined %d", i), State: httpapi.TestFailed, Quarantined: true})
				tests.Add(httpapi.Test{Name: fmt.Sprintf("passed %d", i), State: httpapi.TestPassed})
			}
			s := attestation.New("acme", suite(v1alpha1.Failed(""), results(v1alpha1.TestResults{Tests: 15000, Passed: 5000, Failed: 10000, Quarantined: 5000})), "", &tests)
			if n := len(s.Predicate.FailedTests); n != tc.listed {
				t.Errorf("%d failed tests, want %d", n, tc.listed)
			}
			want := attestation.Omitted{Passed: 4000, Warned: 4000, Failed: int32(5000 - tc.listed)}
			if diff := cmp.Diff(&want, s.Details().Omitted); diff != "" {
				t.Error(diff)
			}
			valid(t, s)
			if payload, _ := s.Encode(); len(payload) > 512<<10 {
				t.Errorf("%d bytes", len(payload))
			}
		})
	}
}

// TestHostileNames: a name cannot take over a terminal, nor hide that it failed behind one that looks the same.
func TestHostileNames(t *testing.T) {
	var tests attestation.Tests
	for _, test := range []httpapi.Test{
		{Name: "log\u200bin", State: "Passed"}, {Name: "login", State: "Failed"}, {Name: "\x1b[2J\x00\xff::set-output name=x::\r\n", State: "Failed"},
		{Name: "\u202edne", State: "Passed"}, {Name: "\u200b", State: "Failed"}, {Name: `"}],"result":"PASSED`, State: "Failed"},
	} {
		tests.Add(test)
	}
	s := attestation.New("acme", suite(v1alpha1.Failed(""), func(s *v1alpha1.Suite) {
		s.Spec.Deployment.Repository, s.Spec.Deployment.Service = "a\x1b]0;x\x07/b", "\xff\u202e"
	}), "", &tests)
	if diff := cmp.Diff([]string{`"}],"result":"PASSED`, "login", "\ufffd::set-output name=x::"}, s.Predicate.FailedTests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"dne"}, s.Predicate.PassedTests); diff != "" {
		t.Error(diff)
	}
	valid(t, s)
}

// TestSameBytes: a run that is signed again after a crash has the same payload, whatever the order of its tests.
func TestSameBytes(t *testing.T) {
	var one, two attestation.Tests
	for i := range 50 {
		one.Add(httpapi.Test{Name: fmt.Sprint(i), State: "Passed"})
		two.Add(httpapi.Test{Name: fmt.Sprint(49 - i), State: "Passed"})
	}
	a, err1 := attestation.New("acme", suite(v1alpha1.Passed("")), "", &one).Encode()
	b, err2 := attestation.New("acme", suite(v1alpha1.Passed("")), "", &two).Encode()
	if err1 != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}
