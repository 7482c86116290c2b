package dispatch

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// record keeps a line for replays.
func (o *operation) record(matched []*v1alpha1.Trigger) {
	if o.Journal == nil || o.Mode == DryRun {
		return
	}
	n := record.NotificationOf(o.ServerTime(o.ReceivedAt), o.Notification, matched)
	if o.Origin.mark(&n) {
		o.Journal.Record(o.Team.Name, n)
	}
}
