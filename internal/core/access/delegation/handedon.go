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
	Done    bool   // it may have done what it was asked
	Final   bool   // asking again could do it twice
	Message string // completes "The cluster NAME ..."; without a full stop
	Cause   error
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

func (e *Error) Unwrap() error { return e.Cause }
