package api_test

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestDocumentHasEveryRoute(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{})
	want := map[string][]string{}
	for _, r := range h.Routes() {
		want[r.Path] = append(want[r.Path], r.Method)
	}
	got := map[string][]string{}
	for path, item := range apitest.Document(t).Paths.Map() {
		got[path] = slices.Sorted(maps.Keys(item.Operations()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths and methods of the routes (-) and the document (+):\n%s", diff)
	}
}

func TestDocumentIsServed(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{})
	w := h.Exchange(httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil))
	if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), api.OpenAPI) {
		t.Errorf("status %d with %d bytes, want 200 with the document", w.Code, w.Body.Len())
	}
}
