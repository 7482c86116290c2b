package suite

import (
	"context"
	"errors"
	"io/fs"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// findFailed finds the failed tests that a run repeats, and whether it can be taken together with the runs that it names.
func (r *Reconciler) findFailed(ctx context.Context, o *lifecycle.Observation) error {
	chain, err := r.failedChain(ctx, o.Suite)
	if err != nil {
		return err
	}
	if problem := rerun.ClaimProblem(o.Suite, chain); problem != "" {
		o.Failed = &rerun.FailedTests{Impossible: problem}
		return nil
	}
	if r.Documents == nil {
		o.Failed = &rerun.FailedTests{Impossible: "The failed tests are not known, because no store for files is configured. " +
			"Ask the operator of Postflight to set --store-bucket and --store-endpoint."}
		return nil
	}
	request := rerun.FailedRequest{Suite: o.Suite, Trigger: o.Trigger, Digest: job.TestsDigest(o.Suite, o.Trigger, o.Environment)}
	if o.Inputs != nil {
		request.Inputs = o.Inputs.Found
	}
	for _, s := range chain {
		link, unavailable, err := r.link(ctx, o.Team, s)
		if err != nil {
			return err
		}
		if unavailable != nil {
			o.Failed = &rerun.FailedTests{Unavailable: clause(unavailable)}
			return nil
		}
		request.Chain = append(request.Chain, link)
	}
	if o.Ledger, err = r.ledgers().Cached(ctx, o.Suite); err != nil {
		return err
	}
	request.Environment, request.Ledger = o.Environment, o.Ledger
	if request.Runs, err = r.suites(ctx, o.Suite.Namespace, client.MatchingFields{index.Trigger: o.Suite.Spec.Trigger.Name}); err != nil {
		return err
	}
	o.Failed, o.FailedChain = rerun.PlanFailed(request), chain
	return nil
}

// failedChain reads the runs from the API server, because the cache lacks the variables of those that have ended.
func (r *Reconciler) failedChain(ctx context.Context, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	return rerun.FailedChain(s, func(name string) (*v1alpha1.Suite, error) {
		return reconcile.Get[v1alpha1.Suite](ctx, r.Live, s.Namespace, name)
	})
}

// link tells an error of the store, which may pass, from one of the API server.
func (r *Reconciler) link(ctx context.Context, team *v1alpha1.Team, s *v1alpha1.Suite) (link rerun.Link, unavailable, err error) {
	link.Suite = s
	j, err := reconcile.Get[batchv1.Job](ctx, r.Live, s.Namespace, s.Name)
	if err != nil {
		return link, nil, err
	}
	link.Digest = job.RecordedDigest(j, s)
	if link.Documents, unavailable = r.documents(ctx, team, s); unavailable != nil {
		return link, unavailable, nil
	}
	link.Ambiguous, unavailable = r.ambiguous(ctx, team, link)
	return link, unavailable, nil
}

// ambiguous returns the name of a failed test that several tests of the run have, such as in two shards: then it is unknown which of them
// to rerun. It reads all tests of the run, which are in the store once its record is.
func (r *Reconciler) ambiguous(ctx context.Context, team *v1alpha1.Team, link rerun.Link) (name string, unavailable error) {
	if r.Tests == nil {
		return "", nil
	}
	names := results.NewSharedNames(link.Documents)
	_, err := r.Tests.Tests(ctx, record.Of(team.Name, link.Suite), func(t httpapi.Test) { names.Add(t.Name) })
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.Archives && !link.Suite.Archived():
		return "", errors.New("the record of the run " + link.Suite.Name + " is not saved yet")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, history.ErrUnreadable):
		return "", nil // the documents have to do
	case err != nil:
		return "", err
	}
	return names.Shared(), nil
}

// maxDocuments bounds what is read of the documents of a run, in bytes. Common ones have a few KiB.
const maxDocuments = 16 << 20

// withoutTexts drops texts, which are most of a document.
func withoutTexts(d results.Document) results.Document {
	for i := range d.Failures {
		f := &d.Failures[i]
		f.Text, f.Message, f.Attachments = "", "", nil
	}
	d.Files = nil
	return d
}

// withFailed also lets a Job that repeats nothing remember which tests it runs, because another one may repeat those that fail.
func (r *Reconciler) withFailed(j *batchv1.Job, o lifecycle.Observation) *batchv1.Job {
	j = job.WithTestsDigest(j, job.TestsDigest(o.Suite, o.Trigger, o.Environment))
	if o.Failed == nil {
		return j
	}
	return job.WithFailed(j, o.Failed.Plan)
}

func failedNames(o lifecycle.Observation) results.NameSet {
	if o.Failed == nil || o.Failed.Plan == nil {
		return ""
	}
	return o.Failed.Plan.Names
}

// changedSince compares what two runs had under test.
func changedSince(before, after []v1alpha1.TestedWorkload) string {
	return workloads.Tested(before, after).Changed
}

// failedFile has the names of the failed tests that a run repeats; nil for a run of all tests. The problem is a sentence.
func failedFile(o lifecycle.Observation) (file *job.PreparedFile, problem string) {
	if o.Failed == nil || o.Failed.Plan == nil {
		return nil, ""
	}
	names := []byte(failedtests.Names(o.Failed.Plan.Tests))
	if !job.Fits(names) {
		return nil, "The names of the failed tests are too long together to repeat these alone." + rerun.AllTestsAdvice(o.Suite)
	}
	return &job.PreparedFile{Name: "failed-tests.txt", Variable: failedtests.FileVariable, Content: names}, ""
}
