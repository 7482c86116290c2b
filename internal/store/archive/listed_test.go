package archive_test

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

// listed is a store of objects that do not change. It lists them as S3 does, and counts requests.
type listed struct {
	objects     map[string][]byte
	keys        []string
	lists, gets atomic.Int64
}

func (s *listed) bucket(t *testing.T) *objectstore.Bucket {
	t.Helper()
	for key := range s.objects {
		s.keys = append(s.keys, key)
	}
	slices.Sort(s.keys)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return stores.Open(t, objectstore.Options{Endpoint: server.URL, Region: "us-east-1", Bucket: "postflight", PathStyle: true,
		UploadLifetime: objectstore.DefaultUploadLifetime})
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []entry
	CommonPrefixes        []folder
}

type entry struct {
	Key  string
	Size int
}

type folder struct{ Prefix string }

func (s *listed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/postflight/")
	if content, found := s.objects[key]; found {
		s.gets.Add(1)
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 12:00:00 GMT")
		_, _ = w.Write(content)
		return
	}
	q := r.URL.Query()
	if q.Get("list-type") != "2" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.lists.Add(1)
	most, _ := strconv.Atoi(cmp.Or(q.Get("max-keys"), "1000"))
	page := s.list(q.Get("prefix"), cmp.Or(q.Get("continuation-token"), q.Get("start-after")), q.Get("delimiter") != "", most)
	_ = xml.NewEncoder(w).Encode(page)
}

func (s *listed) list(prefix, after string, folders bool, most int) (page listing) {
	last := ""
	first, _ := slices.BinarySearch(s.keys, max(prefix, after))
	for _, key := range s.keys[first:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if key <= after || folders && last != "" && strings.HasPrefix(key, last) {
			continue
		}
		if len(page.Contents)+len(page.CommonPrefixes) == most {
			page.IsTruncated, page.NextContinuationToken = true, last
			break
		}
		last = key
		if rest := strings.TrimPrefix(key, prefix); folders && strings.Contains(rest, "/") {
			last = prefix + rest[:strings.Index(rest, "/")+1]
			page.CommonPrefixes = append(page.CommonPrefixes, folder{last})
		} else {
			page.Contents = append(page.Contents, entry{key, len(s.objects[key])})
		}
	}
	return page
}
