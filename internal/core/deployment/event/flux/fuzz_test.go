package flux_test

import (
	"net/http"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/flux"
	"github.com/postflight-dev/postflight/test/payload"
)

// FuzzDecode: what is accepted names a version and an environment, and can be recognized when it comes again.
func FuzzDecode(f *testing.F) {
	f.Add(payload.Recorded(f, ofKustomization))
	f.Add(payload.Recorded(f, ofHelmRelease))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := flux.Decode(http.Header{}, body, event.Options{})
		if err != nil {
			isSentence(t, err.Error())
			return
		}
		if (e.Notification == nil) != (e.Ignored != "") || e.Rerun != nil || e.Post != nil || len(e.ID) > 200 || len(e.Type) > 80 {
			t.Fatalf("got %+v", e)
		}
		if n := e.Notification; n != nil && (n.SHA == "" || n.DeploymentType == "" || e.ID == "" || e.Key == "" || e.At.IsZero()) {
			t.Fatalf("accepted %+v", n)
		}
		if again := decode(t, body, event.Options{}); again.ID != e.ID || again.Key != e.Key {
			t.Fatalf("the same event is %s and %s", e.ID, again.ID)
		}
	})
}
