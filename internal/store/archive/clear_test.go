package archive_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/stores"
	"github.com/postflight-dev/postflight/test/tier"
)

// everything that a run leaves behind.
func everything(r record.Run) map[string][]byte {
	return map[string][]byte{
		r.RecordKey(): nil, r.IndexKey(): nil, r.LogKey("pod", "test", false): nil, r.LogKey("pod", "test", true): nil,
		r.ResultsKey("pod"): nil, r.ArtifactKey("pod", "a b/ü%+.png"): nil, r.ArtifactKey("pod-2", "x"): nil,
	}
}

// clearDays deletes whole days, and nothing of anything else.
func clearDays(t *testing.T, w world) {
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	before := at(10, 12)
	for _, r := range []record.Run{runAt("clear", "old", at(1, 0)), runAt("clear", "old", at(1, 5)), runAt("clear", "last-old", at(9, 23))} {
		w.put(t, everything(r))
	}
	gone := runAt("clear", "gone", at(2, 0))
	neighbours := map[string][]byte{}
	for _, r := range []record.Run{
		runAt("clear", "first-new", at(10, 0)), runAt("clear", "new", at(11, 0)), runAt("clear", "old", at(12, 0)), // the same id again
		runAt("clear-2", "old", at(1, 0)), runAt("clea", "old", at(1, 0)), runAt("x", "old", at(1, 0)),
	} {
		for key := range everything(r) {
			neighbours[key] = nil
		}
	}
	for _, key := range []string{
		"clear", "clear/app.apk", "clear/day=2026-03-01/app.apk", "clear/2026-03-01/run.json", "other/clear/" + gone.RecordKey(),
		"clear/postflight-runs2/day=2026-03-01/T000000Z-x/run.json", "clear/x/postflight-runs/day=2026-03-01/T000000Z-x/run.json",
		"clear/Postflight-Runs/day=2026-03-01/T000000Z-x/run.json", "clear/postflight-runs/readme.txt", "clear/postflight-runs/ids/gone/x",
		"clear/postflight-runs/day=2026-03-01", "clear/postflight-runs/day=2026-03-02/notes.txt",
		"clear/postflight-runs/day=2026-03-02/T000000Z-x",
		"clear/postflight-runs/day=2026-03-02/T000000Z-/run.json", "clear/postflight-runs/day=2026-03-02/T000000.5Z-x/run.json",
		"clear/postflight-runs/day=2026-03-02/T000000Z-x/run.json.bak", "clear/postflight-runs/day=2026-03-02/T000000Z-x/notes/run.json",
		"clear/postflight-runs/day=2026-02-30/T000000Z-x/run.json", "clear/postflight-runs/day=2026-3-1/T000000Z-x/run.json",
		"clear/postflight-runs/day=/T000000Z-x/run.json", "clear/postflight-runs/days/T000000Z-x/run.json",
	} {
		if w.Name == "rclone" && (key == "clear" || key == "clear/postflight-runs/day=2026-03-01" ||
			key == "clear/postflight-runs/day=2026-03-02/T000000Z-x") {
			continue // a file with the name of a folder
		}
		neighbours[key] = nil
	}
	w.put(t, neighbours)
	runs, err := w.Clear(t.Context(), "clear", before)
	if err != nil || runs != 3 {
		t.Errorf("%d runs, %v; want 3", runs, err)
	}
	left := map[string][]byte{}
	for _, prefix := range []string{"clea", "x/", "other/clear"} {
		for _, key := range w.keys(t, prefix) {
			left[key] = nil
		}
	}
	if diff := cmp.Diff(neighbours, left); diff != "" {
		t.Errorf("-neighbours +left:\n%s", diff)
	}
	if runs, err := w.Clear(t.Context(), "clear", before); err != nil || runs != 0 {
		t.Errorf("again: %d runs, %v", runs, err)
	}
}

// clearMany deletes more than a store lists and deletes at once.
func clearMany(t *testing.T, w world) {
	tier.All(t, "1500 objects are stored")
	r := runAt("clear-many", "run", noon)
	objects := everything(r)
	for i := range 1500 {
		objects[r.ArtifactKey("pod", fmt.Sprintf("%d.png", i))] = nil
	}
	w.put(t, objects)
	runs, err := w.Clear(t.Context(), "clear-many", noon.AddDate(0, 0, 1))
	if left := w.keys(t, "clear-many/"); err != nil || runs != 1 || len(left) != 0 {
		t.Errorf("%d runs, %v; %d objects are left, the first %q", runs, err, len(left), left[:min(1, len(left))])
	}
}

// clearInterrupted: wherever a deletion fails, the next one deletes the rest.
func clearInterrupted(t *testing.T, w world) {
	for _, allowed := range []int64{0, 1, 5, 10} {
		team := fmt.Sprintf("interrupted-%d", allowed)
		for i := range 3 {
			w.put(t, everything(runAt(team, "run", noon.AddDate(0, 0, i))))
		}
		address, refusals := failingDeletes(t, w.Address, allowed)
		o := w.Options()
		o.Endpoint = address
		_, err := (&archive.Archive{Bucket: stores.Open(t, o)}).Clear(t.Context(), team, noon.AddDate(0, 0, 5))
		if err == nil || refusals.Load() == 0 || len(w.keys(t, team)) == 0 {
			t.Errorf("after %d requests: %v, %d refused", allowed, err, refusals.Load())
		}
		if _, err := w.Clear(t.Context(), team, noon.AddDate(0, 0, 5)); err != nil || len(w.keys(t, team)) != 0 {
			t.Errorf("after %d requests and again: %v, %q are left", allowed, err, w.keys(t, team))
		}
	}
}

// failingDeletes is a store that does not delete more than some times.
func failingDeletes(t *testing.T, store string, allowed int64) (address string, refusals *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(store)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(u) // keeps the host, which is signed
	var deletes atomic.Int64
	refusals = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && deletes.Add(1) > allowed {
			refusals.Add(1)
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimSuffix(server.URL, "/"), refusals
}
