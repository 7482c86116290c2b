package suite

import (
	"context"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// compareTests compares the tests of a run with those of the last run that passed. The store has what the pods of both reported.
func (r *Reconciler) compareTests(ctx context.Context, o *lifecycle.Observation) {
	if r.Documents == nil || o.Team == nil {
		o.TestsCompared(results.NoStore)
		return
	}
	before, err := r.documents(ctx, o.Team, o.PassedBefore)
	var now []results.Document
	if err == nil {
		now, err = r.documents(ctx, o.Team, o.Suite)
	}
	if err != nil {
		o.TestsNotCompared(clause(err), r.Clock.Now())
		return
	}
	o.TestsCompared(results.Missing(before, o.PassedBefore.Status.Results.Passed, now))
}

// documents reads what the pods of a run reported. Beyond a limit, the tests of the rest are missing, which shows.
func (r *Reconciler) documents(ctx context.Context, team *v1alpha1.Team, s *v1alpha1.Suite) (all []results.Document, err error) {
	read := 0
	for d, err := range r.Documents.Results(ctx, record.Of(team.Name, s)) {
		if err != nil {
			return nil, err
		}
		if read += len(d.Content); read > maxDocuments || len(all) == record.MaxComparedPods {
			break
		}
		if document, err := results.ParseDocument(d.Content); err == nil {
			all = append(all, withoutTexts(document))
		}
	}
	return all, nil
}
