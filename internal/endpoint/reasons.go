package endpoint

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/internal/apierror"
)

// refused is a definite no, with the reason as a sentence for the person who reads the CI log.
type refused struct{ reason string }

func (e *refused) Error() string { return e.reason }

func refusef(format string, args ...any) error { return &refused{fmt.Sprintf(format, args...)} }

// errGone says that the team's namespace is missing or being deleted.
var errGone = errors.New("the namespace is missing or being deleted")

// final says what the end of a hold means for the object: *refused or errGone where the API server
// refused it for good, also where that showed only at the end of the patience. Others are passed on.
func final(err error, what string) error {
	var status apierrors.APIStatus
	var late *undecided
	switch {
	case err == nil:
		return nil
	case apierror.MissingRight(err):
		return refusef("The manager may not create %s in this namespace. Ask the operator of this service to check its role.", what)
	case errors.As(err, &late) || !errors.As(err, &status):
		return err
	case apierror.NamespaceGone(err):
		return fmt.Errorf("%w: %w", errGone, err)
	default:
		return &refused{reason(err, what)}
	}
}

func reason(err error, what string) string {
	if apierror.Quota(err) {
		return fmt.Sprintf("The quota of the namespace is used up, so %s could not be created: %s. Delete what is finished, or raise the quota.", what, why(err))
	}
	return fmt.Sprintf("The API server refused %s: %s.", what, why(err))
}

// why cuts what the API server says before its reason: the name of an object that does not exist.
func why(err error) string {
	message := apierror.Message(err)
	for _, lead := range []string{" is forbidden: ", " is invalid: "} {
		if _, after, found := strings.Cut(message, lead); found {
			return after
		}
	}
	return message
}
