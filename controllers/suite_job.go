package controllers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/job"
	"github.com/postflight-dev/postflight/internal/suite"
)

// goneEvery is how often it is asked whether what is being deleted is gone, of which no event may tell.
const goneEvery = 2 * time.Second

// createJob starts the run. That the Job exists already is what a crash after an earlier creation
// looks like, once its owner is checked.
func (r *SuiteReconciler) createJob(ctx context.Context, o *suite.Observation, d suite.Decision) (suite.Decision, error) {
	if problem := job.CheckTemplate(o.Trigger); problem != "" {
		return suite.Decision{Condition: v1alpha1.Error(problem)}, nil
	}
	j, err := r.buildJob(ctx, *o)
	if err != nil {
		return d, err
	}
	err = r.Create(ctx, j)
	switch {
	case err == nil:
		d.Condition = job.Outcome(j, nil) // what the next look would say, which need not be written then
		return d, nil
	case apierrors.IsAlreadyExists(err):
		return r.adopt(ctx, o, d)
	case isQuota(err):
		return suite.NotAccepted(*o, reason(err), r.Clock.Now()), nil
	case isRefusal(err):
		return suite.Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The API server refused the Job: %s. Fix the jobTemplate of Trigger %q and notify again.", reason(err), o.Trigger.Name))}, nil
	case apierrors.IsConflict(err):
		return d, err // two Jobs took of one quota at once
	default:
		return suite.NotAccepted(*o, reason(err), r.Clock.Now()), nil
	}
}

// adopt decides again with the Job that exists, so that its name is recorded: it may lack the label by
// which the cache would find it.
func (r *SuiteReconciler) adopt(ctx context.Context, o *suite.Observation, d suite.Decision) (suite.Decision, error) {
	s := o.Suite
	j, err := get[batchv1.Job](ctx, r.Live, s.Namespace, s.Name)
	if err != nil || j == nil {
		return d, err
	}
	if metav1.IsControlledBy(j, s) {
		o.Job, o.Unlabeled = j, job.Unlabeled(j)
		if err := r.observeJob(ctx, o); err != nil {
			return d, err
		}
		return r.apply(ctx, o, suite.Decide(*o, r.Clock.Now())) // which creates no Job where there is one
	}
	if ofEarlier(j, s) {
		return suite.Decision{Condition: v1alpha1.Queued("Waiting for the Job of an earlier Suite of this name to be deleted."), Again: goneEvery}, nil
	}
	return suite.Decision{Condition: v1alpha1.Error(fmt.Sprintf(
		"A Job %q that belongs to something else is in the way. Delete it and notify again.", s.Name))}, nil
}

// ofEarlier reports whether a Job belongs to a Suite that had the name before: the garbage collector is
// about to delete it.
func ofEarlier(j *batchv1.Job, s *v1alpha1.Suite) bool {
	owner := metav1.GetControllerOf(j)
	return owner != nil && owner.APIVersion == v1alpha1.GroupVersion.String() && owner.Kind == "Suite" &&
		owner.Name == s.Name && owner.UID != s.UID
}

// tooLarge is how the API server words that its store, or its connection to it, does not take the
// object: with a code by which it could be any failure.
var tooLarge = regexp.MustCompile(`request is too large|message larger than max`)

// isRefusal reports whether the same Job would be refused again by an API server that is up.
func isRefusal(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) || tooLarge.MatchString(err.Error()) {
		return true
	}
	return !apierror.Starting(err) && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsNotFound(err))
}

var quotaWords = regexp.MustCompile(`exceeded quota|maximum .* quota`)

// isQuota tells a full quota, which may empty, from other refusals. The API server has no reason of
// its own for it; its own controllers look for these words too.
func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && quotaWords.MatchString(err.Error())
}

// reason is what the API server says, without the client's wrapping and without a last full stop.
func reason(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		err = errors.New(status.Status().Message)
	}
	return strings.TrimSuffix(err.Error(), ".")
}

// pace of the looks at a Job of which no pod runs yet: often at first, when most causes show, and
// seldom later.
func pace(age time.Duration) time.Duration {
	return min(max(age/4, time.Second), time.Minute)
}
