package hub

import (
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// Answer is what a cluster said lately about a team.
type Answer struct {
	Cluster    string
	URL        string            // of its pages; empty if it is not known
	Overview   *httpapi.Overview // bounded; nil: it has not answered yet
	AnsweredAt time.Time         // zero: it has not
	Took       time.Duration     // until that answer
	Problem    string            // why the newest question got no answer; completes "The cluster NAME ...", without a full stop; empty: it did
}
