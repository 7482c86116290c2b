package apierror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func forbidden(why string) error { return apierrors.NewForbidden(jobs, "run", errors.New(why)) }

// byProxy is the error of the client for an answer that is no object of Kubernetes.
func byProxy(code int) error {
	return apierrors.NewGenericServerResponse(code, "GET", jobs, "run", "<html>", 0, true)
}

// policyInvalid is a refusal by a policy that names no reason.
func policyInvalid(why string) error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "run", nil)
	err.ErrStatus.Message = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: " + why
	return err
}

func terminating() error {
	err := apierrors.NewForbidden(jobs, "run", errors.New("unable to create new content in namespace demo because it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func TestClasses(t *testing.T) {
	classes := map[string]func(error) bool{
		"starting": apierror.Starting, "missingRight": apierror.MissingRight, "quota": apierror.Quota, "tooLarge": apierror.TooLarge,
		"rejected": apierror.Rejected, "retryable": apierror.Retryable, "notFound": apierror.NotFound, "namespaceGone": apierror.NamespaceGone,
		"unanswered": apierror.Unanswered, "unreachable": apierror.Unreachable,
	}
	type is map[string]bool
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   is
	}{
		"None":     {"Nothing failed.", nil, is{}},
		"NoAnswer": {"A refused connection is no answer.", errors.New("connection refused"), is{"retryable": true, "unanswered": true}},
		"NoAnswerYet": {"The request may have succeeded.", context.DeadlineExceeded,
			is{"retryable": true, "unanswered": true, "unreachable": true}},
		"Refused": {"Nothing listens there.", fmt.Errorf("dial: %w", syscall.ECONNREFUSED),
			is{"retryable": true, "unanswered": true, "unreachable": true}},
		"Reset": {"The API server was killed.", fmt.Errorf("read: %w", syscall.ECONNRESET),
			is{"retryable": true, "unanswered": true, "unreachable": true}},
		"EndOfAnswer": {"Or what is before it was.", io.ErrUnexpectedEOF, is{"retryable": true, "unanswered": true, "unreachable": true}},
		"NotReady":    {"Admission has not synced yet.", forbidden("not yet ready to handle request"), is{"starting": true, "retryable": true}},
		"OwnerUnknown": {"Admission has not loaded the kind of the owner yet.",
			forbidden("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion postflight.dev/v1alpha1 Kind Suite: " +
				`no matches for kind "Suite" in version "postflight.dev/v1alpha1"`), is{"starting": true, "retryable": true}},
		"OwnerOfAnother": {"The kind of a foreign owner may be gone for good.",
			forbidden("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind Shop: " +
				`no matches for kind "Shop" in version "example.com/v1"`), is{"rejected": true}},
		"OwnerNotAllowed": {"A right is missing.",
			forbidden("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"), is{"rejected": true}},
		"QuotaUnknown":  {"The quota controller has not seen a quota yet.", forbidden("status unknown for quota: jobs, resources: count/jobs.batch"), is{"starting": true, "retryable": true}},
		"QuotaExceeded": {"Only a deletion helps.", forbidden("exceeded quota: jobs"), is{"quota": true}},
		"QuotaMaximum":  {"Other admission plugins have other messages.", forbidden("maximum memory usage per quota"), is{"quota": true}},
		"QuotaInSpec":   {"A quota is refused as Forbidden only.", apierrors.NewBadRequest("exceeded quota"), is{"rejected": true}},
		"Policy":        {"A policy is final.", forbidden("ValidatingAdmissionPolicy 'p' denied request"), is{"rejected": true}},
		"PolicyNotReady": {"The API server may not have seen the object yet that the policy looks for.",
			policyInvalid("failed to configure binding: no params found for policy binding"), is{"starting": true, "retryable": true}},
		"PolicyOfEnvironments": {"The cache may lack the object that makes the policy deny.",
			forbidden("ValidatingAdmissionPolicy 'p-jobs-of-environments' with binding 'b' denied request: an ephemeral Environment"),
			is{"starting": true, "retryable": true}},
		"PolicyInvalid": {"A policy may answer with another code.", policyInvalid("no"), is{"rejected": true}},
		"NoRole": {"Roles may not be loaded yet.",
			forbidden(`User "system:serviceaccount:p:manager" cannot create resource "jobs" in API group "batch" in the namespace "demo"`),
			is{"starting": true, "missingRight": true, "retryable": true}},
		"Gone":              {"The object does not exist.", apierrors.NewNotFound(jobs, "run"), is{"notFound": true, "rejected": true}},
		"GoneWrapped":       {"Wrapping changes nothing.", fmt.Errorf("observe: %w", apierrors.NewNotFound(jobs, "run")), is{"notFound": true, "rejected": true}},
		"NotFoundByProxy":   {"A load balancer has no objects.", byProxy(http.StatusNotFound), is{"starting": true, "retryable": true}},
		"ForbiddenByProxy":  {"Nor does it know roles.", byProxy(http.StatusForbidden), is{"starting": true, "retryable": true}},
		"Invalid":           {"The schema is final.", apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "run", nil), is{"rejected": true}},
		"TooLargeForServer": {"A larger limit is not coming.", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), is{"tooLarge": true, "rejected": true}},
		"TooLargeForEtcd":   {"The code is that of any failure.", apierrors.NewInternalError(errors.New("etcdserver: request is too large")), is{"tooLarge": true, "rejected": true}},
		"TooLargeForGRPC":   {"Likewise.", apierrors.NewInternalError(errors.New("trying to send message larger than max (3 vs. 2)")), is{"tooLarge": true, "rejected": true}},
		"Internal":          {"It may pass.", apierrors.NewInternalError(errors.New("etcdserver: leader changed")), is{"retryable": true}},
		"Unavailable":       {"It may pass.", apierrors.NewServiceUnavailable("etcd"), is{"retryable": true}},
		"TooMany":           {"Priority and fairness requires a pause.", apierrors.NewTooManyRequests("later", 1), is{"retryable": true}},
		"Timeout":           {"The API server gave up.", apierrors.NewTimeoutError("slow", 1), is{"retryable": true, "unanswered": true}},
		"Unauthorized":      {"Tokens are renewed.", apierrors.NewUnauthorized("expired"), is{"retryable": true}},
		"Conflict":          {"Two writers met.", apierrors.NewConflict(jobs, "run", errors.New("modified")), is{"retryable": true}},
		"AlreadyExists":     {"The object may be our own, or another one.", apierrors.NewAlreadyExists(jobs, "run"), is{}},
		"NoNamespace":       {"It was deleted.", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "demo"), is{"notFound": true, "rejected": true, "namespaceGone": true}},
		"Terminating":       {"It will be deleted.", terminating(), is{"rejected": true, "namespaceGone": true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := is{}
			for class, matches := range classes {
				if matches(tc.err) {
					got[class] = true
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%v (-want +got):\n%s", tc.reason, tc.err, diff)
			}
			if ignored := apierror.IgnoreNotFound(tc.err) == nil; ignored != (tc.want["notFound"] || tc.err == nil) {
				t.Errorf("%s\n%v: ignored is %t", tc.reason, tc.err, ignored)
			}
		})
	}
}

func TestMessageOfThePolicyOfTeams(t *testing.T) {
	const (
		noParams = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
		noKind   = "failed to configure policy: failed to find resource referenced by paramKind: 'x, Kind=y'"
	)
	for name, tc := range map[string]struct{ policy, why, want string }{
		"no APIKey":           {"teams", noParams, "its namespace has no APIKey. If that lasts, the policies are of an earlier version, which wants one: apply those of the manager's version"},
		"no Trigger":          {"triggers", noParams, "it knows neither a Trigger nor an APIKey in the namespace of the run"},
		"no Environment":      {"environments", noParams, "it knows neither a Trigger nor an APIKey in the namespace of the run"},
		"no kind of APIKeys":  {"teams", noKind, "it has not loaded the policies of Postflight yet, which takes up to half a minute after an installation"},
		"no kind of Triggers": {"triggers", noKind, "it has not loaded the policies of Postflight yet, which takes up to half a minute after an installation"},
	} {
		t.Run(name, func(t *testing.T) {
			status := &apierrors.StatusError{}
			if !errors.As(policyInvalid(tc.why), &status) {
				t.Fatal("want an error of an API server")
			}
			if got := apierror.Message(status); !strings.Contains(got, tc.why) {
				t.Errorf("of another policy: %q", got)
			}
			status.ErrStatus.Message = strings.Replace(status.ErrStatus.Message, "'p'", "'ci-postflight-jobs-of-"+tc.policy+"'", 1)
			if got := apierror.Message(status); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	for _, err := range []error{errors.New("no room"), fmt.Errorf("create: %w", apierrors.NewBadRequest("no room. "))} {
		if got := apierror.Message(err); got != "no room" {
			t.Errorf("%v: %q", err, got)
		}
	}
}
