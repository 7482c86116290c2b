// Package apierror classifies errors of an API server whose codes are ambiguous. Only this package matches their texts.
package apierror

import (
	"errors"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// The API server has no codes of its own for these. Kubernetes' own controllers match the text, too.
var (
	missingRight = regexp.MustCompile(`User ".*" cannot [a-z]+ resource "`)
	notReady     = regexp.MustCompile(`not yet ready to handle request|status unknown for quota|-jobs-of-environments' .*denied request|` +
		`cannot find RESTMapping for APIVersion postflight\.dev/`) // its kinds exist, and are not loaded yet
	policyNotReady = regexp.MustCompile(`denied request: failed to configure (policy|binding): `) // it may lack its parameters yet
	kindUnknown    = regexp.MustCompile(`-jobs-of-(environments|teams|triggers)' .*failed to find resource referenced by paramKind`)
	missingKey     = regexp.MustCompile(`-jobs-of-teams' .*failed to configure binding: no params found`)
	missingTrigger = regexp.MustCompile(`-jobs-of-(environments|triggers)' .*failed to configure binding: no params found`)
	quotaExceeded  = regexp.MustCompile(`exceeded quota|maximum .* quota`)
	tooLarge       = regexp.MustCompile(`request is too large|message larger than max`) // for etcd, or for the connection to it
)

// Starting reports whether the error may end once the API server has loaded everything, or comes from a proxy, in another format.
func Starting(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) ||
		MissingRight(err) || forbidden(err, notReady) || apierrors.IsInvalid(err) && policyNotReady.MatchString(err.Error())
}

// MissingRight reports whether a role is missing, or not loaded yet: the answers are the same.
func MissingRight(err error) bool { return forbidden(err, missingRight) }

// Quota reports whether a quota is used up. The same request may succeed once something was deleted.
func Quota(err error) bool { return forbidden(err, quotaExceeded) }

// TooLarge reports whether the object is larger than the API server or etcd accepts.
func TooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || err != nil && tooLarge.MatchString(err.Error())
}

// Rejected reports whether an API server that is up would refuse the same request again.
func Rejected(err error) bool {
	if Starting(err) || Quota(err) {
		return false
	}
	return TooLarge(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err)
}

// Retryable reports whether the same request may succeed soon. A request without an answer may also have succeeded already.
func Retryable(err error) bool {
	var status apierrors.APIStatus
	if err == nil || TooLarge(err) {
		return false
	}
	if !errors.As(err, &status) || Starting(err) {
		return true
	}
	code := status.Status().Code
	return code >= 500 || code == 401 || code == 408 || code == 429 ||
		apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// Unanswered reports whether the outcome of the request is unknown: the API server did not answer it, or gave up.
func Unanswered(err error) bool {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err != nil
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// Unreachable reports whether the API server, or what is before it, did not answer. When it does again, it has yet to load everything.
func Unreachable(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) // a reset is a probable EOF
}

// NotFound reports whether an object does not exist, as opposed to its kind, or to a proxy's path.
func NotFound(err error) bool { return apierrors.IsNotFound(err) && !Starting(err) }

// IgnoreNotFound returns nil if the error says that an object does not exist.
func IgnoreNotFound(err error) error {
	if NotFound(err) {
		return nil
	}
	return err
}

// NamespaceGone reports whether the namespace is missing or being deleted.
func NamespaceGone(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// Message returns the API server's message, or one with advice, without the callers' context and the final full stop.
func Message(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		err = errors.New(status.Status().Message)
	}
	text := err.Error()
	switch { // a policy cannot give the advice itself
	case missingKey.MatchString(text):
		return "its namespace has no APIKey. If that lasts, the policies are of an earlier version, which wants one: apply those of the " +
			"manager's version"
	case missingTrigger.MatchString(text):
		return "it knows neither a Trigger nor an APIKey in the namespace of the run"
	case kindUnknown.MatchString(text):
		return "it has not loaded the policies of Postflight yet, which takes up to half a minute after an installation"
	}
	return strings.TrimRight(strings.TrimSpace(err.Error()), ".")
}

func forbidden(err error, text *regexp.Regexp) bool {
	return apierrors.IsForbidden(err) && text.MatchString(err.Error())
}
