package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestReceiverSecrets: what a Secret lacks is in the condition of the Team, and of the runs; the runs go on.
func TestReceiverSecrets(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t, withWebhook("lost", "lost"), withWebhook("ungranted", "ungranted"))
	w.create(aSecret("ungranted", w.hook.secret()))
	w.isReady("WebhookUnusable", "The webhook lost gets no events: The manager may not read the Secret lost.")
	w.create(aSuite("run", 0))
	w.runs("run")
	w.passes("run")
	w.hears("run", "queued", "started", "passed")
	w.notified("run", v1alpha1.ReasonNotifyFailed, "The webhook lost lacks the event Queued: The manager may not read the Secret lost. Allow it with a RoleBinding")
	w.notified("run", v1alpha1.ReasonNotifyFailed, "The webhook ungranted lacks the event Queued: The manager may not read the Secret ungranted")
	team := &v1alpha1.Team{}
	w.must(w.Client.Get(context.Background(), client.ObjectKey{Name: w.ns}, team))
	was := team.DeepCopy()
	team.Spec.Webhooks = team.Spec.Webhooks[:1]
	w.must(w.Client.Patch(context.Background(), team, client.MergeFrom(was)))
	w.isReady("Active", "")
	w.notified("run", v1alpha1.ReasonDelivered, "told to: webhook events.")
}

func (w *announceWorld) isReady(reason, message string) {
	w.t.Helper()
	w.eventually("the Team is "+reason, func() string {
		team := &v1alpha1.Team{}
		w.must(w.Client.Get(context.Background(), client.ObjectKey{Name: w.ns}, team))
		c := meta.FindStatusCondition(team.Status.Conditions, v1alpha1.ConditionReady)
		if c != nil && c.Reason == reason && strings.Contains(c.Message, message) {
			return ""
		}
		return fmt.Sprintf("%+v", c)
	})
}

// TestNotificationsNameNoReceiver: addresses in a notification are never called, and those of receivers only if they
// are not private.
func TestNotificationsNameNoReceiver(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer evil.Close()
	w := newAnnounceWorld(t, withWebhook("inside", "postflight-github"))
	w.create(aSecret("postflight-github", map[string][]byte{"secret": w.hook.secret()["secret"], "url": []byte("https://169.254.169.254/latest/meta-data/")}))
	w.create(aSuite("run", 0, func(s *v1alpha1.Suite) {
		s.Spec.Deployment = v1alpha1.Deployment{Branch: evil.URL, SHA: evil.URL, URL: evil.URL, CommitURL: evil.URL, Repository: evil.URL}
		s.Spec.Variables = v1alpha1.Variables{"WEBHOOK_URL": evil.URL, "SLACK_WEBHOOK_URL": evil.URL}
	}))
	w.runs("run")
	w.exits("run", 1)
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
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.must(w.Client.Get(context.Background(), w.key(run), s))
	text, err := json.Marshal(s)
	w.must(err)
	all := string(text) + strings.Join(w.notes(run), " ")
	for _, secret := range []string{"t0ken", "/chat", w.hook.URL, "whsec_", "169.254"} {
		if strings.Contains(all, secret) {
			w.t.Errorf("%q is in %s", secret, all)
		}
	}
}
