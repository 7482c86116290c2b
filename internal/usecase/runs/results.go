package runs

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

const (
	maxExplanations = 64          // bounds the explanations in memory, each with up to 20 failures of 8 KiB
	explanationsFor = time.Minute // long enough to see a pod that uploads its document late
	// explainingAtOnce bounds the runs whose documents are read at once. A document and what is read of it take 20 MiB at worst.
	explainingAtOnce = 2
	maxDocuments     = 16 << 20 // bounds what is read of the documents of a run, in bytes. Common ones have a few KiB.
)

type explanations struct {
	*cache.LRUExpireCache
	slots chan struct{}
}

func newExplanations() *explanations {
	return &explanations{cache.NewLRUExpireCache(maxExplanations), make(chan struct{}, explainingAtOnce)}
}

// Explain returns the failures of an ended run with what the documents of its pods say. With an ArchiveError, they are those of the status.
func (r *Reader) Explain(ctx context.Context, run *Run) (results.Explanation, error) {
	status := run.Suite.Status.Results
	if status == nil {
		return results.Explanation{}, nil
	}
	e := results.NewExplainer(status)
	if r.Archive == nil || !run.Suite.Finished() || len(status.Failures) == 0 && status.Flaky == 0 {
		return e.Explanation(), nil
	}
	if known, ok := r.tests.Get(run.ID); ok {
		return known.(results.Explanation), nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	if err := r.readDocuments(ctx, run.ID, e); err != nil {
		return results.NewExplainer(status).Explanation(), archiveError(err)
	}
	explanation := e.Explanation()
	r.tests.Add(run.ID, explanation, explanationsFor)
	return explanation, nil
}

// readDocuments leaves out invalid documents, and those of pods beyond the limit.
func (r *Reader) readDocuments(ctx context.Context, run record.Run, e *results.Explainer) error {
	select {
	case r.tests.slots <- struct{}{}:
		defer func() { <-r.tests.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	read, pods := 0, 0
	for d, err := range r.Archive.Results(ctx, run) {
		if err != nil {
			return err
		}
		if document, err := results.ParseDocument(d.Content); err == nil {
			e.Add(d.Pod, document)
		}
		if read, pods = read+len(d.Content), pods+1; read > maxDocuments || pods == record.MaxComparedPods {
			break
		}
	}
	return nil
}
