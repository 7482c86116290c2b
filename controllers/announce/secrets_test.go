package announce_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// TestReceiverSecrets: what a Secret lacks is in the condition of the Team, and of the runs; the runs go on.
func TestReceiverSecrets(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t, withWebhook("lost", "lost"), withWebhook("ungranted", "ungranted"))
	w.Create(build.Secret("ungranted", w.hook.secret()))
	w.isReady("WebhookUnusable", "The webhook lost gets no events: The manager may not read the Secret lost.")
	w.Start(build.Suite("run", 0))
	w.Passes("run")
	w.hears("run", "queued", "started", "passed")
	w.notified("run", v1alpha1.ReasonNotifyFailed, "The webhook lost lacks the event Queued: The manager may not read the Secret lost. Allow it with a RoleBinding")
	w.notified("run", v1alpha1.ReasonNotifyFailed, "The webhook ungranted lacks the event Queued: The manager may not read the Secret ungranted")
	w.Change(build.Team(w.NS, ""), func(o client.Object) { o.(*v1alpha1.Team).Spec.Webhooks = o.(*v1alpha1.Team).Spec.Webhooks[:1] })
	w.isReady("Active", "")
	w.notified("run", v1alpha1.ReasonDelivered, "told to: webhook events.")
}

func (w *announceWorld) isReady(reason, message string) {
	w.T.Helper()
	w.HasCondition(build.Team(w.NS, ""), v1alpha1.ConditionReady, reason, message)
}

// TestNotificationsNameNoReceiver: addresses in a notification are never called, and those of receivers only if they
// are not private.
func TestNotificationsNameNoReceiver(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer evil.Close()
	w := newAnnounceWorld(t, withWebhook("inside", "postflight-github"))
	w.Create(build.Secret("postflight-github", map[string][]byte{"secret": w.hook.secret()["secret"], "url": []byte("https://169.254.169.254/latest/meta-data/")}))
	w.Create(build.Suite("run", 0, func(s *v1alpha1.Suite) {
		s.Spec.Deployment = v1alpha1.Deployment{Branch: evil.URL, SHA: evil.URL, URL: evil.URL, CommitURL: evil.URL, Repository: evil.URL}
		s.Spec.Variables = v1alpha1.Variables{"WEBHOOK_URL": evil.URL, "SLACK_WEBHOOK_URL": evil.URL}
	}))
	w.Runs("run")
	w.Exits("run", 1)
	w.hears("run", "queued", "started", "failed")
	w.chatHears("smoke failed")
	w.notified("run", v1alpha1.ReasonNotifyFailed, "The webhook inside lacks the event Queued: Its address is in a private network")
	w.hidesSecrets("run")
	if n := requests.Load(); n > 0 {
		t.Errorf("an address in a notification got %d requests", n)
	}
}

// hidesSecrets: neither an address nor a key of a receiver is in the objects that people read.
func (w *announceWorld) hidesSecrets(run string) {
	w.T.Helper()
	s := w.Suite(run)
	text, err := json.Marshal(s)
	w.Must(err)
	all := string(text) + strings.Join(w.Events(s), " ")
	for _, secret := range []string{"t0ken", "/chat", w.hook.URL, "whsec_", "169.254"} {
		if strings.Contains(all, secret) {
			w.T.Errorf("%q is in %s", secret, all)
		}
	}
}
