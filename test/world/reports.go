package world

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// Reports are the documents of results in a store.
type Reports struct {
	Mu     sync.Mutex
	ByRun  map[string]results.Document
	broken error
}

func (r *Reports) config() (suitecontroller.Documents, *job.Collector) {
	if r == nil {
		return nil, nil
	}
	return r, &job.Collector{Image: "postflight:test", URL: "http://postflight.example.com"}
}

// Results are those of a run, from one pod.
func (r *Reports) Results(_ context.Context, run record.Run) iter.Seq2[record.Results, error] {
	return func(yield func(record.Results, error) bool) {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		content, err := json.Marshal(r.ByRun[run.ID])
		if r.broken != nil {
			err = r.broken
		}
		yield(record.Results{Pod: run.ID, Content: content}, err)
	}
}

// Breaks makes each read fail; nil ends that.
func (r *Reports) Breaks(err error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.broken = err
}
