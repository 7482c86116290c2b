package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// RunHeader is the first line of the tests of a run.
type RunHeader struct {
	Version    int    `json:"version"`
	Run        string `json:"run"`
	Tests      int    `json:"tests"`                // that follow
	Omitted    int    `json:"omitted,omitempty"`    // that are missing, because there would be too many
	Incomplete bool   `json:"incomplete,omitempty"` // a log of a pod breaks off or is missing
}

const runVersion = 1

// RunTests are all tests of a run, by name.
type RunTests struct {
	RunHeader
	Lines []httpapi.Test
}

// MergePods makes the tests of a run from the tests of its pods. As in its counts, the pods of one index, and their replacements, are
// attempts at the same work; the tests of all others add up.
func MergePods(run string, pods []PodTests) RunTests {
	r := RunTests{RunHeader: RunHeader{Version: runVersion, Run: run}}
	byName := map[string]*PodTests{}
	order := make([]results.Pod, len(pods))
	for i := range pods {
		p := &pods[i]
		byName[p.Pod] = p
		order[i] = results.Pod{Name: p.Pod, Index: p.Index, Started: p.Started, Ended: p.Ended, Failed: p.Failed > 0}
		r.Incomplete = r.Incomplete || p.Cut
	}
	numbers := map[string]int{}
	groups := results.Attempts(order)
	slices.SortStableFunc(groups, func(a, b []results.Pod) int { return cmp.Compare(ptr.Deref(a[0].Index, 0), ptr.Deref(b[0].Index, 0)) })
	for _, attempts := range groups {
		var all []httpapi.Test
		for _, attempt := range attempts {
			p := byName[attempt.Name]
			r.Omitted += int(max(p.Omitted, 0))
			all = mergeAttempt(all, numbered(p.Tests, map[string]int{}))
		}
		r.Lines = append(r.Lines, numbered(all, numbers)...)
	}
	slices.SortStableFunc(r.Lines, func(a, b httpapi.Test) int { return strings.Compare(a.Name, b.Name) })
	r.Tests = len(r.Lines)
	return r
}

// numbered tells tests with the same name apart, as the failures of a run do.
func numbered(tests []httpapi.Test, seen map[string]int) []httpapi.Test {
	for i := range tests {
		t := &tests[i]
		for name := t.Name; seen[t.Name] > 0; {
			seen[name]++
			t.Name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
		seen[t.Name] = 1
	}
	return tests
}

// mergeAttempt returns the tests after another attempt: it repeats those that it names, and the others stay as they were.
func mergeAttempt(before, latest []httpapi.Test) []httpapi.Test {
	if len(before) == 0 || len(latest) == 0 {
		return slices.Concat(before, latest)
	}
	left := make(map[string]httpapi.Test, len(before))
	for _, t := range before {
		left[t.Name] = t
	}
	for i := range latest {
		t := &latest[i]
		earlier, known := left[t.Name]
		delete(left, t.Name)
		if !known || !failedBefore(earlier) {
			continue
		}
		t.Retries += earlier.Retries + 1
		switch t.State {
		case httpapi.TestPassed:
			t.State = httpapi.TestFlaky
		case httpapi.TestSkipped:
			*t = earlier // a test that is left out does not show that it passes
		}
	}
	for _, t := range before {
		if _, found := left[t.Name]; found {
			latest = append(latest, t)
		}
	}
	return latest
}

func failedBefore(t httpapi.Test) bool {
	return t.State == httpapi.TestFailed || t.State == httpapi.TestFlaky
}

// Encode returns the content of the object of a run.
func (r *RunTests) Encode() []byte {
	var b bytes.Buffer
	packer := gzip.NewWriter(&b)
	encode(packer, r.RunHeader)
	for i := range r.Lines {
		encode(packer, &r.Lines[i])
	}
	_ = packer.Close() // writing into memory cannot fail
	return b.Bytes()
}

// encode cannot fail: the values are strings, numbers and times.
func encode(out io.Writer, value any) {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
}

// ReadRun reads the object of a run test by test.
func ReadRun(input io.Reader, each func(httpapi.Test)) (RunHeader, error) {
	var h RunHeader
	cut, err := readLines(input, &h, func(line []byte) {
		var t httpapi.Test
		if json.Unmarshal(line, &t) == nil && outcomes[t.State] != 0 {
			each(t)
		}
	})
	if err == nil && (cut || h.Version != runVersion) {
		err = fmt.Errorf("%w: it breaks off, or has another version", ErrUnreadable)
	}
	return h, err
}

// Run is what a day keeps of a run.
type Run struct {
	ID string `json:"id"`
	httpapi.Place
	CreatedAt       string  `json:"createdAt"` // RFC 3339, in UTC
	State           string  `json:"state"`
	Reason          string  `json:"reason,omitempty"` // of an end without a verdict, without names
	Repository      string  `json:"repository,omitempty"`
	Service         string  `json:"service,omitempty"` // of the repository
	SHA             string  `json:"sha,omitempty"`
	Branch          string  `json:"branch,omitempty"`
	CommitURL       string  `json:"commitUrl,omitempty"`
	DurationSeconds float64 `json:"durationSeconds,omitempty"`
	QueueSeconds    float64 `json:"queueSeconds,omitempty"`   // from the notification to the start
	VerdictSeconds  float64 `json:"verdictSeconds,omitempty"` // from the notification to the end
	Tests           int32   `json:"tests,omitempty"`
	Failed          int32   `json:"failed,omitempty"`
	Flaky           int32   `json:"flaky,omitempty"`
	Quarantined     int32   `json:"quarantined,omitempty"` // of the failed ones
	Listed          bool    `json:"listed,omitempty"`      // each of its tests is known
	Partial         bool    `json:"partial,omitempty"`     // it repeated only the failed tests of another run
	Later           bool    `json:"later,omitempty"`       // it is a rerun, a retry or a repetition; earlier versions did not keep it
	Earlier         string  `json:"earlier,omitempty"`     // the id of the run that it repeats, if that is known
	Family          int32   `json:"-"`                     // of its day; see SetFamilies
}

// RunOf returns what a day keeps of a run that has ended.
func RunOf(r httpapi.Run) Run {
	h := Run{
		ID: r.ID, Place: httpapi.Place{Namespace: r.Namespace, Trigger: r.Trigger, Environment: r.Environment},
		CreatedAt: r.CreatedAt.UTC().Format(timeLayout), State: r.State, Reason: reason(r),
		Repository: r.Repository, Service: r.Service, SHA: r.SHA, Branch: r.Branch, CommitURL: r.CommitURL,
		DurationSeconds: tenth(r.DurationSeconds), Partial: r.OnlyFailedOf != "",
		Earlier: cmp.Or(r.OnlyFailedOf, r.Repeats),
		Later:   r.OnlyFailedOf != "" || r.Repeats != "" || origin.Of(v1alpha1.Origin(r.Origin)).Later,
	}
	h.bound()
	received := r.CreatedAt
	if r.ReceivedAt != nil && r.Repeats == "" { // a retry or a repetition is backdated for its place in the queue
		received = *r.ReceivedAt
	}
	if r.StartedAt != nil {
		h.QueueSeconds = tenth(r.StartedAt.Sub(received).Seconds())
	}
	if r.EndedAt != nil {
		h.VerdictSeconds = tenth(r.EndedAt.Sub(received).Seconds())
	}
	if r.Results != nil {
		h.Tests, h.Failed, h.Flaky, h.Quarantined = r.Results.Tests, r.Results.Failed, r.Results.Flaky, r.Results.Quarantined
	}
	return h
}

// bound cuts texts: a day of thousands of runs is read at once.
func (r *Run) bound() {
	r.ID, r.Earlier, r.Branch = cut(r.ID, maxRunID), cut(r.Earlier, maxRunID), cut(r.Branch, maxBranch)
	r.Repository, r.Service, r.SHA = cut(r.Repository, maxRepository), cut(r.Service, maxService), cut(r.SHA, maxSHA)
	if len(r.CommitURL) > maxCommitURL {
		r.CommitURL = ""
	}
}

// cut copies what is left, so that the long text is not kept in memory.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	const mark = "…"
	return strings.ToValidUTF8(text[:max-len(mark)], "") + mark
}

// Created is when the Suite of the run was created.
func (r Run) Created() (time.Time, error) { return time.Parse(timeLayout, r.CreatedAt) }

// timeLayout has the same length for all times, so that they can be compared as texts.
const timeLayout = "2006-01-02T15:04:05Z"

func tenth(seconds float64) float64 { return float64(int64(max(seconds, 0)*10+0.5)) / 10 }

// reason returns why a run has no verdict: the first sentence of its message without what differs from run to run.
func reason(r httpapi.Run) string {
	if !state.Of(r.State).GroupedByWhy {
		return ""
	}
	sentence, _, _ := strings.Cut(r.Message, ". ")
	sentence = particular.ReplaceAllString(strings.TrimSuffix(sentence, "."), "…")
	return cleanLine(strings.Join(strings.Fields(sentence), " "), maxSentence)
}

// particular is what differs from run to run: quoted names, words with digits, and paths.
var particular = regexp.MustCompile(`"[^"]*"|\S*[0-9/]\S*`)
