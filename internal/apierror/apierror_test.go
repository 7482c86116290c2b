package apierror_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/internal/apierror"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func forbidden(why string) error { return apierrors.NewForbidden(jobs, "run", errors.New(why)) }

// byProxy is what the client makes of an answer that is no object of Kubernetes.
func byProxy(code int) error {
	return apierrors.NewGenericServerResponse(code, "GET", jobs, "run", "<html>", 0, true)
}

func TestAnswers(t *testing.T) {
	type meaning struct{ starting, missingRight, notFound bool }
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   meaning
	}{
		"None":          {"Nothing failed.", nil, meaning{}},
		"NoAnswer":      {"A connection that is refused is no answer.", errors.New("connection refused"), meaning{}},
		"NotReady":      {"Admission has not synced yet.", forbidden("not yet ready to handle request"), meaning{starting: true}},
		"QuotaUnknown":  {"The quota controller has not seen a quota yet.", forbidden("status unknown for quota: jobs, resources: count/jobs.batch"), meaning{starting: true}},
		"QuotaExceeded": {"That is meant.", forbidden("exceeded quota: jobs"), meaning{}},
		"Policy":        {"A policy means its no.", forbidden("ValidatingAdmissionPolicy 'p' denied request"), meaning{}},
		"NoRole": {"Roles may not be loaded yet.",
			forbidden(`User "system:serviceaccount:p:manager" cannot create resource "jobs" in API group "batch" in the namespace "demo"`),
			meaning{starting: true, missingRight: true}},
		"Gone":             {"The object does not exist.", apierrors.NewNotFound(jobs, "run"), meaning{notFound: true}},
		"GoneWrapped":      {"Whoever passed it on.", fmt.Errorf("observe: %w", apierrors.NewNotFound(jobs, "run")), meaning{notFound: true}},
		"NotFoundByProxy":  {"A load balancer knows no objects.", byProxy(http.StatusNotFound), meaning{starting: true}},
		"ForbiddenByProxy": {"Nor does it know roles.", byProxy(http.StatusForbidden), meaning{starting: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := meaning{apierror.Starting(tc.err), apierror.MissingRight(tc.err), apierror.NotFound(tc.err)}
			if got != tc.want {
				t.Errorf("%s\n%v: got %+v, want %+v", tc.reason, tc.err, got, tc.want)
			}
			if ignored := apierror.IgnoreNotFound(tc.err) == nil; ignored != (tc.want.notFound || tc.err == nil) {
				t.Errorf("%s\n%v: ignored is %t", tc.reason, tc.err, ignored)
			}
		})
	}
}
