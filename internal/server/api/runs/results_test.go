package runs_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/test/apitest"
)

// failedTests is a run that ended with a failure and a flaky test.
func failedTests(s *v1alpha1.Suite) {
	s.Status.Conditions = append(s.Status.Conditions, v1alpha1.Failed("1 of 2 tests failed."))
	s.Status.Results = &v1alpha1.TestResults{Tests: 2, Passed: 1, Failed: 1, Flaky: 1,
		Failures: []v1alpha1.TestFailure{{Name: "pays", Message: "Error: …", History: v1alpha1.FailureNew}}}
}

func documentOf(t *testing.T, pod string) record.Results {
	content, err := json.Marshal(results.Document{
		Counts: results.Counts{Reports: 1, Passed: 1, Failed: 1, Flaky: 1}, FlakyTests: []string{"cart"},
		Failures: []results.Failure{{TestFailure: v1alpha1.TestFailure{Name: "pays", Message: "Error: expect failed", File: "a.ts", Line: 3},
			Text: "Locator: x\n  > 3 |", TextCut: true, Attachments: []string{"files/a.png", "gone.png"}}},
		Files: []results.File{{Path: "files/a.png", Bytes: 9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return record.Results{Pod: pod, Content: content}
}

func TestGetResults(t *testing.T) {
	inStatus := httpapi.TestFailure{Name: "pays", Message: "Error: …", History: "New"}
	explained := httpapi.TestFailure{Name: "pays", Message: "Error: expect failed", File: "a.ts", Line: 3, History: "New",
		Text: "Locator: x\n  > 3 |", TextCut: true,
		Attachments: []httpapi.Artifact{{Path: "files/a.png", Pod: "pod-1", Bytes: 9}}}
	good := documentOf(t, "pod-1")
	for name, tc := range map[string]struct {
		reason  string
		archive *apitest.FakeArchive
		running bool
		want    *httpapi.TestFailure
		flaky   []string
		problem bool
		reads   int32
	}{
		"Documents": {"They have the texts.", &apitest.FakeArchive{Documents: []record.Results{good}}, false, &explained,
			[]string{"cart"}, false, 1},
		"A bad document": {"It is left out.",
			&apitest.FakeArchive{Documents: []record.Results{{Pod: "pod-0", Content: []byte("<html>")}, good}}, false, &explained,
			[]string{"cart"}, false, 1},
		"None":     {"The status has the messages.", &apitest.FakeArchive{}, false, &inStatus, nil, false, 1},
		"No store": {"The status has the messages.", nil, false, &inStatus, nil, false, 0},
		"The store is off": {"The status has the messages, and the answer says why that is all.", &apitest.FakeArchive{Err: errors.New("off")},
			false, &inStatus, nil, true, 2},
		"No results": {"The run goes on.", &apitest.FakeArchive{}, true, nil, nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := stored("a", 1)
			if !tc.running {
				failedTests(s)
			}
			config := func(*api.Config) {}
			if tc.archive != nil {
				config = apitest.WithArchive(tc.archive)
			}
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(s), Config: config})
			for range 2 { // the second time, what was read is known
				got := apitest.Decode[httpapi.RunResults](t, h.Exchange(apitest.Get(apitest.RunsPath+"/a/results")))
				if got.Run != "a" || (got.Problem != "") != tc.problem || (got.Results == nil) != (tc.want == nil) {
					t.Fatalf("%s\n%+v", tc.reason, got)
				}
				if tc.want == nil {
					continue
				}
				for i, a := range got.Results.Failures[0].Attachments {
					if !strings.HasPrefix(a.URL, "https://s3.example.com/") {
						t.Errorf("%+v", a)
					}
					got.Results.Failures[0].Attachments[i].URL = ""
				}
				if diff := cmp.Diff([]httpapi.TestFailure{*tc.want}, got.Results.Failures) + cmp.Diff(tc.flaky, got.Results.FlakyTests); diff != "" {
					t.Errorf("%s\n%s", tc.reason, diff)
				}
			}
			if tc.archive != nil && tc.archive.Asked.Load() != tc.reads {
				t.Errorf("%s\n%d requests to the store, want %d", tc.reason, tc.archive.Asked.Load(), tc.reads)
			}
			if w := h.Exchange(apitest.Get(apitest.RunsPath + "/a")); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Locator") {
				t.Errorf("the run itself: %s", w.Body)
			}
		})
	}
}

// TestResultsWithoutFiles: a sender that may only know how runs end gets no files of the tests.
func TestResultsWithoutFiles(t *testing.T) {
	s := stored("a", 1)
	failedTests(s)
	only := apitest.Granting{"outcome": {Actions: []grant.Action{grant.Outcome}}, "read": {Actions: []grant.Action{grant.Read}}}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(s), Ways: []auth.Way{only},
		Config: apitest.WithArchive(&apitest.FakeArchive{Documents: []record.Results{documentOf(t, "pod-1")}})})
	for token, want := range map[string]int{"outcome": 0, "read": 1} {
		got := apitest.Decode[httpapi.RunResults](t, h.Exchange(apitest.Get(apitest.RunsPath+"/a/results"), apitest.Bearer("token-"+token)))
		if failures := got.Results.Failures; len(failures) != 1 || failures[0].Text == "" || len(failures[0].Attachments) != want {
			t.Errorf("%s: %+v, want %d attachments", token, failures, want)
		}
	}
}
