package api

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// TestReplyOfWhatIsLeftOut: a Trigger that is too large to be known fails, and no Environment is invented for it.
func TestReplyOfWhatIsLeftOut(t *testing.T) {
	r := newReply(dispatch.Result{Triggers: []dispatch.TriggerResult{
		{Trigger: "large", Decision: dispatch.Failed, Reason: "It was left out.", Environment: &v1alpha1.Environment{}},
	}})
	if len(r.Results) != 1 || r.Results[0].FailureReason != "It was left out." || r.Environment != nil {
		t.Errorf("got %+v, and the Environment %+v", r.Results, r.Environment)
	}
}
