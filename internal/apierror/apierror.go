// Package apierror tells what the answers of an API server mean, where its codes do not: which no is
// meant, and which one it gives only for as long as it starts.
package apierror

import (
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Starting reports whether the answer is one that an API server gives only until it knows all that it
// has to know: roles, quotas and policies, each of which it takes for a no, and the paths of custom
// resources. An answer in a form that is not the API server's is some proxy's, and means as little.
func Starting(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return true
	}
	return MissingRight(err) || apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), "not yet ready to handle request") || strings.Contains(err.Error(), "status unknown for quota"))
}

// missingRight is how the API server words that a role is missing, or not known yet.
var missingRight = regexp.MustCompile(`User ".*" cannot [a-z]+ resource "`)

// MissingRight reports whether a role is missing, or not known yet: nobody can tell which.
func MissingRight(err error) bool {
	return apierrors.IsForbidden(err) && missingRight.MatchString(err.Error())
}

// NotFound reports whether an object does not exist, as opposed to its kind, or to a proxy's path.
func NotFound(err error) bool { return apierrors.IsNotFound(err) && !Starting(err) }

// IgnoreNotFound is nil where the error says that an object does not exist.
func IgnoreNotFound(err error) error {
	if NotFound(err) {
		return nil
	}
	return err
}
