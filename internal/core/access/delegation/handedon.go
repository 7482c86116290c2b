package delegation

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Command is what a cluster is asked for a Team.
type Command struct {
	Team       *v1alpha1.Team
	Delegation Delegation
	RequestID  string
}

// Notification is handed on to a cluster. Sent again, it starts no second run.
type Notification struct {
	Command
	*notification.Notification
	DryRun, Rerun  bool
	IdempotencyKey string
}

// Error says why a cluster did not do what it was asked.
type Error struct {
	Refused bool   // it, or the hub, refused; otherwise the same request may succeed later
	Final   bool   // do not ask again, although another attempt might succeed
	Message string // completes "The cluster NAME ..."; without a full stop
	Cause   error
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Sentence names the cluster, without a full stop.
func (e *Error) Sentence(cluster string) string { return "The cluster " + cluster + " " + e.Message }

func (e *Error) Unwrap() error { return e.Cause }
