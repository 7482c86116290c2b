package archive_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestReadWhileReplaced: a store that shows half an object, or none, while it is replaced, loses no line.
func TestReadWhileReplaced(t *testing.T) {
	stores.Credentials(t)
	content, err := json.Marshal(line(noon, "main"))
	must(t, err)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(append(content, '\n'))
	must(t, err)
	must(t, z.Close())
	for name, first := range map[string]func(http.ResponseWriter){
		"half": func(w http.ResponseWriter) { _, _ = w.Write(packed.Bytes()[:packed.Len()/2]) },
		"none": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			gets := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", `"e"`)
				w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 12:00:00 GMT")
				if gets++; gets == 1 {
					first(w)
					return
				}
				_, _ = w.Write(packed.Bytes())
			}))
			t.Cleanup(server.Close)
			a := &archive.Archive{Bucket: stores.Open(t, objectstore.Options{
				Endpoint: server.URL, Region: "us-east-1", Bucket: "postflight", PathStyle: true, UploadLifetime: objectstore.DefaultUploadLifetime,
			})}
			lines, err := a.Notifications(t.Context(), record.NotificationsObject{Key: "k", Hour: noon})
			if err != nil || len(lines) != 1 || lines[0].Branch != "main" || gets != 2 {
				t.Errorf("got %+v, %v after %d requests", lines, err, gets)
			}
		})
	}
}
