package runs_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestGetRun(t *testing.T) {
	inCluster := stored("live", 1, func(s *v1alpha1.Suite) {
		s.Spec.Variables = v1alpha1.Variables{"PASSWORD": "hunter2"}
		s.Spec.Deployment = v1alpha1.Deployment{Branch: "main", SHA: apitest.SHA}
	})
	theirs := stored("theirs", 1)
	theirs.Namespace = "other"
	archive := &apitest.FakeArchive{Records: []record.Record{apitest.Archived("past", -9), apitest.Archived("past", -20),
		apitest.Archived("live", -9)}}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(inCluster, theirs), Config: func(c *api.Config) {
		c.PublicURL, c.Runs.Archive = "https://ci.example.com", archive
	}})
	for id, want := range map[string]httpapi.Run{
		"live": {URL: "https://ci.example.com/runs/acme/live", CreatedAt: apitest.Created(1), SHA: apitest.SHA},
		"past": {URL: "https://ci.example.com/runs/acme/past", CreatedAt: apitest.Created(-9)},
	} {
		w := h.Exchange(apitest.Get(apitest.RunsPath + "/" + id))
		got := apitest.Decode[httpapi.Run](t, w)
		if w.Code != http.StatusOK || got.ID != id || got.URL != want.URL || !got.CreatedAt.Equal(want.CreatedAt) || got.SHA != want.SHA {
			t.Errorf("%s: status %d: %s", id, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("the answer has a variable: %s", w.Body)
		}
	}
}

// requestsOfARun are all requests that name a run.
func requestsOfARun(id string) map[string]*http.Request {
	path := apitest.RunsPath + "/" + id
	return map[string]*http.Request{
		"get": apitest.Get(path), "logs": apitest.Get(path + "/logs"), "artifacts": apitest.Get(path + "/artifacts"),
		"results": apitest.Get(path + "/results"), "attestation": apitest.Get(path + "/attestation"),
		"cancel": apitest.Keyed(http.MethodPost, path+"/cancel", ""), "rerun": apitest.Keyed(http.MethodPost, path+"/rerun", ""),
	}
}

// TestUnknownRuns: another team's run is like one that does not exist, and a malformed id like both.
func TestUnknownRuns(t *testing.T) {
	theirs := stored("theirs", 1)
	theirs.Namespace = "other"
	archive := &apitest.FakeArchive{Records: []record.Record{apitest.Archived("theirs-past", 1, func(r *httpapi.Run) { r.Team = "other" })}}
	lives := 0
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(theirs), Config: apitest.WithArchive(archive), Faults: interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			lives++
			return c.Get(ctx, key, o, opts...)
		}}})
	var want string
	for id, archiveAsked := range map[string]int32{
		"unknown": 1, "theirs": 1, "theirs-past": 1,
		"UPPER": 0, "a..b": 0, "%2e%2e": 0, "a%00b": 0, "a%0d%0aX-Injected:1": 0, "..%2f..%2fetc": 0, strings.Repeat("a", 400): 0, "%ff": 0,
		"a%20b": 0,
	} {
		for verb, r := range requestsOfARun(id) {
			if r.Method == http.MethodPost && strings.Contains(id, "%2f") {
				continue // it names another path, which has no POST
			}
			lives = 0
			archive.Asked.Store(0)
			w := h.Exchange(r)
			got := apitest.Decode[httpapi.Problem](t, w)
			got.EventID = ""
			if want == "" {
				want = got.FailureMessage
			}
			if w.Code != http.StatusNotFound || got.FailureCode != "run_not_found" || got.FailureMessage != want || lives != 1 ||
				archive.Asked.Load() != archiveAsked {
				t.Errorf("%s %s: status %d after %d live and %d archive look-ups: %s", verb, id, w.Code, lives, archive.Asked.Load(), w.Body)
			}
			if len(w.Header().Values("X-Injected")) > 0 {
				t.Errorf("%s %s: a header was injected", verb, id)
			}
		}
	}
}

// TestRecordsOfAnEarlierTeam: a Team that was deleted and made anew, for other people, has nothing of what the earlier one left.
func TestRecordsOfAnEarlierTeam(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Team)
		status int // of what the earlier one left
		listed string
	}{
		"new": {func(*v1alpha1.Team) {}, http.StatusNotFound, "own "},
		"restored from a backup": {func(t *v1alpha1.Team) {
			t.Annotations = map[string]string{v1alpha1.AnnotationRecordsSince: "2020-01-01T00:00:00Z"}
		}, 0, "own theirs "},
		"restored, and no time": {func(t *v1alpha1.Team) { t.Annotations = map[string]string{v1alpha1.AnnotationRecordsSince: "always"} },
			http.StatusNotFound, "own "},
	} {
		t.Run(name, func(t *testing.T) {
			objects := apitest.Acme()
			team := objects[0].(*v1alpha1.Team)
			team.CreationTimestamp = metav1.NewTime(apitest.Created(0))
			tc.change(team)
			h := apitest.Start(t, apitest.Setup{Objects: objects,
				Config: apitest.WithArchive(&apitest.FakeArchive{Records: []record.Record{apitest.Archived("own", 0),
					apitest.Archived("theirs", -1)}})})
			for verb, r := range requestsOfARun("theirs") {
				if w := h.Exchange(r); tc.status != 0 && w.Code != tc.status || tc.status == 0 && verb == "get" && w.Code != http.StatusOK {
					t.Errorf("%s: status %d: %s", verb, w.Code, w.Body)
				}
			}
			listed := ""
			for _, id := range apitest.IDs(h.List("").Runs) {
				listed += id + " "
			}
			if listed != tc.listed {
				t.Errorf("the list is %q, want %q", listed, tc.listed)
			}
		})
	}
}

// TestSlashInAnID: it is a wrong id, or names what follows it.
func TestSlashInAnID(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1))})
	for path, status := range map[string]int{
		"/a%2Fb": 404, "/a/b": 404, "/a%2Flogs%2Fx": 404, "/a/": 200, "//a": 200, "/a%2F..%2Fb": 404, "/a/logs/../cancel": 404,
	} {
		if w := h.Exchange(apitest.Get(apitest.RunsPath + path)); w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}

// TestWrongMethodsOfRuns: each path names those that it has.
func TestWrongMethodsOfRuns(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1))})
	for path, allow := range map[string]string{
		"": "GET", "/a": "GET", "/a/logs": "GET", "/a/artifacts": "GET", "/a/results": "GET", "/a/attestation": "GET", "/a/cancel": "POST", "/a/rerun": "POST",
	} {
		w := h.Exchange(apitest.Keyed(http.MethodDelete, apitest.RunsPath+path, ""))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != allow {
			t.Errorf("%s: status %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

// TestWithoutAKey: nothing is looked up.
func TestWithoutAKey(t *testing.T) {
	archive := &apitest.FakeArchive{}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1)), Config: apitest.WithArchive(archive)})
	all := requestsOfARun("a")
	all["list"] = apitest.Get(apitest.RunsPath)
	all["terminated"] = apitest.Keyed(http.MethodPost, apitest.TerminatedPath, `{"environmentAlias":"x"}`)
	for name, r := range all {
		r.Header.Set("Authorization", "Bearer wrong")
		if w := h.Exchange(r); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	if archive.Asked.Load() != 0 {
		t.Error("the archive was asked")
	}
}

// TestArchiveAwayForOneRun: nobody knows whether the run exists.
func TestArchiveAwayForOneRun(t *testing.T) {
	for name, archive := range map[string]*apitest.FakeArchive{"refuses": {Err: errors.New("it refuses connections")}, "hangs": {Hang: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1)), Config: apitest.WithArchive(archive),
					Limits: func(l *limits.Limits) { l.LookupTimeout = 20 * time.Millisecond }})
				for verb, r := range requestsOfARun("unknown") {
					if w := h.Exchange(r); w.Code != http.StatusServiceUnavailable ||
						apitest.Decode[httpapi.Problem](t, w).FailureCode != "store_unavailable" {
						t.Errorf("%s, %s: status %d: %s", name, verb, w.Code, w.Body)
					}
				}
				if w := h.Exchange(apitest.Get(apitest.RunsPath + "/a")); w.Code != http.StatusOK {
					t.Errorf("%s: a run of the cluster: status %d", name, w.Code)
				}
			})
		})
	}
}
