package archive_test

import (
	"context"
	"encoding/json"
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
)

func deployed(team, environment, repository, sha string, at time.Time) record.Deployment {
	return record.Deployment{Team: team, Namespace: team, Environment: environment, Deployment: httpapi.Deployment{
		Repository: repository, SHA: sha, Since: at, ReportedBy: "Workload",
	}}
}

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func (w world) deploy(t *testing.T, all ...record.Deployment) {
	t.Helper()
	for _, d := range all {
		must(t, w.SaveDeployment(t.Context(), d))
	}
}

// asText names deployments by repository, commit and minutes.
func asText(all []record.Deployment) (lines []string) {
	for _, d := range all {
		text := fmt.Sprintf("%s %s %v", d.Repository, d.SHA, d.Since.Sub(noon).Minutes())
		if d.Until != nil {
			text += fmt.Sprintf("-%v", d.Until.Sub(noon).Minutes())
		}
		lines = append(lines, text)
	}
	return lines
}

// deployments are found by time, whatever lies beside them.
func deployments(t *testing.T, w world) {
	for _, d := range []record.Deployment{
		deployed("acme", "staging", "acme/shop", "aaaa", minute(10)), deployed("acme", "staging", "acme/shop", "bbbb", minute(20)),
		deployed("acme", "staging", "acme/pay", "1111", minute(15)), deployed("acme", "staging-2", "acme/shop", "zzzz", minute(1)),
		deployed("acme-2", "staging", "acme/shop", "yyyy", minute(1)),
	} {
		w.deploy(t, d, d) // another leader
	}
	prefix := deployed("acme", "staging", "acme/shop", "", noon).Series().Prefix()
	broken := deployed("acme", "staging", "acme/broken", "cccc", minute(12))
	w.put(t, map[string][]byte{
		prefix + "0000000000-note.txt": nil, prefix + "9-x": nil, "acme/postflight-runs/environments/readme.txt": nil,
		broken.Key(): []byte(`{"sha":`),
	})
	for name, tc := range map[string]struct {
		at   int
		want []string
	}{
		"before all": {9, nil}, "at once": {10, []string{"acme/shop aaaa 10"}}, "two": {19, []string{"acme/pay 1111 15", "acme/shop aaaa 10"}},
		"later": {9999, []string{"acme/pay 1111 15", "acme/shop bbbb 20"}},
	} {
		got, err := w.DeploymentsAt(t.Context(), "acme", "staging", minute(tc.at))
		if diff := cmp.Diff(tc.want, asText(record.DeployedAt(got, minute(tc.at)))); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for name, tc := range map[string]struct {
		after, limit int
		want         []string
		more         bool
	}{
		"all":    {-1, 10, []string{"acme/shop bbbb 20", "acme/pay 1111 15", "acme/shop aaaa 10-20"}, false},
		"after":  {20, 10, []string{"acme/shop bbbb 20", "acme/pay 1111 15"}, false},
		"during": {19, 10, []string{"acme/shop bbbb 20", "acme/pay 1111 15", "acme/shop aaaa 10-20"}, false},
		"first":  {-1, 1, []string{"acme/shop bbbb 20"}, true},
	} {
		got, more, err := w.DeploymentHistory(t.Context(), "acme", "staging", record.Span{After: minute(tc.after)}, tc.limit)
		if diff := cmp.Diff(tc.want, asText(got)); err != nil || diff != "" || more != tc.more {
			t.Errorf("%s: %v, more: %t %s", name, err, more, diff)
		}
	}
	for _, name := range []string{"production", "..", "staging/x", ""} {
		if _, err := w.DeploymentsAt(t.Context(), "acme", name, minute(99)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := w.DeploymentHistory(t.Context(), "acme", name, record.Span{}, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the history of %q: %v", name, err)
		}
	}
}

// deploymentLine: it is a line, and what was known once stays known.
func deploymentLine(t *testing.T, w world) {
	d := deployed("lines", "staging", "acme/shop", "aaaa", minute(10))
	d.Workloads = []httpapi.DeployedWorkload{{Kind: "Deployment", Namespace: "lines", Name: "web", Ready: true,
		Digests: []httpapi.ImageDigest{{Container: "web", Digest: "sha256:1"}}}}
	w.deploy(t, d)
	later := deployed("lines", "staging", "acme/shop", "aaaa", minute(10))
	later.Branch = "main"
	w.deploy(t, later)
	w.put(t, map[string][]byte{deployed("lines", "staging", "acme/shop", "bbbb", minute(20)).Key(): []byte("{")}) // damaged
	w.deploy(t, deployed("lines", "staging", "acme/shop", "bbbb", minute(20)))
	content, _, err := w.Archive.Bucket.Get(t.Context(), d.Key())
	must(t, err)
	defer content.Close()
	var got map[string]any
	must(t, json.NewDecoder(content).Decode(&got))
	want := map[string]any{
		"team": "lines", "namespace": "lines", "environment": "staging", "repository": "acme/shop", "sha": "aaaa", "branch": "main",
		"since": "2026-11-21T12:10:00Z", "reportedBy": "Workload",
		"workloads": []any{map[string]any{"kind": "Deployment", "namespace": "lines", "name": "web", "ready": true,
			"digests": []any{map[string]any{"container": "web", "digest": "sha256:1"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if all, err := w.DeploymentsAt(t.Context(), "lines", "staging", minute(30)); err != nil || len(all) != 1 || all[0].SHA != "bbbb" {
		t.Errorf("a broken line is written again: %v, %v", all, err)
	}
}

// deletedEnvironment: what it had stays known, and nothing is there afterwards, until another one has its name.
func deletedEnvironment(t *testing.T, w world) {
	w.deploy(t, deployed("ended", "pr-7", "acme/shop", "aaaa", minute(10)), deployed("ended", "pr-7", "acme/pay", "1111", minute(90)))
	for range 2 { // another leader, later
		must(t, w.EndDeployments(t.Context(), "ended", "pr-7", minute(30)))
	}
	must(t, w.EndDeployments(t.Context(), "ended", "never", minute(30)))
	w.deploy(t, deployed("ended", "pr-7", "acme/shop", "bbbb", minute(50)))
	for at, want := range map[int][]string{20: {"acme/shop aaaa 10"}, 30: nil, 40: nil, 50: {"acme/shop bbbb 50"},
		90: {"acme/pay 1111 90", "acme/shop bbbb 50"}, 99: {"acme/shop bbbb 50"}} {
		got, err := w.DeploymentsAt(t.Context(), "ended", "pr-7", minute(at))
		if diff := cmp.Diff(want, asText(record.DeployedAt(got, minute(at)))); err != nil || diff != "" {
			t.Errorf("at %d: %v %s", at, err, diff)
		}
	}
	got, _, err := w.DeploymentHistory(t.Context(), "ended", "pr-7", record.Span{After: noon}, 10)
	if len(got) != 3 || got[0].Until == nil || !got[0].Until.Equal(minute(90).Add(time.Second)) ||
		asText(got[2:])[0] != "acme/shop aaaa 10-30" || err != nil {
		t.Errorf("%v, %v", asText(got), err)
	}
	if keys := w.keys(t, "ended/"); len(keys) != 5 {
		t.Errorf("%q", keys)
	}
}

// clearDeployments keeps what was deployed when the time began that is kept, and ends what was not ended.
func clearDeployments(t *testing.T, w world) {
	at := func(name, sha string, n int) record.Deployment {
		return deployed("old", name, "acme/shop", sha, minute(n))
	}
	w.deploy(t, at("staging", "a", 1), at("staging", "b", 2), at("staging", "c", 9), at("staging", "d", 20), at("stable", "a", 1),
		at("forgotten", "a", 1), at("gone", "a", 1), at("gone", "b", 2))
	must(t, w.EndDeployments(t.Context(), "old", "gone", minute(5)))
	w.deploy(t, at("gone-today", "a", 1))
	must(t, w.EndDeployments(t.Context(), "old", "gone-today", minute(15)))
	neighbours := map[string][]byte{"old/postflight-runs/environments/staging/x": nil, "old/postflight-runs/environments/note": nil,
		runAt("old", "run", noon).RecordKey(): nil}
	w.put(t, neighbours)
	exists := func(_ context.Context, name string) (bool, error) { return strings.HasPrefix(name, "sta"), nil }
	away := func(context.Context, string) (bool, error) { return false, errors.New("the cache is not ready") }
	if _, err := w.ClearDeployments(t.Context(), "old", minute(0), minute(40), away); err == nil {
		t.Error("what is not known to be gone was ended")
	}
	deleted, err := w.ClearDeployments(t.Context(), "old", minute(10), minute(40), exists)
	if err != nil || deleted != 5 {
		t.Errorf("%d deleted, %v", deleted, err)
	}
	for name, want := range map[string][]string{
		"staging": {"acme/shop d 20",
			"acme/shop c 9-20"}, "stable": {"acme/shop a 1"}, "forgotten": {"acme/shop a 1-40"}, "gone-today": {"acme/shop a 1-15"},
	} {
		got, _, err := w.DeploymentHistory(t.Context(), "old", name, record.Span{After: noon}, 10)
		if diff := cmp.Diff(want, asText(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	if _, err := w.DeploymentsAt(t.Context(), "old", "gone", minute(99)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an Environment of which all is old: %v", err)
	}
	if deleted, err := w.ClearDeployments(t.Context(), "old", minute(10), minute(41), exists); err != nil || deleted != 0 {
		t.Errorf("again: %d deleted, %v", deleted, err)
	}
	if deleted, err := w.ClearDeployments(t.Context(), "old", minute(60), minute(61), exists); err != nil || deleted != 5 {
		t.Errorf("later: %d deleted, %v", deleted, err)
	}
	for key := range neighbours {
		if len(w.keys(t, key)) != 1 {
			t.Errorf("%s was deleted", key)
		}
	}
}

// TestAnswersReadFewObjects: of 10,000 deployments, a question about one time lists one page and reads one object, and a list reads as many
// as it shows.
func TestAnswersReadFewObjects(t *testing.T) {
	stores.Credentials(t)
	s := &listed{objects: map[string][]byte{}}
	for n := range 10_000 {
		d := deployed("acme", "staging", "acme/shop", fmt.Sprintf("%040x", n), minute(n))
		s.objects[d.Key()] = asJSON(t, d)
	}
	for n := range 50 {
		d := deployed("acme", "staging", fmt.Sprint("acme/other-", n), "aaaa", minute(1))
		s.objects[d.Key()] = asJSON(t, d)
	}
	a := &archive.Archive{Bucket: s.bucket(t)}
	for name, tc := range map[string]struct {
		ask                   func() (int, error)
		found, lists, objects int
	}{
		"a time long ago": {func() (int, error) {
			all, err := a.DeploymentsAt(t.Context(), "acme", "staging", minute(77))
			if !slices.Contains(asText(all), fmt.Sprintf("acme/shop %040x 77", 77)) {
				t.Errorf("%v", asText(all))
			}
			return len(all), err
		}, 51, 52, 51},
		"now": {func() (int, error) {
			all, err := a.DeploymentsAt(t.Context(), "acme", "staging", minute(20_000))
			return len(all), err
		}, 51, 52, 51},
		"the newest": {func() (int, error) {
			all, more, err := a.DeploymentHistory(t.Context(), "acme", "staging", record.Span{}, 50)
			if !more {
				t.Error("there are more")
			}
			return len(all), err
		}, 50, 52, 50},
		"the last hour": {func() (int, error) {
			all, _, err := a.DeploymentHistory(t.Context(), "acme", "staging", record.Span{After: minute(9_940)}, 200)
			return len(all), err
		}, 110, 52, 110},
		"an hour long ago": {func() (int, error) {
			all, _, err := a.DeploymentHistory(t.Context(), "acme", "staging", record.Span{After: minute(100), Before: minute(160)}, 200)
			if all[0].Until == nil || !all[0].Until.Equal(minute(160)) {
				t.Errorf("the last one ended at %v", all[0].Until)
			}
			return len(all), err
		}, 110, 61, 110},
	} {
		t.Run(name, func(t *testing.T) {
			s.lists.Store(0)
			s.gets.Store(0)
			found, err := tc.ask()
			if err != nil || found != tc.found || int(s.lists.Load()) != tc.lists || int(s.gets.Load()) != tc.objects {
				t.Errorf("%d found, %v; %d lists and %d objects, want %d, %d and %d", found, err, s.lists.Load(), s.gets.Load(), tc.found, tc.lists,
					tc.objects)
			}
		})
	}
}
