package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/server/agents"
	"github.com/postflight-dev/postflight/internal/server/api"
	usecase "github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/agenttest"
	"github.com/postflight-dev/postflight/test/apitest"
)

const (
	allRuns  = 200
	firstBad = 137 // the first run with the regression
	broken   = "checkout > pays with a card"
)

// day is a summary of the tests of one day.
type day struct {
	day     history.Day
	content []byte
}

func (d *day) OpenDay(_ context.Context, team, name string) (io.ReadCloser, int64, error) {
	if team != apitest.Namespace || name != d.day.Day {
		return nil, 0, fs.ErrNotExist
	}
	content := d.day.Encode()
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}

func (d *day) TestOn(_ context.Context, _, _ string, in *history.PlaceDay, name string) (history.TestDay, bool, error) {
	return in.FindTest(bytes.NewReader(d.content), name)
}

func (d *day) TestsOn(_ context.Context, _, _ string, in *history.PlaceDay, text string, each func(history.TestDay)) error {
	return in.ReadTests(bytes.NewReader(d.content), text, each)
}

// regression are 200 runs in six hours, and a test that fails from one of them on. Another test is flaky all the time.
func regression() (runs []client.Object, tests *day) {
	place := httpapi.Place{Namespace: apitest.Namespace, Trigger: "smoke", Environment: "staging"}
	var listed []history.Run
	for i := 1; i <= allRuns; i++ {
		id, sha := fmt.Sprintf("smoke-%03d", i), fmt.Sprintf("%040x", i)
		at := metav1.NewTime(apitest.Noon.Truncate(time.Second).Add(time.Duration(2*(i-allRuns)) * time.Minute))
		s := apitest.ARun(id, 0)
		s.CreationTimestamp, s.Spec.Deployment = at, v1alpha1.Deployment{SHA: sha, Branch: "main", Repository: "acme/shop", Type: "staging"}
		state, condition := "Passed", v1alpha1.Passed("3 tests passed.")
		if i >= firstBad {
			state, condition = "Failed", v1alpha1.Failed("1 of 3 tests failed.")
			s.Status.Results = &v1alpha1.TestResults{Tests: 3, Passed: 2, Failed: 1, Failures: []v1alpha1.TestFailure{
				{Name: broken, Message: "expected 200, got 500. " + agenttest.Hostile, History: v1alpha1.FailureKnown}}}
		}
		condition.LastTransitionTime = metav1.NewTime(at.Add(time.Minute))
		s.Status.Conditions = []metav1.Condition{condition}
		runs = append(runs, s)
		listed = append(listed, history.Run{ID: id, Place: place, CreatedAt: at.UTC().Format(time.RFC3339), State: state, Listed: true, SHA: sha,
			Repository: "acme/shop", Branch: "main"})
	}
	b, _ := history.NewPlaceBuilder(place, listed)
	for i, r := range listed {
		b.Begin(r.ID)
		b.Add(httpapi.Test{Name: "cart > keeps items", State: []string{httpapi.TestPassed, httpapi.TestFlaky}[i%2]})
		outcome := httpapi.Test{Name: broken, State: httpapi.TestPassed}
		if i+1 >= firstBad {
			outcome.State, outcome.Message = httpapi.TestFailed, "expected 200, got 500"
		}
		b.Add(outcome)
	}
	summary, content := b.Finish()
	return runs, &day{history.NewDay(apitest.Namespace, apitest.Noon.Format(time.DateOnly), listed, []history.PlaceDay{summary}), content}
}

// TestFindsTheFirstBadDeployment: from "why is staging red" to the test to fix, and to the deployment that broke it, in four calls. With
// POSTFLIGHT_TEST_TRANSCRIPT, it writes them to this file.
func TestFindsTheFirstBadDeployment(t *testing.T) {
	runs, tests := regression()
	w := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(append(runs, apitest.Trigger("smoke"))...), Config: func(c *api.Config) {
		c.Tests = usecase.NewReader(tests, &apitest.FakeClock{Time: apitest.Noon}, time.Minute)
		c.PublicURL = "https://postflight.example.com"
	}})
	agent := agenttest.OverHTTP(t, serve(t, agents.Config{API: w, PublicURL: "https://postflight.example.com"}), apitest.GoodKey)
	var transcript strings.Builder
	ask := func(tool string, arguments map[string]any, result any) {
		t.Helper()
		said := agent.Ask(tool, arguments, result)
		asked, _ := json.Marshal(arguments)
		fmt.Fprintf(&transcript, "%s %s\n%s\n\n", tool, asked, said)
	}

	var list struct{ Runs []struct{ Run, State string } }
	ask("list_runs", map[string]any{"environment": "staging", "limit": 3}, &list)
	if len(list.Runs) != 3 || list.Runs[0].State != "Failed" {
		t.Fatalf("%+v", list)
	}
	var why httpapi.Failure
	ask("explain_run", map[string]any{"run": list.Runs[0].Run}, &why)
	if why.Tests == nil || len(why.Tests.Failures) != 1 || why.Tests.Failures[0].Name != broken {
		t.Fatalf("%+v", why)
	}
	var test httpapi.TestHistory
	ask("get_test", map[string]any{"name": why.Tests.Failures[0].Name, "environment": "staging"}, &test)
	failing := test.Places[0].Failing
	if failing == nil || failing.First.SHA != fmt.Sprintf("%040x", firstBad) || failing.Before.SHA != fmt.Sprintf("%040x", firstBad-1) ||
		failing.Runs != allRuns-firstBad+1 {
		t.Fatalf("%+v", failing)
	}
	var first httpapi.Failure
	ask("explain_run", map[string]any{"run": failing.First.ID}, &first)
	if first.Changed == nil || first.Changed.SHA != failing.Before.SHA {
		t.Errorf("%+v", first.Changed)
	}
	for _, forbidden := range agenttest.Forbidden {
		if strings.Contains(transcript.String(), forbidden) {
			t.Errorf("the transcript has %q", forbidden)
		}
	}
	if file := os.Getenv("POSTFLIGHT_TEST_TRANSCRIPT"); file != "" {
		if err := os.WriteFile(file, []byte(transcript.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}
