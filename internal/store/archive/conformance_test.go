package archive_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is an archive in a store.
type world struct {
	stores.Server
	*archive.Archive
}

// TestConformance runs with two independent implementations of S3.
func TestConformance(t *testing.T) {
	stores.Each(t, func(t *testing.T, s stores.Server) {
		w := world{s, &archive.Archive{Bucket: s.Bucket(t)}}
		for name, test := range map[string]func(*testing.T, world){
			"Log": savedLog, "LongLog": longLog, "BrokenLog": brokenLog, "NoLog": noLog, "GivenUp": givenUp,
			"Records": records, "ManyRecords": manyRecords, "SameID": sameID, "NoRecord": noRecord, "NoBucket": noBucket, "Attestations": attestations,
			"Collected": collected, "UploadsRefused": uploadsRefused, "UploadExpired": uploadExpired, "BadNames": badNames,
			"ManyArtifacts": manyArtifacts, "ArtifactsAfter": artifactsAfter, "Results": results,
			"Deployments": deployments, "DeploymentLine": deploymentLine,
			"DeletedEnvironment": deletedEnvironment, "ClearDeployments": clearDeployments,
			"Clear": clearDays, "ClearMany": clearMany, "ClearInterrupted": clearInterrupted,
			"NarrowKey": narrowKey, "Summaries": summaries, "SavedTests": savedTests,
			"NotificationLines":        notificationLines,
			"NotificationsOfABusyTeam": notificationsOfABusyTeam, "DamagedNotifications": damagedNotifications,
			"ClearNotifications": clearNotifications,
		} {
			t.Run(name, func(t *testing.T) { test(t, w) })
		}
	})
}

func runAt(team, id string, at time.Time) record.Run {
	return record.Run{Team: team, ID: id, Created: at}
}

func recordOf(r record.Run) record.Record {
	return record.Record{Run: httpapi.Run{ID: r.ID, Team: r.Team, CreatedAt: r.Created, State: "Passed"}}
}

func (w world) save(t *testing.T, runs ...record.Run) {
	t.Helper()
	for _, r := range runs {
		must(t, w.SaveRecord(t.Context(), recordOf(r)))
	}
}

// put stores objects with this content, several at once.
func (w world) put(t *testing.T, objects map[string][]byte) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for key, content := range objects {
		group.Go(func() error {
			return w.Archive.Bucket.Put(ctx, key, "text/plain", bytes.NewReader(content), int64(len(content)))
		})
	}
	must(t, group.Wait())
}

// keys are all in the bucket that start with the prefix.
func (w world) keys(t *testing.T, prefix string) (keys []string) {
	t.Helper()
	for object, err := range w.Archive.Bucket.List(t.Context(), objectstore.Listing{Prefix: prefix}) {
		must(t, err)
		keys = append(keys, object.Key)
	}
	return keys
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func all(t *testing.T, content io.ReadCloser, err error) string {
	t.Helper()
	must(t, err)
	defer content.Close()
	text, err := io.ReadAll(content)
	must(t, err)
	return string(text)
}

// send sends a request as a pod or a browser does, and returns the answer with its body.
func send(t *testing.T, method, url, contentType, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	return resp, all(t, resp.Body, nil)
}
