package regression_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/agenttest"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/regression"
	"github.com/postflight-dev/postflight/test/stores"
)

// world returns a story, and an API that has it in its archive.
func world(t *testing.T) (*regression.Story, http.Handler) {
	t.Helper()
	stores.Credentials(t)
	a := &archive.Archive{Bucket: stores.Rclone(t).Bucket(t)}
	story := regression.New(apitest.Namespace, apitest.Namespace, apitest.Noon)
	if err := story.Save(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clock := &apitest.FakeClock{Time: apitest.Noon}
	return story, apitest.Start(t, apitest.Setup{Objects: apitest.Acme(story.Environment()), Config: func(c *api.Config) {
		c.Runs.Archive, c.Deployments = a, a
		c.Tests = history.NewReader(a, clock, time.Minute)
	}})
}

func serve(t *testing.T) (*regression.Story, *client.Client) {
	t.Helper()
	story, api := world(t)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, apitest.GoodKey)
	if err != nil {
		t.Fatal(err)
	}
	return story, c
}

// TestFirstBadDeployment asks as a person or an agent does: what fails, and since which deployment. The run of the bad deployment was
// followed by a rerun of another service's commit, which had passed before, and by two runs that were superseded.
func TestFirstBadDeployment(t *testing.T) {
	story, c := serve(t)
	for name, ask := range map[string]struct {
		since func(*testing.T) *httpapi.FailingSince
	}{
		"by the tests that fail": {func(t *testing.T) *httpapi.FailingSince { return sinceInTests(t, c) }},
		"by the newest run":      {func(t *testing.T) *httpapi.FailingSince { return sinceInRun(t, c) }},
		"by an agent":            {func(t *testing.T) *httpapi.FailingSince { return sinceForAgent(t, c) }},
	} {
		t.Run(name, func(t *testing.T) {
			since := ask.since(t)
			if since == nil {
				t.Fatal("it does not say since when the test fails")
			}
			want, got := story.Bad.Spec.Deployment, since.First
			if got.ID != story.Bad.Name || got.SHA != want.SHA || got.Repository != want.Repository {
				t.Errorf("it fails since %s of %s, run %s; want %s of %s, run %s", got.SHA, got.Repository, got.ID, want.SHA, want.Repository,
					story.Bad.Name)
			}
			if since.Before == nil || since.Before.ID != story.Before.Name {
				t.Errorf("it passed last in %+v, want %s", since.Before, story.Before.Name)
			}
		})
	}
}

// sinceInTests finds the test among those that failed, and asks for its history.
func sinceInTests(t *testing.T, c *client.Client) *httpapi.FailingSince {
	t.Helper()
	filter := client.TestFilter{Environment: regression.Environment}
	for stats, err := range c.Tests(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(stats.Outcomes, "f") { // it did not fail in the last run
			continue
		}
		if stats.Name != regression.Planted {
			t.Errorf("%q fails, too", stats.Name)
		}
		h, err := c.Test(t.Context(), stats.Name, filter)
		if err != nil || len(h.Places) != 1 {
			t.Fatalf("%v %+v", err, h)
		}
		return h.Places[0].Failing
	}
	return nil
}

// sinceInRun finds the newest run that failed, and asks why.
func sinceInRun(t *testing.T, c *client.Client) *httpapi.FailingSince {
	t.Helper()
	for run, err := range c.Runs(t.Context(), client.RunFilter{Environment: regression.Environment, State: "Failed", PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Failure(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if f.Tests == nil || len(f.Tests.Failures) != 1 || f.Tests.Failures[0].Name != regression.Planted {
			t.Fatalf("%s failed because of %+v", run.ID, f.Tests)
		}
		return f.Tests.Failures[0].Since
	}
	return nil
}

// sinceForAgent has only the tools.
func sinceForAgent(t *testing.T, c *client.Client) *httpapi.FailingSince {
	t.Helper()
	toServer, fromAgent := io.Pipe()
	toAgent, fromServer := io.Pipe()
	server := mcp.New(func(http.Header) (*client.Client, error) { return c, nil }, mcp.Options{})
	go func() { _ = server.Serve(t.Context(), toServer, fromServer) }()
	agent := agenttest.Connect(t, &sdk.IOTransport{Reader: toAgent, Writer: fromAgent})

	var list struct{ Runs []struct{ Run string } }
	agent.Ask("list_runs", map[string]any{"environment": regression.Environment, "state": "Failed"}, &list)
	if len(list.Runs) == 0 {
		t.Fatal("no run failed")
	}
	var f httpapi.Failure
	agent.Ask("explain_run", map[string]any{"run": list.Runs[0].Run}, &f)
	if f.Tests == nil || len(f.Tests.Failures) != 1 {
		t.Fatalf("%s failed because of %+v", list.Runs[0].Run, f.Tests)
	}
	var h httpapi.TestHistory
	agent.Ask("get_test", map[string]any{"name": f.Tests.Failures[0].Name, "environment": regression.Environment}, &h)
	if len(h.Places) != 1 {
		t.Fatalf("the test is in %d places", len(h.Places))
	}
	if diff := cmp.Diff(h.Places[0].Failing, f.Tests.Failures[0].Since, cmpopts.IgnoreFields(httpapi.TestRun{}, "URL")); diff != "" {
		t.Errorf("the run and the test say that it fails since different runs:\n%s", diff)
	}
	return h.Places[0].Failing
}

// TestServe is a server with the story until you interrupt it: look for the bad deployment with the command line, or let an agent look for it.
//
//	POSTFLIGHT_STORY_ADDRESS=127.0.0.1:8400 go test ./test/regression -run TestServe -timeout 0
func TestServe(t *testing.T) {
	address := os.Getenv("POSTFLIGHT_STORY_ADDRESS")
	if address == "" {
		t.Skip("POSTFLIGHT_STORY_ADDRESS says where to listen")
	}
	_, api := world(t)
	fmt.Fprintf(os.Stderr, "export POSTFLIGHT_URL=http://%s POSTFLIGHT_API_KEY=%s\n", address, apitest.GoodKey)
	if err := http.ListenAndServe(address, api); err != nil {
		t.Fatal(err)
	}
}

// TestSeed writes the story into the store of a cluster, where the pages show it, too. The other variables are those of its manager, which
// make dev writes into a file.
//
//	(. .dev/manager.env; POSTFLIGHT_SEED_TEAM=demo go test ./test/regression -run TestSeed -v)
func TestSeed(t *testing.T) {
	team, endpoint := os.Getenv("POSTFLIGHT_SEED_TEAM"), os.Getenv("POSTFLIGHT_STORE_ENDPOINT")
	if team == "" || endpoint == "" {
		t.Skip("POSTFLIGHT_SEED_TEAM and POSTFLIGHT_STORE_ENDPOINT say where to write the story")
	}
	bucket := stores.Open(t, objectstore.Options{
		Endpoint: endpoint, Region: "us-east-1", Bucket: os.Getenv("POSTFLIGHT_STORE_BUCKET"), PathStyle: true, UploadLifetime: time.Minute,
	})
	story := regression.New(team, team, time.Now().Add(-time.Minute))
	if err := story.Save(t.Context(), &archive.Archive{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	t.Logf("The newest run is %s; %q fails since %s.", story.Last.Name, regression.Planted, story.Bad.Name)
}
