package record_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/record"
)

var received = time.Date(2026, 11, 21, 9, 30, 5, 123456789, time.UTC)

func named(names ...string) (all []*v1alpha1.Trigger) {
	for _, name := range names {
		all = append(all, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return all
}

// TestNotificationKeepsWhatTriggersMatch: all but the variables that are withheld comes back from the line.
func TestNotificationKeepsWhatTriggersMatch(t *testing.T) {
	n := &notification.Notification{
		Branch: "refs/heads/main", SHA: "abc", DeploymentType: "staging", DeploymentURL: "https://h", HostingService: v1alpha1.GitLab,
		CommitURL: "https://c", CommitMessage: "m", CommitAuthor: "a", Repository: "acme/shop", PullRequestNumber: 12, PipelineID: 13,
		DeduplicationKey: "key", EphemeralEnvironment: true, Workflow: "w", Job: "j", Task: "t",
		Variables: map[string]string{"REGION": "eu", "EMPTY": "", "NPM_TOKEN": "hunter2", "DB": "postgres://shop:hunter2@db/shop", "LONG": strings.Repeat("x", 257)},
	}
	line, err := json.Marshal(record.NotificationOf(received, n, named("smoke", "visual")))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), "hunter2") || strings.Contains(string(line), "\n") {
		t.Errorf("the line is %s", line)
	}
	var kept record.Notification
	if err := json.Unmarshal(line, &kept); err != nil {
		t.Fatal(err)
	}
	want := *n
	want.Variables = map[string]string{"REGION": "eu", "EMPTY": ""}
	if diff := cmp.Diff(&want, kept.Notification()); diff != "" {
		t.Errorf("-sent +kept:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DB", "LONG", "NPM_TOKEN"}, kept.Withheld); diff != "" {
		t.Errorf("withheld: -want +got:\n%s", diff)
	}
	if kept.Way != origin.WayAPI || !kept.At.Equal(received.Truncate(time.Millisecond)) || !cmp.Equal(kept.Matched, []string{"smoke", "visual"}) {
		t.Errorf("kept %+v", kept)
	}
}

// TestNotificationIsBounded: whatever is sent.
func TestNotificationIsBounded(t *testing.T) {
	n := &notification.Notification{Variables: map[string]string{}}
	var names []string
	for i := range notification.MaxVariables {
		n.Variables[fmt.Sprintf("V%03d", i)] = strings.Repeat("\x00", 250)
	}
	for i := range 2000 {
		names = append(names, fmt.Sprintf("trigger-%04d", i))
	}
	for _, text := range []*string{&n.Branch, &n.DeploymentURL, &n.CommitURL} {
		*text = strings.Repeat("\x00", notification.MaxURLBytes)
	}
	kept := record.NotificationOf(received, n, named(names...))
	line, err := json.Marshal(kept)
	if err != nil || len(line) > 100<<10 {
		t.Errorf("the line has %d bytes, %v", len(line), err)
	}
	if len(kept.Variables)+len(kept.Withheld) != notification.MaxVariables || len(kept.Matched)+kept.MoreMatched != 2000 || kept.MoreMatched == 0 {
		t.Errorf("%d variables, %d withheld; %d Triggers, %d more", len(kept.Variables), len(kept.Withheld), len(kept.Matched), kept.MoreMatched)
	}
	for name, tc := range map[string]struct{ matched, known bool }{"trigger-0000": {true, true}, "a": {false, true}, "trigger-1999": {false, false}} {
		if matched, known := kept.MatchedBy(name); matched != tc.matched || known != tc.known {
			t.Errorf("%s: matched %t, known %t", name, matched, known)
		}
	}
}

func TestNotificationsKey(t *testing.T) {
	key := record.NotificationsKey("acme", received, "k7q5x-0")
	if want := "acme/postflight-runs/notifications/day=2026-11-21/T09-k7q5x-0.jsonl.gz"; key != want {
		t.Errorf("the key is %s, want %s", key, want)
	}
	if hour, ok := record.ParseNotificationsKey("acme", key); !ok || !hour.Equal(received.Truncate(time.Hour)) {
		t.Errorf("%s, %t", hour, ok)
	}
	for _, bad := range []string{
		"", "acme/postflight-runs/notifications/day=2026-11-21/", "acme/postflight-runs/notifications/day=2026-11-21/T09-.jsonl.gz",
		"acme/postflight-runs/notifications/day=2026-11-21/T24-a.jsonl.gz", "acme/postflight-runs/notifications/day=2026-11-21/T09-a.json",
		"other/postflight-runs/notifications/day=2026-11-21/T09-a.jsonl.gz", "acme/postflight-runs/day=2026-11-21/T093005Z-smoke/run.json",
	} {
		if hour, ok := record.ParseNotificationsKey("acme", bad); ok {
			t.Errorf("%q is of %s", bad, hour)
		}
	}
	if _, err := record.ParseDirectory("acme", key); err == nil {
		t.Error("the key is one of a run")
	}
}
