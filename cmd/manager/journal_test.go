package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

const changedTrigger = `apiVersion: postflight.dev/v1alpha1
kind: Trigger
metadata: {name: smoke}
spec: {environment: staging, match: {branches: [nothing]}}
`

// TestReplayAfterAStop: a manager that stops saves what it was notified, and the next one replays it.
func TestReplayAfterAStop(t *testing.T) {
	stores.Credentials(t)
	s, store := apiserver.Alone(t), stores.Rclone(t)
	kubeconfig := apiserver.Kubeconfig(t, s.Manager(t))
	withStore := func(o *options) {
		o.store.Options, o.store.createBucket, o.store.image, o.podURL = store.Options(), true, "postflight:test", "http://postflight.example.com"
	}
	tn := newTenant(t, s)
	t.Run("the first manager", func(t *testing.T) {
		m := startManager(t, kubeconfig, 0, leads, withStore)
		poll.True(t, "the store can be used", func() bool { _, code := tn.replay(t, m.url); return code == http.StatusOK })
		tn.deploy(t, m.url, "first")
	})
	m := startManager(t, kubeconfig, 0, leads, withStore)
	var got httpapi.Replay
	poll.True(t, "the replica knows the team", func() (ok bool) {
		var code int
		got, code = tn.replay(t, m.url)
		return code == http.StatusOK
	})
	if len(got.Triggers) != 1 || got.Triggers[0].Stops == 0 || got.Triggers[0].ComparedWith != "trigger" || got.Changes[0].SHA != "first" ||
		!*got.Changes[0].MatchedThen {
		t.Errorf("got %+v", got)
	}
}

func (tn *tenant) replay(t *testing.T, url string) (answer httpapi.Replay, code int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v0/replay", strings.NewReader(changedTrigger))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer pf_"+tn.namespace)
	r.Header.Set("Content-Type", "application/yaml")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(body, &answer)
	return answer, resp.StatusCode
}
