package apiserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"
)

// Compact removes all old versions of objects from etcd, and frees their space.
func (s *Server) Compact(t testing.TB) {
	t.Helper()
	var now struct {
		Header struct {
			Revision json.Number `json:"revision"`
		} `json:"header"`
	}
	if err := json.Unmarshal(s.callEtcd(t, "kv/range", map[string]any{"key": []byte("x")}), &now); err != nil {
		t.Fatal(err)
	}
	s.callEtcd(t, "kv/compaction", map[string]any{"revision": now.Header.Revision, "physical": true})
	s.callEtcd(t, "maintenance/defragment", map[string]any{})
}

// Disarm ends the alarms of etcd. One that is out of space refuses all writes until then.
func (s *Server) Disarm(t testing.TB) {
	t.Helper()
	var raised struct {
		Alarms []map[string]any `json:"alarms"`
	}
	if err := json.Unmarshal(s.callEtcd(t, "maintenance/alarm", map[string]any{"action": "GET"}), &raised); err != nil {
		t.Fatal(err)
	}
	for _, alarm := range raised.Alarms {
		alarm["action"] = "DEACTIVATE"
		s.callEtcd(t, "maintenance/alarm", alarm)
	}
}

// callEtcd uses the JSON gateway of etcd, which needs no client library.
func (s *Server) callEtcd(t testing.TB, method string, body any) []byte {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	at, err := os.ReadFile(s.path(etcdFile))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(string(at)+"/v3/"+method, "application/json", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("etcd %s: %s %s %v", method, resp.Status, answer, err)
	}
	return answer
}

// Objects is how many objects etcd has.
func (s *Server) Objects(t testing.TB) int {
	t.Helper()
	var counted struct {
		Count json.Number `json:"count"`
	}
	prefix := map[string]any{"key": []byte("/registry/"), "range_end": []byte("/registry0"), "count_only": true}
	if err := json.Unmarshal(s.callEtcd(t, "kv/range", prefix), &counted); err != nil {
		t.Fatal(err)
	}
	n, err := counted.Count.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
