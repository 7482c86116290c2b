package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/stores"
	"github.com/postflight-dev/postflight/test/tier"
)

// list reads the records of a team's newest runs, as pages of runs do.
func list(ctx context.Context, a *archive.Archive, team string, before *record.Run, limit int) (all []httpapi.Run, err error) {
	for r, err := range a.Runs(ctx, team, before) {
		if err != nil || len(all) == limit {
			return all, err
		}
		found, err := a.Summaries(ctx, []record.Run{r})
		if err != nil {
			return all, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func idsOf(all []httpapi.Run) (ids []string) {
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}

func records(t *testing.T, w world) {
	third, second, first := runAt("acme", "third", noon.Add(time.Second)), runAt("acme", "second", noon), runAt("acme", "first",
		noon.AddDate(0, 0, -1))
	w.save(t, second, third, first, runAt("acme-2", "other", noon), runAt("acm", "other", noon))
	w.put(t, map[string][]byte{
		"acme/app.apk":                          nil,
		"acme/postflight-runs/readme.txt":       nil,
		"acme/postflight-runs/day=x/file":       nil,
		"acme/postflight-runs/day=2026-11-21/x": nil,
		runAt("acme", "unfinished", noon.Add(time.Hour)).ArtifactKey("pod", "x"): nil,
		runAt("acme", "no-json", noon.Add(time.Hour)).RecordKey():                []byte(`{"id": "no-json", `),
		runAt("acme", "other-type", noon.Add(time.Hour)).RecordKey():             []byte(`{"id": "other-type", "attempt": "first"}`),
	})
	for name, tc := range map[string]struct {
		before *record.Run
		limit  int
		want   []string
	}{
		"Newest":        {nil, 2, []string{"third", "second"}},
		"All":           {nil, 100, []string{"third", "second", "first"}},
		"OlderThan":     {&second, 2, []string{"first"}},
		"OlderThanLast": {&first, 2, nil},
		"AnyTime":       {&record.Run{ID: "zzz", Created: noon}, 1, []string{"second"}},
	} {
		got, err := list(t.Context(), w.Archive, "acme", tc.before, tc.limit)
		if diff := cmp.Diff(tc.want, idsOf(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	shown, err := w.Summaries(t.Context(), []record.Run{third, runAt("acme", "unfinished", noon.Add(time.Hour)), first})
	if err != nil || len(shown) != 2 || shown[0].ID != "third" || shown[1].ID != "first" || shown[1].State != "Passed" {
		t.Errorf("summaries: %v, %v", shown, err)
	}
	if one, err := w.Record(t.Context(), "acme", "second"); err != nil || !one.CreatedAt.Equal(noon) || one.State != "Passed" {
		t.Errorf("by id: %v, %v", one, err)
	}
}

// manyRecords are more than a store lists at once, on one day. In the gate, they are more than a page.
func manyRecords(t *testing.T, w world) {
	count, page := 1100, 150
	if tier.Gate() {
		count, page = 30, 7
	}
	objects := map[string][]byte{}
	var want []string
	for i := range count {
		r := runAt("many", fmt.Sprintf("run-%d", i), noon.Add(time.Duration(i)*time.Second))
		objects[r.RecordKey()] = asJSON(t, recordOf(r))
		want = append(want, r.ID)
	}
	w.put(t, objects)
	slices.Reverse(want)
	var got []string
	var before *record.Run
	for {
		some, err := list(t.Context(), w.Archive, "many", before, page)
		must(t, err)
		if len(some) == 0 {
			break
		}
		got = append(got, idsOf(some)...)
		last := some[len(some)-1]
		before = &record.Run{Team: last.Team, ID: last.ID, Created: last.CreatedAt}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// sameID: a Suite was deleted, and created again.
func sameID(t *testing.T, w world) {
	w.save(t, runAt("twice", "same", noon), runAt("twice", "same", noon.Add(time.Hour)), runAt("twice", "same-2", noon.Add(2*time.Hour)))
	if got, err := w.Record(t.Context(), "twice", "same"); err != nil || !got.CreatedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%v, %v; want the newer", got.CreatedAt, err)
	}
}

func noRecord(t *testing.T, w world) {
	w.save(t, runAt("other", "theirs", noon))
	for _, id := range []string{"never", "theirs", "../ids/theirs", "", "theirs/", "..", "%2e", "a b"} {
		if _, err := w.Record(t.Context(), "none", id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of %q: %v", id, err)
		}
	}
	if got, err := list(t.Context(), w.Archive, "none", nil, 10); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// noBucket: nothing is known about runs, which is not the same as that there is none.
func noBucket(t *testing.T, w world) {
	o := w.Options()
	o.Bucket = "missing"
	a := &archive.Archive{Bucket: stores.Open(t, o)}
	_, byID := a.Record(t.Context(), "acme", "second")
	_, listed := list(t.Context(), a, "acme", nil, 1)
	_, file := a.OpenLog(t.Context(), runAt("acme", "second", noon), "pod", "test", false)
	for name, err := range map[string]error{"Record": byID, "Runs": listed, "OpenLog": file,
		"SaveRecord": a.SaveRecord(t.Context(), recordOf(runAt("acme", "x", noon)))} {
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no such bucket") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
