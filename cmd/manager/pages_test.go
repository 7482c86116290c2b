package main

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestPagesReadTheStore: the pages of a manager show runs of the cluster, and those that only its store has.
func TestPagesReadTheStore(t *testing.T) {
	stores.Credentials(t)
	s, store := apiserver.Alone(t), stores.Rclone(t)
	past := &archive.Archive{Bucket: store.Bucket(t)}
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, answers, func(o *options) {
		o.store.Options, o.store.image = store.Options(), "postflight:test"
	})
	tn := newTenant(t, s)
	public := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tn.namespace}}
	if err := s.Client.Patch(t.Context(), public, client.RawPatch(types.MergePatchType, []byte(
		`{"metadata":{"annotations":{"postflight.dev/records-since":"2020-01-01T00:00:00Z"}},"spec":{"publicPages":true}}`))); err != nil {
		t.Fatal(err)
	}
	old := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: tn.namespace, Name: "smoke-old",
			CreationTimestamp: metav1.NewTime(time.Now().Add(-48 * time.Hour).Truncate(time.Second))},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Branch: "main"}},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{v1alpha1.Failed("Exit code 1.")}},
	}
	log, err := past.SaveLog(t.Context(), record.Of(tn.namespace, old), "smoke-old-x", "test", false, strings.NewReader("it did not work\n"))
	if err == nil {
		err = past.SaveRecord(t.Context(), record.New(tn.namespace, old, []record.Log{log}))
	}
	if err != nil {
		t.Fatal(err)
	}
	live := tn.deploy(t, m.url, "first")
	for path, want := range map[string]string{
		"/runs/NS": live.Name, "/runs/NS?archive=1": "run-smoke-old", "/runs/NS/smoke-old": "Exit code 1.",
		"/runs/NS/smoke-old/log": "it did not work", "/runs/NS/" + live.Name: "Queued",
	} {
		path = strings.ReplaceAll(path, "NS", tn.namespace)
		poll.True(t, path+" shows "+want, func() bool {
			code, body := get(t, m.url+path, nil)
			return code == http.StatusOK && strings.Contains(body, want)
		})
	}
}

// get returns the status and the body of an answer.
func get(t *testing.T, address string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
