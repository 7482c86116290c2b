package notification

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestEncode: a cluster reads the Notification that the hub read. FuzzDecode has more bodies.
func TestEncode(t *testing.T) {
	for name, tc := range decodeAcceptsCases {
		t.Run(name, func(t *testing.T) {
			n, err := Decode([]byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			checkEncode(t, n)
		})
	}
}

// TestEncodeHasEveryField: a new field reaches clusters, too.
func TestEncodeHasEveryField(t *testing.T) {
	n := &Notification{
		Branch: "refs/heads/main", SHA: wholeSHA, DeploymentType: "staging", DeploymentURL: "https://pr-1.example.com", HostingService: v1alpha1.GitLab,
		CommitURL: "https://h/c", CommitMessage: "Fix login", CommitAuthor: "Ann Lee", Repository: "a/b/c", Service: "cart", PullRequestNumber: 12,
		PipelineID: 345, Variables: map[string]string{"A": "", "B": "$(C)\n"}, DeduplicationKey: "k", EphemeralEnvironment: true,
	}
	ofEvents := map[string]bool{"Workflow": true, "Job": true, "Task": true, "Unknown": true}
	for field, value := range reflect.ValueOf(*n).Fields() {
		if value.IsZero() != ofEvents[field.Name] {
			t.Errorf("set %s here, or say that only events have it", field.Name)
		}
	}
	checkEncode(t, n)
}

// checkEncode encodes a Notification as a hub does. Unknown members are named, not kept.
func checkEncode(t *testing.T, n *Notification) {
	t.Helper()
	body, err := json.Marshal(Encode(n))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(body)
	if err != nil {
		t.Fatalf("what a hub accepted is not accepted by a cluster: %v", err)
	}
	want := *n
	want.Unknown = nil
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("a cluster reads another notification: -hub +cluster:\n%s", diff)
	}
}
