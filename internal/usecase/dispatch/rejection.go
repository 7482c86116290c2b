package dispatch

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// rejectedError says why there will be no run, as a sentence for the person who reads the CI log.
type rejectedError string

func (e rejectedError) Error() string { return string(e) }

func reject(format string, args ...any) error { return rejectedError(fmt.Sprintf(format, args...)) }

func (o *operation) checkVariables(t *v1alpha1.Trigger) error {
	if problem := o.Notification.VariablesProblem(t.Name, t.Spec.AllowVariables); problem != "" {
		return rejectedError(problem)
	}
	return nil
}

var errNamespaceGone = errors.New("the namespace is missing or being deleted")

// rejection makes a rejectedError or errNamespaceGone of a final error of the API server, also at the end of the budget.
func rejection(err error, object string) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case apierror.MissingRight(err):
		return reject("The manager may not create %s in this namespace. Ask the operator of this service to check its role.", object)
	case errors.Is(err, errOutcomeUnknown) || !errors.As(err, &status):
		return err
	case apierror.NamespaceGone(err):
		return fmt.Errorf("%w: %w", errNamespaceGone, err)
	}
	if apierror.Quota(err) {
		return reject("The quota of the namespace is used up, so %s could not be created: %s. "+
			"Delete what is finished, or raise the quota.", object, reason(err))
	}
	return reject("The API server refused %s: %s.", object, reason(err))
}

// reason is the API server's message without the name of the object, which does not exist.
func reason(err error) string {
	message := apierror.Message(err)
	for _, lead := range []string{" is forbidden: ", " is invalid: "} {
		if _, after, found := strings.Cut(message, lead); found {
			return after
		}
	}
	return message
}
