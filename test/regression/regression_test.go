package regression_test

import (
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/regression"
	"github.com/postflight-dev/postflight/test/stores"
)

// serve returns a story that is in the archive of a server, and a client of that.
func serve(t *testing.T) (*regression.Story, *client.Client) {
	t.Helper()
	stores.Credentials(t)
	a := &archive.Archive{Bucket: stores.Rclone(t).Bucket(t)}
	story := regression.New(apitest.Namespace, apitest.Namespace, apitest.Noon)
	if err := story.Save(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clock := &apitest.FakeClock{Time: apitest.Noon}
	world := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(story.Environment()), Config: func(c *api.Config) {
		c.Runs.Archive, c.Deployments = a, a
		c.Tests = history.NewReader(a, clock, time.Minute)
	}})
	server := httptest.NewServer(world)
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
	filter := client.TestFilter{Environment: regression.Environment, Search: "shipping"}
	var found []client.TestStats
	for stats, err := range c.Tests(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, stats)
	}
	if len(found) != 1 || found[0].Name != regression.Planted {
		t.Fatalf("tests: %+v", found)
	}
	h, err := c.Test(t.Context(), regression.Planted, filter)
	if err != nil || len(h.Places) != 1 || h.Places[0].Failing == nil {
		t.Fatalf("%v %+v", err, h)
	}
	since := h.Places[0].Failing
	if want := story.Bad.Spec.Deployment; since.First.ID != story.Bad.Name || since.First.SHA != want.SHA || since.First.Repository != want.Repository {
		t.Errorf("it fails since %s of %s, run %s; want %s of %s, run %s", since.First.SHA, since.First.Repository, since.First.ID,
			want.SHA, want.Repository, story.Bad.Name)
	}
	if since.Before == nil || since.Before.ID != story.Before.Name {
		t.Errorf("it passed last in %+v, want %s", since.Before, story.Before.Name)
	}
}

// TestSeed writes the story into the store of a cluster, where you can look at it. It needs the address of the store, and its credentials as
// the manager has them; see hack/dev/README.md.
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
