package notification

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
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
