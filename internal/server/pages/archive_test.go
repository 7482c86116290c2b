package pages_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/stores"
)

// past is a run that only the archive has, with its log and its files.
type past struct {
	run
	log   string
	files map[string][]byte
}

// anOldRun failed two months ago.
func anOldRun(id string) past {
	return past{run: run{id: id, trigger: "smoke", environment: "staging", branch: "main", sha: commit("01d"), ago: 60 * 24 * time.Hour,
		took: minute, condition: v1alpha1.Failed("2 of 120 tests failed."), results: failures(), change: func(s *v1alpha1.Suite) {
			s.CreationTimestamp.Time = s.CreationTimestamp.Truncate(time.Second)
			s.Status.Artifacts = &v1alpha1.Artifacts{Count: 1}
		}}}
}

// store gives the world a real store, which has these runs.
func (h *world) store(t testing.TB, all ...past) {
	t.Helper()
	stores.Credentials(t)
	a := &archive.Archive{Bucket: stores.Rclone(t).Bucket(t)}
	for _, p := range all {
		s := p.suite()
		id := record.Of(team, s)
		var logs []record.Log
		if p.log != "" {
			log, err := a.SaveLog(t.Context(), id, "smoke-x7k2p", "tests", false, strings.NewReader(p.log))
			if err != nil {
				t.Fatal(err)
			}
			logs = append(logs, log)
		}
		for name, content := range p.files {
			key := id.ArtifactKey("smoke-x7k2p", name)
			if err := a.Bucket.Put(t.Context(), key, "application/octet-stream", bytes.NewReader(content), int64(len(content))); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.SaveRecord(t.Context(), record.New(team, s, logs)); err != nil {
			t.Fatal(err)
		}
	}
	h.reader.Archive = a
}

// loseStore gives the world a store that does not answer.
func (h *world) loseStore(t testing.TB) {
	t.Helper()
	stores.Credentials(t)
	o := stores.Server{Address: "http://127.0.0.1:1"}.Options()
	o.Bucket = "gone"
	h.reader.Archive = &archive.Archive{Bucket: stores.Open(t, o)}
}

// TestArchivedRuns: runs of the archive are listed between those of the cluster, and have all their pages.
func TestArchivedRuns(t *testing.T) {
	h := newWorld(t, samples())
	first, second := anOldRun("archived-1"), anOldRun("archived-2")
	first.log, first.files = sampleLog(), sampleFiles()
	second.ago, second.trigger, second.branch = 3*time.Hour, "mobile", "fix/tabs"
	h.store(t, first, second)
	b := h.browser(t, actKey)
	steps := []struct{ path, want, link string }{
		{"/runs/shop?trigger=smoke", "smoke-first-attempt", "?after="},
		{"/runs/shop?trigger=smoke&archive=1", "run-archived-1", "checked"},
		{"/runs/shop?trigger=mobile&archive=1", "run-archived-2", ">archived<"},
		{"/runs/shop?archive=1&state=Failed&branch=fix/tabs", "run-archived-2", ">archived<"},
		{"/runs/shop?q=nowhere+in+the+cluster", "look in the archive", "archive=1&amp;q=nowhere"},
		{"/runs/shop/archived-1", "pays with a saved card", "/attempts"},
		{"/runs/shop/archived-1/log", "117 passed", "L91"},
		{"/runs/shop/archived-1/artifacts", "pays-with-a-saved-card.png", "/files/"},
		{"/runs/shop/archived-1/variables", "NPM_TOKEN", "hidden"},
	}
	for _, s := range steps {
		got := b.get(s.path)
		if got.code != http.StatusOK || !strings.Contains(got.body, s.want) || !strings.Contains(got.body, s.link) {
			t.Errorf("%s: %d, without %q or %q", s.path, got.code, s.want, s.link)
		}
	}
	if got := b.get("/runs/shop/archived-1"); strings.Contains(got.body, "Run again") || strings.Contains(got.body, "<live-page>") {
		t.Error("an archived run can be repeated, or waits for changes")
	}
	if got := b.post("/runs/shop/archived-1/rerun", ""); got.code != http.StatusConflict {
		t.Errorf("to repeat an archived run: %d", got.code)
	}
	if got := b.get("/runs/shop/archived-3"); got.code != http.StatusNotFound {
		t.Errorf("a run that nobody has: %d", got.code)
	}
	if got := h.browser(t, otherKey).get("/runs/shop/archived-1"); got.code != http.StatusNotFound {
		t.Errorf("another team's archived run: %d", got.code)
	}
}

// TestStoreAway: what is in the cluster can be seen, and the page says what is missing.
func TestStoreAway(t *testing.T) {
	h := newWorld(t, samples())
	h.loseStore(t)
	b := h.browser(t, readKey)
	for path, want := range map[string]string{
		"/runs/shop": "smoke-1sta", "/runs/shop?archive=1": "Archived runs are missing", failedRun: "2 of 120 tests failed",
		failedRun + "/artifacts": "The store cannot be read at the moment", failedRun + "/log": "This log cannot be read at the moment",
	} {
		if got := b.get(path); got.code != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d, without %q", path, got.code, want)
		}
	}
	if got := b.get("/runs/shop/unknown"); got.code != http.StatusServiceUnavailable ||
		!strings.Contains(got.body, "The archive cannot be read") {
		t.Errorf("a run that may be in the archive: %d", got.code)
	}
}

// TestFindATest: a failed test leads to its line, or to a search.
func TestFindATest(t *testing.T) {
	h := newWorld(t, samples())
	h.logs.write(sampleLog())
	b := h.browser(t, readKey)
	for name, want := range map[string]string{
		"checkout+%E2%80%BA+pays+with+a+saved+card": failedRun + "/log?from=1&log=smoke-x7k2p%2Ftests#L90",
		"account+%E2%80%BA+deletes+an+address":      failedRun + "/log?q=deletes+an+address",
		"%22%3E%3Cscript%3E":                        failedRun + "/log?q=%22%3E%3Cscript%3E",
	} {
		got := b.get(failedRun + "/log/test?name=" + name)
		if got.code != http.StatusSeeOther || got.header.Get("Location") != want {
			t.Errorf("%s: %d to %s, want %s", name, got.code, got.header.Get("Location"), want)
		}
	}
	if got := b.get("/runs/shop/none/log/test?name=x"); got.code != http.StatusNotFound {
		t.Errorf("a test of no run: %d", got.code)
	}
}
