package runs

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// endlessArchive has results of pods without end.
type endlessArchive struct {
	Archive
	bytes, read int
	hang        bool // until the caller gives up
}

func (a *endlessArchive) Results(ctx context.Context, _ record.Run) iter.Seq2[record.Results, error] {
	return func(yield func(record.Results, error) bool) {
		if a.hang {
			<-ctx.Done()
			yield(record.Results{}, ctx.Err())
			return
		}
		for {
			a.read++
			content := fmt.Appendf(nil, `{"reports":1,"failed":1,"failures":[{"name":"x","text":"pod %d"}]}`, a.read)
			content = append(content, bytes.Repeat([]byte(" "), a.bytes)...)
			if !yield(record.Results{Pod: fmt.Sprint("pod-", a.read), Content: content}, nil) {
				return
			}
		}
	}
}

func explained(a Archive) (*Reader, *Run) {
	s := &v1alpha1.Suite{}
	s.Status.Conditions = append(s.Status.Conditions, v1alpha1.Failed("1 of 1 test failed."))
	s.Status.Results = &v1alpha1.TestResults{Tests: 1, Failed: 1, Failures: []v1alpha1.TestFailure{{Name: "x"}}}
	return &Reader{Config: Config{Archive: a, Limits: Limits{LookupTimeout: time.Millisecond}}, tests: newExplanations()}, &Run{ID: record.Run{ID: "a"}, Suite: s}
}

// TestExplainIsBounded: it reads so many documents, and so many bytes.
func TestExplainIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes, want int
	}{
		"Many pods":  {0, record.MaxComparedPods},
		"Large ones": {6 << 20, 3},
	} {
		t.Run(name, func(t *testing.T) {
			a := &endlessArchive{bytes: tc.bytes}
			r, run := explained(a)
			r.LookupTimeout = time.Minute
			for range 2 {
				got, err := r.Explain(t.Context(), run)
				want := results.Failure{TestFailure: v1alpha1.TestFailure{Name: "x"}, Text: fmt.Sprint("pod ", tc.want)}
				if err != nil || a.read != tc.want {
					t.Errorf("%d documents were read, want %d: %v", a.read, tc.want, err)
				}
				if diff := cmp.Diff(want, got.Failures[0].Failure); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestExplainGivesUp: a store that does not answer holds nobody, and the status is there.
func TestExplainGivesUp(t *testing.T) {
	r, run := explained(&endlessArchive{hang: true})
	for range 2 * explainingAtOnce {
		got, err := r.Explain(t.Context(), run)
		if err == nil || len(got.Failures) != 1 || got.Failures[0].Name != "x" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for range explainingAtOnce {
		r.tests.slots <- struct{}{}
	}
	if _, err := r.Explain(t.Context(), run); err == nil {
		t.Error("it does not wait for others")
	}
}
