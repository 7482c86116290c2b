package archive_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/archive"
	"github.com/postflight-dev/postflight/internal/record"
	"github.com/postflight-dev/postflight/test/stores"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestConformance runs with two independent implementations of S3.
func TestConformance(t *testing.T) {
	stores.Each(t, func(t *testing.T, s stores.Server) {
		a := &archive.Archive{Bucket: s.Bucket(t)}
		t.Run("Logs", func(t *testing.T) { logs(t, a) })
		t.Run("Records", func(t *testing.T) { records(t, a) })
	})
}

func runAt(team, id string, at time.Time) record.Run {
	return record.Run{Team: team, ID: id, Created: at}
}

func save(t *testing.T, a *archive.Archive, r record.Run) {
	t.Helper()
	if err := a.SaveRecord(t.Context(), record.Record{Run: httpapi.Run{ID: r.ID, Team: r.Team, CreatedAt: r.Created, State: "Passed"}}); err != nil {
		t.Fatal(err)
	}
}

func ids(all []record.Record) (ids []string) {
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}

func records(t *testing.T, a *archive.Archive) {
	runs := []record.Run{
		runAt("acme", "third", noon.Add(time.Second)), runAt("acme", "second", noon), runAt("acme", "first", noon.AddDate(0, 0, -1)),
	}
	for _, r := range runs {
		save(t, a, r)
	}
	save(t, a, runAt("acme-2", "other", noon))
	got, err := a.Records(t.Context(), "acme", nil, 2)
	if diff := cmp.Diff([]string{"third", "second"}, ids(got)); err != nil || diff != "" {
		t.Errorf("the first page: %v %s", err, diff)
	}
	got, err = a.Records(t.Context(), "acme", &runs[1], 2)
	if diff := cmp.Diff([]string{"first"}, ids(got)); err != nil || diff != "" {
		t.Errorf("the second page: %v %s", err, diff)
	}
	if one, err := a.Record(t.Context(), "acme", "second"); err != nil || one.ID != "second" || !one.CreatedAt.Equal(noon) {
		t.Errorf("by id: %v, %v", one, err)
	}
	for _, id := range []string{"other", "../ids/second", "", "second/"} {
		if _, err := a.Record(t.Context(), "acme", id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the record of %q: %v", id, err)
		}
	}
}

func logs(t *testing.T, a *archive.Archive) {
	r := runAt("acme", "logs", noon)
	text := strings.Repeat("a line\n", 10000)
	log, err := a.SaveLog(t.Context(), r, "pod-1", "test", false, strings.NewReader(text))
	if want := (record.Log{Pod: "pod-1", Container: "test", Bytes: 70000}); err != nil || log != want {
		t.Errorf("%v, %v; want %v", log, err, want)
	}
	content, err := a.OpenLog(t.Context(), r, "pod-1", "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, []byte(text)) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}
