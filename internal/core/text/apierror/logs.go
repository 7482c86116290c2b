package apierror

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What an unreadable log of a container means. The texts are for users.
var (
	ErrLogGone         = errors.New("the log is gone, because its container, pod or node is")
	ErrNodeGone        = fmt.Errorf("the node is gone: %w", ErrLogGone) // a case of it
	ErrNotStarted      = errors.New("the container has not started")
	ErrNodeUnreachable = errors.New("the node of the pod does not answer")
)

// These are texts of the kubelet. It has no codes for them.
var (
	notStarted = regexp.MustCompile(`is waiting to start|is not available`)
	logGone    = regexp.MustCompile(
		`cannot be found - no logs available|previous terminated container .* not found|in pod .* is terminated|is not valid for pod`)
	logFailed = regexp.MustCompile(
		`^(unable to retrieve container logs for [a-z-]+://[0-9a-f]+|failed to try resolving symlinks in path "[^"]*": .*)$`)
)

// OfLog wraps the error of reading a pod's log in the error above that it means. A missing answer or right means none.
func OfLog(err error, pod string) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || Starting(err) {
		return err
	}
	text := status.Status().Message
	switch {
	case apierrors.IsNotFound(err) && !about(status, pod): // it gives the name of the node as the name of a pod
		return fmt.Errorf("%w (%w)", ErrNodeGone, err)
	case apierrors.IsNotFound(err), logGone.MatchString(text):
		return fmt.Errorf("%w (%w)", ErrLogGone, err)
	case notStarted.MatchString(text):
		return fmt.Errorf("%w (%w)", ErrNotStarted, err)
	case status.Status().Code >= 500:
		return fmt.Errorf("%w (%w)", ErrNodeUnreachable, err)
	default:
		return err
	}
}

func about(status apierrors.APIStatus, name string) bool {
	details := status.Status().Details
	return details == nil || details.Name == "" || details.Name == name
}

// IsLogError reports whether a log with status 200 is an error: the kubelet notices late that the file is gone.
func IsLogError(body []byte) bool { return logFailed.Match(body) }
